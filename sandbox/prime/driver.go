// Package prime gives sandboxes at Prime Sandboxes, a service of virtual machines:
// a control plane over REST makes and removes them, and a gateway runs commands
// and moves files. The vendor's own command line tool is not used.
//
// Every sandbox is noted on disk before the call that makes it, with the key that
// makes the call repeatable: whatever moment the process dies at, the next one
// finds what costs money.
package prime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Driver makes sandboxes at Prime.
type Driver struct {
	config  Config
	book    *records.Book
	log     zerolog.Logger
	control *control
	gateway *gateway
	lobby   *lobby
	unable  atomic.Bool // the service turned out to offer no checkpoints

	mu    sync.Mutex
	live  map[string]*box          // by name
	locks map[string]chan struct{} // by name: something is being done to it
}

// Compile-time proof that the contract is satisfied.
var (
	_ sandbox.Driver   = (*Driver)(nil)
	_ sandbox.Forker   = (*Driver)(nil)
	_ sandbox.Sandbox  = (*box)(nil)
	_ sandbox.Egress   = (*box)(nil)
	_ sandbox.Placed   = (*box)(nil)
	_ sandbox.Launcher = (*box)(nil)
)

// New returns the driver. It fails on bad configuration only; whether the service
// can be used is for Check to say.
func New(c Config, book *records.Book, log zerolog.Logger) (*Driver, error) {
	var problems []error
	c.Validate(func(key, problem string) {
		problems = append(problems, fmt.Errorf("%s%s %s", section, key, problem))
	})
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	key, err := c.key(os.Getenv)
	problems = append(problems, err)
	if c.Image == "" {
		problems = append(problems, fmt.Errorf("%w: %simage is empty: set it to a public image with bash, git and coreutils, such as "+
			"sandbox/docker/image/Dockerfile built and pushed to a registry of yours, or to an image built at Prime", sandbox.ErrSetting, section))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	d := &Driver{
		config: c, book: book, log: log.With().Str(logkey.Driver, driverName).Logger(),
		live: map[string]*box{}, locks: map[string]chan struct{}{},
	}
	d.connect(key, newTransport(false), newTransport(true), defaultPaces())
	return d, nil
}

// connect sets how the service is spoken to.
func (d *Driver) connect(key string, requests, streams http.RoundTripper, pace paces) {
	d.control = &control{base: d.config.base(), key: key, team: d.config.TeamID, client: newClient(requests), pace: pace}
	d.gateway = newGateway(d.control, requests, streams)
	d.lobby = newLobby(d.control)
}

// driverName is Traits.Name.
const driverName = "prime"

// lock waits until nothing else is done to a name, and keeps it so until the release.
func (d *Driver) lock(ctx context.Context, name string) (release func(), err error) {
	for {
		d.mu.Lock()
		held, taken := d.locks[name]
		if !taken {
			held = make(chan struct{})
			d.locks[name] = held
			d.mu.Unlock()
			return func() {
				d.mu.Lock()
				delete(d.locks, name)
				d.mu.Unlock()
				close(held)
			}, nil
		}
		d.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// busy reports whether something is being done to a name.
func (d *Driver) busy(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, taken := d.locks[name]
	return taken
}

// newest is the newest handle of a name, nil if this process has none.
func (d *Driver) newest(name string) *box {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[name]
}

func (d *Driver) remember(b *box) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live[b.Name()] = b
}

// forget ends what a handle does by itself.
func (d *Driver) forget(b *box) {
	b.stop()
	<-b.used
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[b.Name()] == b {
		delete(d.live, b.Name())
	}
	d.gateway.forget(b.machine.id)
}

// forks reports whether prepared sandboxes can be frozen, as far as is known.
func (d *Driver) forks() bool {
	return d.config.Checkpoints == checkpointsAuto && !d.unable.Load()
}

// Traits says what can be promised. Memory, processors and disk are those of the
// machine: there is no smaller limit to promise.
func (d *Driver) Traits() sandbox.Traits {
	l := d.config.Limits
	t := sandbox.Traits{
		Name: driverName, Isolation: "a virtual machine of its own at Prime",
		Fork: d.forks(), ForkHow: "checkpoint", Network: true, Egress: true, Launch: true, Machine: true, Attach: true, BackgroundDies: true,
		MemoryKey: section + "limits.memory_gb",
		Limits:    "memory, processors and disk are the machine's size; time to live and idle time by the service",
		Start:     "under a minute; the first time an image is seen about ten minutes more",
		Cost: fmt.Sprintf("about %.2f USD (%g cores, %g GB of memory, %g GB of disk at the rates in %s)",
			d.config.hourly(l.CPUs, l.MemoryGB, l.DiskGB), l.CPUs, l.MemoryGB, l.DiskGB, strings.TrimSuffix(section, ".")),
	}
	if !t.Fork {
		t.ForkHow = "none"
		t.Notes = append(t.Notes, "no checkpoints: every sandbox is prepared by itself")
	}
	return t
}

// Check opens a real sandbox, runs a command in it, and closes it.
func (d *Driver) Check(ctx context.Context) error {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "check-" + strings.ToLower(rand.Text()), TTL: 15 * time.Minute})
	if err != nil {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: "echo inside"})
	if err == nil && (res.ExitCode != 0 || strings.TrimSpace(out) != "inside") {
		err = fmt.Errorf("a test command ended with exit %d: %s", res.ExitCode, plain(out))
	}
	if err := errors.Join(err, sb.Close(ctx)); err != nil {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return nil
}
