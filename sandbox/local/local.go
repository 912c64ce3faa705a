// Package local gives sandboxes on this machine: bubblewrap, the tool other
// coding agents rely on for the same purpose, behind a helper of ours that does
// what it cannot, around the guest program that also works inside the machines of
// the other drivers.
//
// Each open sandbox has one helper: the yudai binary, executed again in a new
// user and mount namespace whose root is an unprivileged uid of the host. It
// mounts the sandbox's files (the fork of a base is an overlay) and starts one
// bubblewrap, which builds everything else: all namespaces, a root file system made
// of an allow-list, no capabilities, a system call filter. The first process in there
// is the guest program. It starts commands under supervisors, see package guest.
//
// Files live on disk and survive us. The helper ends with its owner, and everything
// inside with the helper. Only the program that a sandbox may launch keeps both, and
// the next owner takes them over.
//
// A program that uses this driver calls [Stage] first thing in main.
package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// Driver makes sandboxes with bubblewrap.
type Driver struct {
	config Config
	log    zerolog.Logger
	state  *state
	root   *root
	bwrap  bubblewrap
	filter []byte

	program guest.Program // the first process inside

	resolver egress.Resolver // nil outside tests
	dial     func(ctx context.Context, network, address string) (net.Conn, error)

	probe sync.Once
	known facts

	mu   sync.Mutex
	live map[string]*box // by name
}

// New returns the driver. It fails on bad configuration only; whether the
// machine can run sandboxes is for Check to say.
func New(c Config, log zerolog.Logger) (*Driver, error) {
	if err := setting.Join("sandbox.local.", c.Validate); err != nil {
		return nil, err
	}
	uid := -1
	if os.Geteuid() == 0 {
		uid = c.UID
	}
	st, err := openState(c.Dir, uid)
	if err != nil {
		return nil, err
	}
	r, err := newRoot(c)
	if err != nil {
		return nil, err
	}
	filter, err := seccompProgram(runtime.GOARCH)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	program, err := guest.ProgramFor(runtime.GOARCH)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return &Driver{
		config: c, log: log.With().Str(logkey.Driver, "local").Logger(), state: st, root: r, filter: filter, program: program,
		bwrap: findBubblewrap(), live: make(map[string]*box),
	}, nil
}

// Open makes a sandbox. Its directory appears by one rename, so that a crash
// leaves either all of it or nothing that anybody takes for a sandbox.
func (d *Driver) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "open", "before")
	defer failpoint.Hit("sandbox", "open", "after")
	b, err := d.open(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("open sandbox %s: %w", spec.Name, err)
	}
	d.log.Debug().Str(logkey.SandboxID, spec.Name).Msg("sandbox opened")
	return b, nil
}

func (d *Driver) open(ctx context.Context, spec sandbox.Spec) (*box, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := d.newRecord(spec)
	if err != nil {
		return nil, err
	}
	if err := d.ready(); err != nil {
		return nil, err
	}
	copied := ""
	if spec.From != "" {
		base, err := d.state.read(d.state.base(spec.From))
		if err != nil {
			return nil, fmt.Errorf("base %s: %w", spec.From, err)
		}
		r.Lower = append([]string{spec.From}, base.Lower...)
		if !d.facts().overlay {
			copied, r.Lower = spec.From, []string{spec.From}
		}
	}
	return d.create(ctx, r, copied)
}

// newRecord checks a spec.
func (d *Driver) newRecord(spec sandbox.Spec) (record, error) {
	if err := spec.Check(); err != nil {
		return record{}, err
	}
	r := record{
		Name: spec.Name, Labels: spec.Labels, Created: time.Now().UTC(), ID: rand.Text(), Owner: rand.Text(), Boot: d.state.boot,
		Limits: d.config.Limits.Fill(spec.Limits), Allow: spec.Network.Allow, Socket: spec.Network.Socket,
	}
	if spec.Launch {
		r.Keep = r.ID
	}
	if r.Socket == "" {
		return r, nil
	}
	return r, checkSocket(r.Socket)
}

// create lays out the directory, shows it under its name and proves that commands can run.
// Who attaches meanwhile waits for that: the lock of a directory goes with it.
func (d *Driver) create(ctx context.Context, r record, copied string) (*box, error) {
	if _, err := os.Lstat(d.state.base(r.Name)); err == nil {
		return nil, errors.New("name is in use by a base")
	}
	making, err := d.state.make(r)
	if err != nil {
		return nil, err
	}
	release, err := lockDir(ctx, making) // it stays locked under its name
	if err != nil {
		return nil, errors.Join(err, removeTree(making))
	}
	defer release()
	if copied != "" {
		if err := d.copyBase(ctx, making, &r); err != nil {
			return nil, errors.Join(err, removeTree(making))
		}
	}
	dir := d.state.sandbox(r.Name)
	if err := rename(making, dir); err != nil {
		_ = removeTree(making)
		if errors.Is(err, fs.ErrExist) {
			return nil, errors.New("name is in use")
		}
		return nil, err
	}
	failpoint.Hit("sandbox", "open", "named")
	b, err := d.adopt(ctx, r, dir, (*box).start)
	if err != nil {
		return nil, errors.Join(err, d.abandon(ctx, r))
	}
	return b, nil
}

// abandon removes a sandbox that could not begin, unless it was swept meanwhile: then its
// name may be another's.
func (d *Driver) abandon(ctx context.Context, r record) error {
	if d.owned(r) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	return d.discard(ctx, r.Name, r)
}

// owned returns ErrGone if another owner has attached to the sandbox since, or
// it was removed. A late loser must neither mount the files a second time nor
// remove what is now another's.
func (d *Driver) owned(r record) error {
	now, err := d.state.read(d.state.sandbox(r.Name))
	if err != nil || now.Owner != r.Owner {
		return fmt.Errorf("sandbox %s has another owner: %w", r.Name, sandbox.ErrGone)
	}
	return nil
}

// adopt makes the handle of an existing directory, whose inside is started or taken over.
func (d *Driver) adopt(ctx context.Context, r record, dir string, enter func(*box, context.Context) error) (*box, error) {
	b, err := d.newBox(r, dir)
	if err != nil {
		return nil, err
	}
	if err := enter(b, ctx); err != nil {
		b.leave()
		return nil, d.explain(err)
	}
	d.mu.Lock()
	d.live[r.Name] = b
	d.mu.Unlock()
	return b, nil
}

// forget removes a handle from the list of the living.
func (d *Driver) forget(b *box) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[b.record.Name] == b {
		delete(d.live, b.record.Name)
	}
}

// discard ends everything of a sandbox that has no living handle, and removes it. Of one
// that is broken the record may be empty.
func (d *Driver) discard(ctx context.Context, name string, r record) error {
	if _, err := killMarked(ctx, d.state.marker(name)); err != nil {
		return err
	}
	d.dropGroup(r)
	return d.state.remove(d.state.sandbox(name))
}

// groupName is the control group of one sandbox, unique on the machine.
func (d *Driver) groupName(r record) string {
	return fmt.Sprintf("yudai-%s-%s-%s", d.state.id(), r.Name, strings.ToLower(r.ID))
}

// dropGroup removes the control group that a dead owner left. It is made again
// first, which also finds an existing one.
func (d *Driver) dropGroup(r record) {
	if !d.facts().grouped {
		return
	}
	if g, err := newGroup(d.groupName(r), d.config.Limits.Fill(sandbox.Limits{})); err == nil {
		_ = g.remove()
	}
}
