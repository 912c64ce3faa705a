// Package prime gives sandboxes at Prime Sandboxes, a service of virtual machines:
// a control plane over REST makes and removes them, and a gateway runs commands
// and moves files. The vendor's own command line tool is not used.
//
// The life of a sandbox is that of package cloud. What is special here: a key in the
// request makes the call that creates a sandbox repeatable; a base is a checkpoint,
// whose sandbox is deleted at once; network rules count when the service has applied
// them. The messages of commands are generated (package command); the stub speaks the
// same ones, and the recorded bytes of the vendor's clients prove both.
package prime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// provider is Prime.
type provider struct {
	config        Config
	journal       *cloud.Journal
	log           zerolog.Logger
	timing        timing
	control       *cloud.Client
	files         *http.Client // to the gateway
	streams       *http.Client // for commands: one connection each, since the gateway bounds how many share one
	poller        *poller
	noCheckpoints atomic.Bool // the service turned out to offer no checkpoints
}

var _ cloud.Provider = (*provider)(nil)

// timing are how long things are waited for, beside the control plane's answers.
type timing struct {
	failed, conflict, throttled cloud.Backoff // before a request to the gateway is repeated

	transfer time.Duration // a file may not move for so long
	silence  time.Duration // a stream may be silent for so long
	poll     time.Duration // first pause between two looks at a status
	pollMost time.Duration // and the longest
	echo     time.Duration // one proof that commands can run
	egress   time.Duration // until network rules must be applied
	freeze   time.Duration // until a checkpoint must be durable
	use      time.Duration // the longest pause between two uses of what must not be idle
}

func defaultTiming() timing {
	const s = time.Second
	return timing{
		failed: cloud.Backoff{First: s, Most: 4 * s, Tries: 4}, conflict: cloud.Backoff{First: s / 4, Most: s, Tries: 4},
		throttled: cloud.Backoff{First: 10 * s, Most: 40 * s, Total: 5 * time.Minute, Tries: 4},
		transfer:  60 * s, silence: 120 * s, poll: s, pollMost: 10 * s, echo: 10 * s, egress: 60 * s,
		freeze: 10 * time.Minute, use: 10 * time.Minute,
	}
}

// New returns the driver. It fails on bad configuration only; whether the service
// can be used is for Check to say.
func New(c Config, book *records.Book, log zerolog.Logger) (*cloud.Driver, error) {
	p, err := newProvider(c, book, log)
	if err != nil {
		return nil, err
	}
	return p.driver(), nil
}

func newProvider(c Config, book *records.Book, log zerolog.Logger) (*provider, error) {
	if err := setting.Join(section, c.Validate); err != nil {
		return nil, err
	}
	key, err := c.key().Read(os.Getenv)
	if c.Image == "" {
		err = errors.Join(err, fmt.Errorf("%w: %simage is empty: set it to a public image with bash, git and coreutils, such as "+
			"sandbox/docker/image/Dockerfile built and pushed to a registry of yours, or to an image built at Prime", sandbox.ErrSetting, section))
	}
	if err != nil {
		return nil, err
	}
	control := &cloud.Client{
		Base: c.base() + "/api/v1", Key: key, Header: http.Header{"Authorization": {"Bearer " + key}},
		HTTP: cloud.NewHTTPClient(cloud.NewTransport(true)), Retry: retryPolicy(), IsFull: isQuota,
	}
	p := &provider{
		config: c, journal: cloud.NewJournal(book), log: log.With().Str(logkey.Driver, driverName).Logger(),
		timing: defaultTiming(), control: control,
		files: cloud.NewHTTPClient(cloud.NewTransport(true)), streams: cloud.NewHTTPClient(cloud.NewTransport(false)),
	}
	p.poller = newPoller(p)
	return p, nil
}

func (p *provider) driver() *cloud.Driver {
	return cloud.New(p, p.journal, cloud.Options{
		Origin: fmt.Sprintf("%simage %q", section, p.config.Image), MostHosts: mostHosts, CheckTTL: 15 * time.Minute,
	}, p.log)
}

// driverName is Traits.Name.
const driverName = "prime"

// Traits says what can be promised. Memory, processors and disk are those of the
// machine: there is no smaller limit to promise.
func (p *provider) Traits() sandbox.Traits {
	l := p.config.Limits
	t := sandbox.Traits{
		Name: driverName, Isolation: "a virtual machine of its own at Prime",
		Fork: p.freezes(), ForkHow: "checkpoint", Network: true, Egress: true, Launch: true, Machine: true, Attach: true, BackgroundDies: true,
		MemoryKey: section + "limits.memory_gb",
		Limits:    "memory, processors and disk are the machine's size; time to live and idle time by the service",
		Start:     "under a minute; the first time an image is seen about ten minutes more",
		Cost: fmt.Sprintf("about %.2f USD (%g cores, %g GB of memory, %g GB of disk at the rates in %s)",
			p.config.hourly(l.CPUs, l.MemoryGB, l.DiskGB), l.CPUs, l.MemoryGB, l.DiskGB, strings.TrimSuffix(section, ".")),
	}
	if !t.Fork {
		t.ForkHow = "none"
		t.Notes = append(t.Notes, "no checkpoints: every sandbox is prepared by itself")
	}
	return t
}

