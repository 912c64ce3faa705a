package prime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Open makes a sandbox and returns when its network rules hold and commands can run.
func (d *Driver) Open(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "open", "before")
	defer failpoint.Hit("sandbox", "open", "after")
	began := time.Now()
	b, err := d.open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open sandbox %s: %w", s.Name, err)
	}
	d.log.Debug().Str(logkey.SandboxID, s.Name).Dur(logkey.Duration, time.Since(began)).Msg("sandbox opened")
	return b, nil
}

func (d *Driver) open(ctx context.Context, s sandbox.Spec) (*box, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	n, err := d.plan(s)
	if err != nil {
		return nil, err
	}
	release, err := d.lock(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := d.vacate(ctx, s.Name); err != nil {
		return nil, err
	}
	if s.From != "" {
		if err := d.from(&n, s.From); err != nil {
			return nil, err
		}
	}
	if err := d.write(n); err != nil { // before the call that it is about
		return nil, err
	}
	b, err := d.make(ctx, &n)
	if err == nil {
		d.remember(b)
		return b, nil
	}
	clean, cancel := d.cleaning(ctx)
	defer cancel()
	if e := d.erase(clean, n); e != nil {
		d.log.Warn().Str(logkey.SandboxID, s.Name).Err(e).Msg("half an open sandbox is left, it will be swept")
	}
	return nil, err
}

// cleaning is a context for removing what is not wanted, whatever happened to ctx.
func (d *Driver) cleaning(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d.control.pace.cleaning)
}

// plan makes the note of a new sandbox, with the request for it.
func (d *Driver) plan(s sandbox.Spec) (note, error) {
	size, err := d.config.Limits.merge(s.Limits)
	if err != nil {
		return note{}, err
	}
	allow, err := hosts(s.Network)
	if err != nil {
		return note{}, err
	}
	n := note{Record: records.Record{Name: s.Name, Key: strings.ToLower(rand.Text()), Labels: s.Labels, Created: time.Now().UTC()}}
	n.memo = memo{Stage: stageOpening, Owner: token(), Allow: allow, Launch: s.Launch, DiskGB: size.DiskGB}
	n.Request = createRequest{
		Name: strings.Join([]string{labelAll, d.book.Deployment(), s.Name}, "-"), DockerImage: d.config.Image, VM: true,
		CPUCores: size.CPUs, MemoryGB: size.MemoryGB, DiskSizeGB: size.DiskGB,
		TimeoutMinutes: minutes(s.TTL, d.config.MaxLife),
		Labels:         labels(d.book.Deployment(), s.Name, s.Labels), NetworkAllowlist: allow,
		TeamID: d.config.TeamID, Region: d.config.Region, IdempotencyKey: n.Key,
	}
	if d.config.IdleTime > 0 {
		n.Request.IdleTimeoutMinutes = min(minutes(d.config.IdleTime, d.config.IdleTime), n.Request.TimeoutMinutes)
	}
	n.HourlyUSD = d.config.hourly(size.CPUs, size.MemoryGB, size.DiskGB)
	return n, nil
}

// token names the owner of a handle.
func token() string { return strings.ToLower(rand.Text()) }

// vacate makes sure that nothing has the name. What a dead process left half open
// is removed; what could be attached to is in use.
func (d *Driver) vacate(ctx context.Context, name string) error {
	n, err := d.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case n.Stage == stageOpening || n.Stage == stageClosing:
		return d.erase(ctx, n)
	}
	return errors.New("the name is in use")
}

