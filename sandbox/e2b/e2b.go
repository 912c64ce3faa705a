// Package e2b gives sandboxes that are virtual machines of E2B, or of a server that
// speaks its API: a control plane that makes, forks, freezes and ends them, and in
// each of them a daemon, envd, that starts programs and moves files.
//
// The life of a sandbox is that of package cloud. What is special here: a sandbox
// lives for a short lease that is renewed while somebody has it open; a base is a
// snapshot, whose parent lives on for a while to be forked; a fork has the metadata
// and the network of its parent. The client of the daemon is generated (package
// envd); the stub is made of the same messages, and the recorded traffic of the real
// daemon proves both.
package e2b

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// provider is E2B.
type provider struct {
	config  Config
	journal *cloud.Journal
	log     zerolog.Logger
	control *cloud.Client
	http    *http.Client // to the daemons: no limit of time
	timing  timing
	old     atomic.Bool // the server has only the first version of a route

	mu      sync.Mutex
	parents map[string]*parent // by machine id: those that can be forked
	size    machine            // what the template gives its sandboxes
}

var _ cloud.Provider = (*provider)(nil)

// New returns the driver. It fails on bad configuration only; whether the service
// answers is for Check to say.
func New(c Config, book *records.Book, log zerolog.Logger) (*cloud.Driver, error) {
	p, err := newProvider(c, book, log, cloud.NewTransport(true))
	if err != nil {
		return nil, err
	}
	return p.driver(), nil
}

func newProvider(c Config, book *records.Book, log zerolog.Logger, transport http.RoundTripper) (*provider, error) {
	control, err := c.control(transport)
	if err != nil {
		return nil, err
	}
	return &provider{
		config: c, journal: cloud.NewJournal(book), log: log.With().Str(logkey.Driver, driverName).Logger(), control: control, http: control.HTTP,
		timing: defaultTiming(), parents: map[string]*parent{},
	}, nil
}

// control is the client of the control plane.
func (c Config) control(transport http.RoundTripper) (*cloud.Client, error) {
	if err := setting.Join(section, c.Validate); err != nil {
		return nil, err
	}
	key, err := c.key().Read(os.Getenv)
	if err != nil {
		return nil, err
	}
	return &cloud.Client{
		Base: c.apiBase(), Key: key, Header: http.Header{"X-Api-Key": {key}}, HTTP: cloud.NewHTTPClient(transport),
		Retry: retryPolicy(), IsFull: isFull, IsUnchanged: isUnchanged,
	}, nil
}

func (p *provider) driver() *cloud.Driver {
	return cloud.New(p, p.journal, cloud.Options{
		Origin:   fmt.Sprintf("the template %q (%stemplate) does not fit: build one with `yudai sandbox build e2b`", p.config.Template, section),
		CheckTTL: p.config.Lease, // so that it tries the whole lease, and extends none
	}, p.log)
}

// driverName is Traits.Name.
const driverName = "e2b"

// Traits says what this driver promises.
func (p *provider) Traits() sandbox.Traits {
	c := p.config
	return sandbox.Traits{
		Name:      driverName,
		Isolation: "a microVM of E2B for each sandbox, with its own kernel",
		Fork:      true, ForkHow: "live fork of up to 20, else snapshot",
		Network: true, Egress: true, Launch: true, Machine: true, Attach: true, BackgroundDies: true, MemoryKey: section + "memory_mib",
		Limits: "processors, memory and disk are the template's (`yudai sandbox build e2b`), enforced by the machine; " +
			"processes and less than that are not",
		Start: "about a second from the template, a fork or a snapshot",
		Cost: fmt.Sprintf("$%.4g for a processor and $%.4g for a GiB of memory: $%.3g as configured; nothing while paused",
			c.USDPerCPUHour, c.USDPerGiBHour, c.hourly(c.CPUs, c.MemoryMiB)),
	}
}

// Plan refuses limits that the template is known not to have.
func (p *provider) Plan(s sandbox.Spec, n *cloud.Note, base *cloud.Note) error {
	n.User = plainUser
	if base != nil {
		n.HourlyUSD = base.HourlyUSD
		return nil
	}
	return checkLimits(s.Limits, p.learn(machine{}))
}

// learn remembers what the template gives its sandboxes.
func (p *provider) learn(m machine) machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.CPUs > 0 {
		p.size = m
	}
	return p.size
}

