// Package cloud is the life of a sandbox at a provider that bills for it: what is
// noted before a call, opening, attaching, freezing, removing and sweeping; and what
// all providers need for their calls: an HTTP client that repeats what may be
// repeated, errors by class, streams, files, and a watchdog for connections that stall.
//
// A provider (sandbox/e2b, sandbox/prime) is its API and its differences: it
// implements [Provider], and [New] makes a driver of it.
//
// Nothing that costs money is forgotten. Every sandbox has a [Note] on our disk
// before the call that makes it. Whatever moment the process dies at, the next
// process finds what exists by the notes and by the provider's lists, and Sweep
// removes it.
package cloud

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// Provider is one service.
type Provider interface {
	// Traits says what the provider promises.
	Traits() sandbox.Traits
	// Plan completes the note of a new sandbox before anything is asked for. base is
	// what it starts from, nil for an empty sandbox.
	Plan(s sandbox.Spec, n *Note, base *Note) error
	// Create makes the machine of a note and returns when commands can run in it and
	// n.Allow is in force. It calls save as soon as n.ID is known. An error leaves
	// what there is to be removed by the note.
	Create(ctx context.Context, s sandbox.Spec, n *Note, base *Note, save func() error) (guest.Remote, error)
	// Wake returns the living machine of a note; sandbox.ErrGone if it has ended.
	Wake(ctx context.Context, n Note) (guest.Remote, error)
	// Restrict replaces the hosts that a machine may reach.
	Restrict(ctx context.Context, n Note) error
	// KeepAlive is called every Interval while a handle is open, 0 for never. After
	// sandbox.ErrGone it is not called again.
	KeepAlive(ctx context.Context, n Note, box *guest.Handle) error
	Interval(n Note) time.Duration

	// Snapshot freezes a machine and returns the snapshot's id. It sets n.Freezing and
	// calls save before the first call, and clears it where it knows that nothing unwanted is left.
	Snapshot(ctx context.Context, m guest.Remote, n *Note, save func() error) (id string, err error)
	// HasSnapshot reports whether the snapshot of a base can be used. Where the service
	// does not answer, the note counts.
	HasSnapshot(ctx context.Context, n Note) bool
	// UnwantedSnapshots lists the snapshots of a note's machine that no base is made of.
	UnwantedSnapshots(ctx context.Context, n Note) ([]string, error)
	// RemoveSnapshot deletes one. A missing one is no error.
	RemoveSnapshot(ctx context.Context, n Note, id string) error
	// Parent decides what becomes of the machine that a base was made of; fresh says
	// that it was frozen just now. It clears n.ID where the machine is gone.
	Parent(ctx context.Context, n *Note, fresh bool) error

	// List lists all machines and snapshots of this deployment.
	List(ctx context.Context) (machines, snapshots []Listed, err error)
	// Find looks for the machines of a call whose answer is not known. It may set n.ID.
	Find(ctx context.Context, n *Note) (ids []string, err error)
	// Remove deletes machines and returns what failed, by id. A missing one is no error.
	Remove(ctx context.Context, ids []string) map[string]error
	// Explain turns an error of the service into one of the contract's, with the
	// setting and the fix. Other errors stay as they are.
	Explain(err error) error
}

// Listed is one machine or snapshot in the list of a service.
type Listed struct {
	ID      string
	Name    string // of its note; of a snapshot its own name
	Labels  map[string]string
	Created time.Time
}

// Driver makes sandboxes at one provider.
type Driver struct {
	provider Provider
	journal  *Journal
	options  Options
	log      zerolog.Logger

	mu   sync.Mutex
	live map[string]*handle // by name
}

// Options of a driver.
type Options struct {
	// Origin names what machines start from, with its setting, for errors about
	// programs that it lacks.
	Origin string
	// MostHosts is how many hosts an allow-list may have; 0 is any number.
	MostHosts int
	// CheckTTL is the time to live of the sandbox that Check opens; 0 is the driver's own.
	CheckTTL time.Duration
}

// Compile-time proof that the contract is satisfied.
var (
	_ sandbox.Driver   = (*Driver)(nil)
	_ sandbox.Forker   = (*Driver)(nil)
	_ sandbox.Sandbox  = (*handle)(nil)
	_ sandbox.Egress   = (*handle)(nil)
	_ sandbox.Placed   = (*handle)(nil)
	_ sandbox.Launcher = (*handle)(nil)
)

// New makes the driver of a provider.
func New(p Provider, j *Journal, o Options, log zerolog.Logger) *Driver {
	return &Driver{provider: p, journal: j, options: o, log: log, live: map[string]*handle{}}
}

// Traits says what the provider promises.
func (d *Driver) Traits() sandbox.Traits { return d.provider.Traits() }

// Check opens a real sandbox, runs a command in it, and closes it.
func (d *Driver) Check(ctx context.Context) error {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "check-" + NewKey(), TTL: d.options.CheckTTL})
	if err == nil {
		out, res, failed := sandbox.Output(ctx, sb, sandbox.Command{Shell: "git --version"})
		if failed == nil && (res.ExitCode != 0 || !strings.HasPrefix(out, "git version")) {
			failed = fmt.Errorf("a test command ended with exit %d: %s", res.ExitCode, Plain(out))
		}
		err = errors.Join(failed, sb.Close(ctx))
	}
	if err != nil && !errors.Is(err, sandbox.ErrUnavailable) {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return err
}

// NewKey is a name that nobody else has: [a-z2-7].
func NewKey() string { return strings.ToLower(rand.Text()[:20]) }

// step is one operation of the contract. The name is locked meanwhile, and an error
// says what was done to what.
func (d *Driver) step(ctx context.Context, what, name string, do func() error) error {
	failpoint.Hit("sandbox", what, "before")
	defer failpoint.Hit("sandbox", what, "after")
	release, err := d.journal.lock(ctx, name)
	if err == nil {
		defer release()
		err = do()
	}
	switch {
	case err == nil:
		return nil
	case what == "thaw":
		name = "base " + name
	default:
		name = "sandbox " + name
	}
	return fmt.Errorf("%s %s: %w", what, name, err)
}

// Cleaning is a context for removing what is not wanted, whatever happened to ctx.
func Cleaning(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
}

// newest is this process's handle of a name, nil if there is none.
func (d *Driver) newest(name string) *handle {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[name]
}

// forget ends a handle and what it does by itself.
func (d *Driver) forget(h *handle, cause error) {
	h.end(cause)
	h.done = true
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[h.Name()] == h {
		delete(d.live, h.Name())
	}
}
