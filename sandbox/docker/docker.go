// Package docker gives sandboxes by a container engine, through its API: one
// container for each, whose first process is the guest program.
//
// The image's directories are mounted read-only over themselves, all but
// /workspace and /tmp, so that the container's own layer holds what commands
// wrote and nothing else: committing it makes a base, and every sandbox opened
// from that base starts a layer of its own. Nothing but labels is needed to find
// what a dead process left.
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Driver makes sandboxes by a container engine.
type Driver struct {
	config     Config
	book       *records.Book // who owns which sandbox
	deployment string
	log        zerolog.Logger
	api        *client.Client

	egress egress.Options // of every proxy, but for the allow-list

	knowing *semaphore.Weighted // held while the engine is asked what it can do
	known   *facts
	asked   time.Time // when Traits asked last
	probing sync.Map  // names of the sandboxes that show it

	mu   sync.Mutex
	live map[string]*handle // by name
}

var (
	_ sandbox.Driver = (*Driver)(nil)
	_ sandbox.Forker = (*Driver)(nil)
)

// New returns the driver. It fails on bad configuration only; whether there is
// an engine is for Check to say.
func New(c Config, book *records.Book, log zerolog.Logger) (*Driver, error) {
	if err := setting.Join("sandbox.docker.", c.Validate); err != nil {
		return nil, err
	}
	private, err := egress.Ranges(c.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("sandbox.docker.allow_private: %w", err)
	}
	options := []client.Opt{client.FromEnv}
	if c.Host != "" {
		options = append(options, client.WithHost(c.Host))
	}
	api, err := client.New(options...)
	if err != nil {
		return nil, fmt.Errorf("sandbox.docker.host, or DOCKER_HOST and the variables beside it: %w", err)
	}
	if c.ProxyDir, err = filepath.Abs(c.ProxyDir); err != nil {
		return nil, fmt.Errorf("sandbox.docker.proxy_dir: %w", err)
	}
	return &Driver{
		config: c, book: book, deployment: book.Deployment(), log: log.With().Str(logkey.Driver, "docker").Logger(), api: api,
		egress: egress.Options{AllowPrivate: private}, live: make(map[string]*handle), knowing: semaphore.NewWeighted(1),
	}, nil
}

// Open makes a container and starts it.
func (d *Driver) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "open", "before")
	defer failpoint.Hit("sandbox", "open", "after")
	h, err := d.open(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("open sandbox %s: %w", spec.Name, d.explain(err))
	}
	d.log.Debug().Str(logkey.SandboxID, spec.Name).Msg("sandbox opened")
	return h, nil
}

func (d *Driver) open(ctx context.Context, spec sandbox.Spec) (*handle, error) {
	if err := cmp.Or(ctx.Err(), spec.Check(), checkSocket(spec.Network.Socket)); err != nil {
		return nil, err
	}
	image, err := d.source(ctx, spec.From)
	if err != nil {
		return nil, err
	}
	f, readonly, err := d.know(ctx, image)
	if err != nil {
		return nil, err
	}
	asked := spec.Limits
	spec.Limits = d.config.Limits.Fill(asked)
	if err := f.check(spec, asked, d.config.AllowUnlimited); err != nil {
		return nil, err
	}
	if d.HasBase(ctx, spec.Name) {
		return nil, errors.New("name is in use by a base")
	}
	return d.create(ctx, newPlan(spec, image, readonly))
}

// checkSocket refuses a directory that the container's user could not look into.
func checkSocket(dir string) error {
	if dir == "" {
		return nil
	}
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("the socket's directory: %w", err)
	case !st.IsDir():
		return fmt.Errorf("the socket's directory %s is not a directory", dir)
	case st.Mode().Perm()&0o005 != 0o005:
		return fmt.Errorf("the socket's directory %s has mode %#o: everybody in the sandbox has to read it: chmod 755", dir, st.Mode().Perm())
	}
	return nil
}

// Attach takes over the sandbox of a dead owner. A container that does not run
// any more is removed: nothing can be done with it.
func (d *Driver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "attach", "before")
	defer failpoint.Hit("sandbox", "attach", "after")
	h, err := d.attach(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("attach sandbox %s: %w", name, d.explain(err))
	}
	return h, nil
}

func (d *Driver) attach(ctx context.Context, name string) (*handle, error) {
	if sandbox.CheckName(name) != nil {
		return nil, sandbox.ErrGone
	}
	c, err := d.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if old := d.living(name); old != nil { // our own handle: it loses the sandbox in an orderly way
		old.giveUp()
	}
	if c.State.Paused { // its owner died while a base was being made of it
		if _, err := d.api.ContainerUnpause(ctx, c.ID, client.ContainerUnpauseOptions{}); err != nil {
			return nil, err
		}
	}
	if !c.State.Running {
		return nil, errors.Join(fmt.Errorf("its container ended: %w", sandbox.ErrGone), d.remove(ctx, c.ID))
	}
	image, err := d.inspectImage(ctx, c.Image)
	if err != nil {
		return nil, err
	}
	if err := d.fill(ctx, c.ID, image, c.Config.Labels, false); err != nil {
		return nil, err
	}
	failpoint.Hit("sandbox", "attach", "taken")
	return d.adopt(ctx, planOf(c, image), c.ID, guest.Attach)
}