// from makes it a restored copy of a base.
func (d *Driver) from(n *note, base string) error {
	b, err := d.read(base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && b.Stage != stageFrozen {
		return fmt.Errorf("base %s: %w", base, sandbox.ErrGone)
	}
	if err != nil {
		return err
	}
	n.Request.CheckpointID, n.Request.DockerImage, n.Request.DiskSizeGB = b.Checkpoint, "", 0
	n.Parent, n.DiskGB = base, b.DiskGB
	n.HourlyUSD = d.config.hourly(n.Request.CPUCores, n.Request.MemoryGB, b.DiskGB)
	return nil
}

// make asks for the sandbox, waits for it, and opens it. The note is kept up to date.
func (d *Driver) make(ctx context.Context, n *note) (*box, error) {
	o, err := d.control.create(ctx, n.Request)
	if err != nil {
		return nil, d.refused(ctx, n, err)
	}
	n.ID = o.ID
	if o.CPUCores > 0 && o.MemoryGB > 0 && o.DiskSizeGB > 0 {
		n.HourlyUSD = d.config.hourly(o.CPUCores, o.MemoryGB, o.DiskSizeGB)
	}
	if err := d.write(*n); err != nil {
		return nil, err
	}
	if o.Status != statusRunning {
		if err := d.awaitRunning(ctx, n.Name, o.ID); err != nil {
			return nil, err
		}
	}
	m := d.machine(*n)
	if err := d.restrict(ctx, o.ID, n.Allow); err != nil {
		return nil, err
	}
	if err := d.reach(ctx, m); err != nil {
		return nil, err
	}
	n.User = m.user
	in, err := inside.Open(ctx, m, d.options(*n))
	if errors.Is(err, sandbox.ErrSetting) {
		return nil, fmt.Errorf("%simage %q: %w", section, d.config.Image, err)
	}
	if err != nil {
		return nil, err
	}
	n.Stage = stageReady
	if err := d.write(*n); err != nil {
		in.End(nil)
		return nil, err
	}
	return newBox(d, in, m, *n), nil
}

// refused explains why there is no new sandbox. A base whose checkpoint is gone is no base any more.
func (d *Driver) refused(ctx context.Context, n *note, err error) error {
	s := statusOf(err)
	if n.Request.CheckpointID != "" && s >= 400 && s < 500 {
		if p, e := d.control.checkpoint(ctx, n.Request.CheckpointID); isGone(e) || e == nil && p.State.lost() {
			return fmt.Errorf("the checkpoint of base %s: %w", n.Parent, sandbox.ErrGone)
		}
	}
	var vague *doubtful
	if s != 0 && s < 500 && s != http.StatusRequestTimeout && s != http.StatusConflict && !errors.As(err, &vague) {
		n.Key = "" // it was refused: there is nothing to look for
	}
	return d.config.explain(err)
}

func (d *Driver) machine(n note) *machine {
	return &machine{config: d.config, control: d.control, gateway: d.gateway, id: n.ID, user: n.User}
}

func (d *Driver) options(n note) inside.Options {
	return inside.Options{Name: n.Name, Token: n.Owner, User: n.User, OOM: "vmstat", Launch: n.Launch}
}

// Attach takes over the sandbox of a dead owner. One that was never opened to its
// end is removed instead.
func (d *Driver) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	failpoint.Hit("sandbox", "attach", "before")
	defer failpoint.Hit("sandbox", "attach", "after")
	b, err := d.attach(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("attach sandbox %s: %w", name, err)
	}
	d.log.Debug().Str(logkey.SandboxID, name).Msg("sandbox attached")
	return b, nil
}

func (d *Driver) attach(ctx context.Context, name string) (*box, error) {
	if sandbox.CheckName(name) != nil {
		return nil, sandbox.ErrGone
	}
	release, err := d.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	n, err := d.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && n.Stage == stageFrozen:
		return nil, sandbox.ErrGone
	case err != nil:
		return nil, err
	case n.Stage == stageOpening || n.Stage == stageClosing:
		if err := d.erase(ctx, n); err != nil {
			return nil, fmt.Errorf("remove what was left half open: %w", err)
		}
		return nil, sandbox.ErrGone
	}
	o, err := d.control.get(ctx, n.ID)
	if isGone(err) || err == nil && o.Status.ended() {
		if err := d.erase(ctx, n); err != nil {
			return nil, err
		}
		return nil, sandbox.ErrGone
	}
	if err != nil {
		return nil, d.config.explain(err)
	}
	return d.takeOver(ctx, n)
}

// takeOver makes this process the owner, on disk and then in the machine.
func (d *Driver) takeOver(ctx context.Context, n note) (*box, error) {
	n.Owner = token()
	if err := d.write(n); err != nil {
		return nil, err
	}
	if err := d.restrict(ctx, n.ID, n.Allow); err != nil { // a dead owner may have been about to change them
		return nil, err
	}
	m := d.machine(n)
	in, err := inside.Attach(ctx, m, d.options(n))
	if err != nil {
		return nil, err
	}
	b := newBox(d, in, m, n)
	d.remember(b)
	return b, nil
}
