// Package e2b gives sandboxes that are virtual machines of E2B, or of a server
// that speaks its API: a control plane that makes, forks, freezes and ends them,
// and in each of them a daemon, envd, that starts programs and moves files.
//
// Both are spoken to with net/http and encoding/json alone. What the commands of
// a sandbox do is the matter of package inside; the stream of the daemon is only
// its live view.
//
// Nothing that costs money is forgotten. Every sandbox carries the name of this
// deployment and of the call that made it, lives for a short time that is
// extended as long as we live, and is noted in a book on our disk before anybody
// uses it: what the service has and the book does not, Sweep ends.
package e2b

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Both abilities that a driver may have.
var (
	_ sandbox.Driver   = (*Driver)(nil)
	_ sandbox.Forker   = (*Driver)(nil)
	_ sandbox.Egress   = (*box)(nil)
	_ sandbox.Placed   = (*box)(nil)
	_ sandbox.Sandbox  = (*box)(nil)
	_ sandbox.Launcher = (*box)(nil)
)

// Driver makes sandboxes at E2B.
type Driver struct {
	config  Config
	book    *records.Book
	log     zerolog.Logger
	control *control
	http    *http.Client // to the daemons: no limit of time
	rhythm  rhythm
	gather  gather

	mu      sync.Mutex
	live    map[string]*box    // by name
	taken   map[string]bool    // names on which a call is under way
	calls   map[string]int     // keys of calls that may be making something now
	sources map[string]*source // by base: parents that can be forked
	size    map[string]machine // by template: what its sandboxes have
}

// New returns the driver. It fails on bad configuration only; whether the service
// answers is for Check to say.
func New(c Config, book *records.Book, log zerolog.Logger) (*Driver, error) {
	return newDriver(c, book, log, newTransport())
}

func newDriver(c Config, book *records.Book, log zerolog.Logger, transport http.RoundTripper) (*Driver, error) {
	var problems []error
	c.Validate(func(key, problem string) {
		problems = append(problems, fmt.Errorf("sandbox.e2b.%s %s", key, problem))
	})
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	key, err := c.readKey(os.Getenv)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Driver{
		config: c, book: book, log: log.With().Str(logkey.Driver, "e2b").Logger(),
		control: &control{base: c.apiBase(), key: key, http: client, pace: defaultPace()},
		http:    client, rhythm: defaultRhythm(), gather: defaultGather(),
		live: map[string]*box{}, taken: map[string]bool{}, calls: map[string]int{}, sources: map[string]*source{}, size: map[string]machine{},
	}, nil
}

// Traits says what this driver promises.
func (d *Driver) Traits() sandbox.Traits {
	c := d.config
	return sandbox.Traits{
		Name:      "e2b",
		Isolation: "a microVM of E2B for each sandbox, with its own kernel",
		Fork:      true, ForkHow: "live fork of up to 20, else snapshot",
		Network: true, Egress: true, Launch: true, Machine: true, Attach: true, BackgroundDies: true, MemoryKey: "sandbox.e2b.memory_mib",
		Limits: "processors, memory and disk are the template's (`yudai sandbox build e2b`), enforced by the machine; processes and less than that are not",
		Start:  "about a second from the template, a fork or a snapshot",
		Cost: fmt.Sprintf("$%.4g for a processor and $%.4g for a GiB of memory: $%.3g as configured; nothing while paused",
			c.USDPerCPUHour, c.USDPerGiBHour, c.hourly(c.CPUs, c.MemoryMiB)),
	}
}

// Check runs a real sandbox.
func (d *Driver) Check(ctx context.Context) error {
	if err := d.tryOut(ctx); err != nil {
		if errors.Is(err, sandbox.ErrUnavailable) {
			return err
		}
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return nil
}

func (d *Driver) tryOut(ctx context.Context) (err error) {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "check-" + newKey()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sb.Close(ctx)) }()
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: "git --version"})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 || !strings.HasPrefix(out, "git version") {
		return fmt.Errorf("a test command ended with exit %d: %s", res.ExitCode, oneLine(out))
	}
	return nil
}

// newKey is a name that nobody else has: [a-z2-7].
func newKey() string { return strings.ToLower(rand.Text()[:20]) }

// reserve takes a name for one call, until it is released.
func (d *Driver) reserve(name string) (release func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.taken[name] {
		return nil, errors.New("name is in use by another call")
	}
	d.taken[name] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.taken, name)
	}, nil
}

// enter says that a call under this key may be making something, until it leaves.
func (d *Driver) enter(key string) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[key]++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.calls[key]--; d.calls[key] == 0 {
			delete(d.calls, key)
		}
	}
}

// cleanupTime bounds what is done after the caller's context has ended.
const cleanupTime = time.Minute

// afterwards is a context for cleaning up that outlives the caller's.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}

// Open makes a sandbox.
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

// Attach takes over the living sandbox of a dead owner.
func (d *Driver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "attach", "before")
	defer failpoint.Hit("sandbox", "attach", "after")
	b, err := d.attach(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("attach sandbox %s: %w", name, err)
	}
	return b, nil
}