// Create gets a machine by the best way there is: a fork of the base's parent, or a
// new one of the snapshot or the template.
func (p *provider) Create(ctx context.Context, s sandbox.Spec, n *cloud.Note, base *cloud.Note, save func() error) (guest.Remote, error) {
	var m machine
	var forked bool
	var err error
	if base != nil {
		m, forked = p.fork(*base, n)
	}
	if !forked {
		if m, err = p.createMachine(ctx, *n, base); err != nil {
			return nil, err
		}
		n.ID = m.ID
		if err := save(); err != nil {
			return nil, err
		}
	}
	if err := checkVersion(p.config.Template, m.Version); err != nil {
		return nil, err
	}
	switch {
	case forked && !slices.Equal(n.Allow, base.Allow):
		err = p.Restrict(ctx, *n)
	case base == nil:
		err = p.measure(ctx, s, n)
	}
	if err != nil {
		return nil, err
	}
	return cloud.Machine{Wire: p.daemon(m)}, nil
}

// createMachine makes a machine. Where the answer leaves open whether there is one
// now, that one is looked for and ended before the second try.
func (p *provider) createMachine(ctx context.Context, n cloud.Note, base *cloud.Note) (machine, error) {
	no := false
	body := creation{
		Template: p.config.Template, Timeout: seconds(n.Life(p.config.Lease)), Metadata: p.metadata(n), Internet: &no, Network: rules(n.Allow),
	}
	body.Network.Public = &no
	if base != nil {
		body.Template = base.Snapshot
	}
	for try := 1; ; try++ {
		m, err := p.create(ctx, body)
		switch {
		case err == nil && cloud.IsID(m.ID):
			return m, nil
		case err == nil:
			err = &cloud.Lost{Cause: errors.New("the answer names no sandbox, or one whose id is none")}
		case try > 1: // the first one may be there, whatever this one was told
			err = cloud.Doubt(err)
		}
		switch {
		case base == nil:
			err = p.config.explainCreate(err)
		case cloud.NotOffered(err):
			err = fmt.Errorf("base %s: %w: %w", base.Name, sandbox.ErrGone, err)
		}
		if cloud.Undone(err) || try > 1 || ctx.Err() != nil {
			return m, err
		}
		clean, cancel := cloud.Cleaning(ctx)
		ids, failed := p.Find(clean, &n)
		for _, e := range p.Remove(clean, ids) {
			failed = errors.Join(failed, e)
		}
		cancel()
		if failed != nil || clock.Sleep(ctx, p.control.Retry.Broken.First) != nil {
			return m, cloud.Doubt(errors.Join(err, failed))
		}
	}
}

// measure reads the size of a new machine, which decides its cost and its limits.
func (p *provider) measure(ctx context.Context, s sandbox.Spec, n *cloud.Note) error {
	m, err := p.get(ctx, n.ID)
	if err != nil {
		return err
	}
	n.HourlyUSD = p.config.hourly(m.CPUs, m.MemoryMiB)
	return checkLimits(s.Limits, p.learn(m))
}

// Wake reads a sandbox by its id, never by a list: one that is being frozen is
// missing there. One that is paused is woken.
func (p *provider) Wake(ctx context.Context, n cloud.Note) (guest.Remote, error) {
	m, err := p.get(ctx, n.ID)
	if err == nil && (m.State == paused || m.Token == "") {
		m, err = p.connect(ctx, n.ID, n.Life(p.config.Lease))
	}
	if err == nil {
		err = p.renew(ctx, n.ID, n.Life(p.config.Lease))
	}
	if cloud.HasStatus(err, http.StatusNotFound) {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	return cloud.Machine{Wire: p.daemon(m)}, err
}

// Restrict replaces what the sandbox may reach.
func (p *provider) Restrict(ctx context.Context, n cloud.Note) error {
	err := p.setNetwork(ctx, n.ID, rules(n.Allow))
	switch cloud.StatusOf(err) {
	case http.StatusNotFound:
		return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// Interval is how often a lease is renewed.
func (p *provider) Interval(cloud.Note) time.Duration { return p.config.Lease / 3 }

// KeepAlive asks for more time: without us the sandbox ends by itself.
func (p *provider) KeepAlive(ctx context.Context, n cloud.Note, _ *guest.Handle) error {
	if !n.Until.IsZero() && !time.Now().Before(n.Until) {
		return fmt.Errorf("its time to live is over: %w", sandbox.ErrGone)
	}
	err := p.renew(ctx, n.ID, n.Life(p.config.Lease))
	if cloud.HasStatus(err, http.StatusNotFound, http.StatusBadRequest) { // the plan's longest session is over
		return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	return err
}
