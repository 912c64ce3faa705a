package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// box is one open sandbox.
type box struct {
	driver *Driver
	record record
	dir    string
	group  group         // nil where control groups cannot be used
	proxy  *egress.Proxy // nil without an allow-list

	mu     sync.Mutex
	helper *helper
	guest  *guest.Handle
	closed bool
	closer sync.Once
	closes error
}

// Compile-time proof that the contract is satisfied.
var (
	_ sandbox.Driver  = (*Driver)(nil)
	_ sandbox.Forker  = (*Driver)(nil)
	_ sandbox.Sandbox = (*box)(nil)
	_ sandbox.Stamper = (*box)(nil)
	_ sandbox.Refuser = (*box)(nil)
	_ sandbox.Placed  = (*box)(nil)

	_ sandbox.Launcher  = (*box)(nil)
	_ sandbox.Restarter = (*box)(nil)
)

// newBox makes the handle of a sandbox whose directory exists.
func (d *Driver) newBox(r record, dir string) (*box, error) {
	b := &box{driver: d, record: r, dir: dir}
	if d.facts().grouped {
		g, err := newGroup(d.groupName(r), r.Limits)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", sandbox.ErrLimit, err)
		}
		b.group = g
	}
	if len(r.Allow) > 0 {
		return b, b.startProxy()
	}
	return b, nil
}

// Name is the name given to Open.
func (b *box) Name() string { return b.record.Name }

// Place is this machine, at the price that is configured for it.
func (b *box) Place() sandbox.Place {
	return sandbox.Place{Driver: "local", HourlyUSD: b.driver.config.USDPerHour}
}

// Refused lists the hosts that were asked for and are not allowed.
func (b *box) Refused() []string {
	if b.proxy == nil {
		return nil
	}
	return b.proxy.Refused()
}

// Exec runs one command.
func (b *box) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	failpoint.Hit("sandbox", "exec", "before")
	defer failpoint.Hit("sandbox", "exec", "after")
	var res sandbox.Result
	err := b.watched(ctx, "exec in sandbox "+b.record.Name, func(g *guest.Handle) (code int, err error) {
		ooms := b.ooms()
		res, err = g.Exec(ctx, c)
		res.OOM = err == nil && b.ooms() > ooms
		return res.ExitCode, err
	})
	if err != nil {
		return sandbox.Result{}, err
	}
	return res, nil
}