// freezes reports whether prepared sandboxes can be frozen, as far as is known.
func (p *provider) freezes() bool {
	return p.config.Checkpoints == checkpointsAuto && !p.noCheckpoints.Load()
}

// Plan makes the request for a sandbox. A copy of a base inherits its disk.
func (p *provider) Plan(s sandbox.Spec, n *cloud.Note, base *cloud.Note) error {
	size, err := p.config.Limits.merge(s.Limits)
	if err != nil {
		return err
	}
	c, deployment := p.config, p.journal.Deployment()
	r := createRequest{
		Name: strings.Join([]string{labelAll, deployment, s.Name}, "-"), DockerImage: c.Image, VM: true,
		CPUCores: size.CPUs, MemoryGB: size.MemoryGB, DiskSizeGB: size.DiskGB, TimeoutMinutes: minutes(s.TTL, c.MaxLife),
		Labels: labels(deployment, s.Name, s.Labels), NetworkAllowlist: n.Allow, TeamID: c.TeamID, Region: c.Region, IdempotencyKey: n.Key,
	}
	if c.IdleTime > 0 {
		r.IdleTimeoutMinutes = min(minutes(c.IdleTime, c.IdleTime), r.TimeoutMinutes)
	}
	n.DiskGB = size.DiskGB
	if base != nil {
		r.CheckpointID, r.DockerImage, r.DiskSizeGB = base.Snapshot, "", 0
		n.DiskGB = base.DiskGB
	}
	n.HourlyUSD = c.hourly(size.CPUs, size.MemoryGB, n.DiskGB)
	n.Request, err = json.Marshal(r)
	return err
}

// Create asks for the sandbox and waits until commands can run in it.
func (p *provider) Create(ctx context.Context, _ sandbox.Spec, n *cloud.Note, base *cloud.Note, save func() error) (guest.Remote, error) {
	o, err := p.create(ctx, n.Request)
	if err != nil {
		if s := cloud.StatusOf(err); base != nil && s >= 400 && s < 500 && !p.HasSnapshot(ctx, *base) {
			return nil, fmt.Errorf("the checkpoint of base %s: %w", base.Name, sandbox.ErrGone)
		}
		return nil, err
	}
	n.ID = o.ID
	if o.CPUCores > 0 && o.MemoryGB > 0 && o.DiskSizeGB > 0 {
		n.HourlyUSD = p.config.hourly(o.CPUCores, o.MemoryGB, o.DiskSizeGB)
	}
	if err := save(); err != nil {
		return nil, err
	}
	if o.Status != statusRunning {
		if err := p.awaitRunning(ctx, n.Name, o.ID); err != nil {
			return nil, err
		}
	}
	if err := p.Restrict(ctx, *n); err != nil {
		return nil, err
	}
	m := p.machine(*n)
	if err := p.reach(ctx, m); err != nil {
		return nil, err
	}
	n.User = m.user
	return cloud.Machine{Wire: m}, nil
}

// Wake returns the machine of a note if it lives.
func (p *provider) Wake(ctx context.Context, n cloud.Note) (guest.Remote, error) {
	o, err := p.get(ctx, n.ID)
	if cloud.IsMissing(err) || err == nil && o.Status.ended() {
		return nil, sandbox.ErrGone
	}
	return cloud.Machine{Wire: p.machine(n)}, err
}

// Interval is how often a sandbox that may launch programs is used: the service counts
// a command as use, and not a program that runs by itself.
func (p *provider) Interval(n cloud.Note) time.Duration {
	if !n.Launch {
		return 0
	}
	return min(p.config.IdleTime/3, p.timing.use)
}

// KeepAlive uses a sandbox.
func (p *provider) KeepAlive(ctx context.Context, _ cloud.Note, box *guest.Handle) error {
	_, err := box.Launched(ctx)
	return err
}

// memory is how long after its making a sandbox can be alive at all, with time to
// spare: its time to live is shorter.
const memory = (mostMinutes + 8*60) * time.Minute

// Find looks for a sandbox by its labels, or asks once more with the same key, which
// gives the same one, or a new one that nobody else has.
func (p *provider) Find(ctx context.Context, n *cloud.Note) ([]string, error) {
	found, err := p.list(ctx, labelAll, labelDeployment+p.journal.Deployment(), labelName+n.Name)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, o := range found {
		ids = append(ids, o.ID)
	}
	if len(found) > 0 || time.Since(n.Created) > memory || len(n.Request) == 0 {
		return ids, nil
	}
	o, err := p.create(ctx, n.Request)
	switch {
	case err == nil:
		n.ID = o.ID
		return []string{o.ID}, nil
	case cloud.Undone(err) && !cloud.Unsent(err) &&
		!cloud.HasStatus(err, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusTooManyRequests):
		return nil, nil // it is refused now for what it asks, and so it was then
	}
	return nil, err
}

// List lists the living sandboxes of this deployment. Checkpoints are found by their sandboxes.
func (p *provider) List(ctx context.Context) (machines, snapshots []cloud.Listed, err error) {
	objects, err := p.list(ctx, labelAll, labelDeployment+p.journal.Deployment())
	for _, o := range objects {
		name, of := labelled(o)
		machines = append(machines, cloud.Listed{ID: o.ID, Name: name, Labels: of, Created: o.CreatedAt.Time})
	}
	return machines, nil, err
}