// watched does something inside that may write much, and looks at the disk afterwards.
func (b *box) watched(ctx context.Context, what string, do func(*guest.Handle) (code int, err error)) error {
	g, h, err := b.inside(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	free, began := freeSpace(b.dir), time.Now()
	code, err := do(g)
	if ctx.Err() == nil && !errors.Is(err, sandbox.ErrGone) && !errors.Is(err, sandbox.ErrDisk) {
		if full := b.checkDisk(ctx, g, h.disk, free, time.Since(began), code); full != nil {
			return fmt.Errorf("%s: %w", what, full)
		}
	}
	return b.lost(err)
}

func (b *box) ooms() int64 {
	if b.group == nil {
		return 0
	}
	return b.group.ooms()
}

// Put writes a file in one step.
func (b *box) Put(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error {
	failpoint.Hit("sandbox", "put", "before")
	defer failpoint.Hit("sandbox", "put", "after")
	return b.watched(ctx, "put "+p, func(g *guest.Handle) (int, error) { return 0, g.Put(ctx, p, r, mode) })
}

// Get opens a regular file.
func (b *box) Get(ctx context.Context, p string) (io.ReadCloser, error) {
	failpoint.Hit("sandbox", "get", "before")
	defer failpoint.Hit("sandbox", "get", "after")
	g, _, err := b.inside(ctx)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", p, err)
	}
	r, err := g.Get(ctx, p)
	return r, b.lost(err)
}

// Stamp returns a value that changes with the work tree. Only what the sandbox
// itself wrote is walked: a change of a file of the base appears there, because
// the overlay copies it up or leaves a mark for a removed one.
func (b *box) Stamp(ctx context.Context) (string, error) {
	_, h, err := b.inside(ctx)
	if err != nil {
		return "", fmt.Errorf("stamp sandbox %s: %w", b.record.Name, err)
	}
	a, err := h.ask(ctx, request{Op: opStamp}, nil)
	if err != nil {
		return "", fmt.Errorf("stamp sandbox %s: %w", b.record.Name, err)
	}
	return a.Text, nil
}

// Launch starts a program that lives on when we are gone.
func (b *box) Launch(ctx context.Context, c sandbox.Command) error {
	failpoint.Hit("sandbox", "launch", "before")
	defer failpoint.Hit("sandbox", "launch", "after")
	g, _, err := b.inside(ctx)
	if err != nil {
		return fmt.Errorf("launch in sandbox %s: %w", b.record.Name, err)
	}
	return b.lost(g.Launch(ctx, c))
}

// Launched reports whether anything that Launch started still runs.
func (b *box) Launched(ctx context.Context) (bool, error) {
	g, _, err := b.inside(ctx)
	if err != nil {
		return false, fmt.Errorf("look for what was launched in sandbox %s: %w", b.record.Name, err)
	}
	if !b.record.launches() {
		return false, nil
	}
	runs, err := g.Launched(ctx)
	return runs, b.lost(err)
}

// Halt kills what was launched and returns when nothing of it runs.
func (b *box) Halt(ctx context.Context) error {
	failpoint.Hit("sandbox", "halt", "before")
	defer failpoint.Hit("sandbox", "halt", "after")
	g, _, err := b.inside(ctx)
	if err != nil {
		return fmt.Errorf("halt what was launched in sandbox %s: %w", b.record.Name, err)
	}
	if !b.record.launches() {
		return nil
	}
	return b.lost(g.Halt(ctx))
}

// owned returns ErrGone if the sandbox is not this handle's any more.
func (b *box) owned() error { return b.driver.owned(b.record) }

// lost says of an error of a helper that left us whether another owner has it now.
func (b *box) lost(err error) error {
	if errors.Is(err, errHelper) {
		if e := b.owned(); e != nil {
			return e
		}
	}
	return err
}

// errClosed is the cause seen by commands that Close ends.
var errClosed = fmt.Errorf("sandbox closed: %w", sandbox.ErrGone)

// leave ends all calls and leaves the helper, which ends, too, unless something that was
// launched runs.
func (b *box) leave() {
	b.stop()
	if b.helper != nil {
		b.helper.close()
	}
}

// stop ends all calls.
func (b *box) stop() {
	b.mu.Lock()
	stopped := b.closed
	b.closed = true
	b.mu.Unlock()
	if stopped {
		return
	}
	if b.guest != nil {
		b.guest.End(errClosed)
	}
	if b.proxy != nil {
		if err := b.proxy.Close(); err != nil {
			b.driver.log.Error().Err(err).Msg("sandbox proxy ended")
		}
	}
}

// Close ends everything and removes the files. It does its work whatever the
// context says: a leaked sandbox costs more than the moment.
func (b *box) Close(context.Context) error {
	failpoint.Hit("sandbox", "close", "before")
	b.closer.Do(func() { b.closes = b.discard() })
	failpoint.Hit("sandbox", "close", "after")
	return b.closes
}

func (b *box) discard() error {
	b.stop()
	b.driver.forget(b)
	err := b.settle(func() error { return b.driver.state.remove(b.dir) })
	if err != nil && !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("close sandbox %s: %w", b.record.Name, err)
	}
	return nil
}

// settle ends what outlives a handle and gives the directory away, if it is still ours:
// it may be a base by now (Freeze), or swept, or another's. ErrGone then.
//
// The helper is left afterwards: what ends by itself meanwhile would not be waited for.
func (b *box) settle(give func() error) error {
	defer b.leave()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	release, err := lockDir(ctx, b.dir)
	if err != nil {
		return err
	}
	defer release()
	if err := b.owned(); err != nil {
		return err
	}
	if _, err := killMarked(ctx, b.driver.state.marker(b.record.Name)); err != nil {
		return err
	}
	if b.group != nil {
		if err := b.group.remove(); err != nil {
			return err
		}
	}
	return give()
}

// startTimeout is how long the inside of a sandbox may take to begin.
const startTimeout = 30 * time.Second

func (b *box) diskLimits() diskLimits {
	return diskLimits{Most: b.record.Limits.Disk, Start: b.record.Floor, Free: b.driver.config.FreeDiskMiB << 20}
}
