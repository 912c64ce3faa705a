package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
)

// box is one open sandbox.
type box struct {
	driver *Driver
	record record
	dir    string
	group  group // nil where control groups cannot be used
	egress *egressServer

	life context.Context // ends with Close
	end  context.CancelCauseFunc
	busy sync.WaitGroup // commands

	mu     sync.Mutex
	helper *helper
	closed bool
	closer sync.Once
	closes error
	full   error // set once the disk limit was exceeded
}

// Compile-time proof that the contract is satisfied.
var (
	_ sandbox.Driver  = (*Driver)(nil)
	_ sandbox.Forker  = (*Driver)(nil)
	_ sandbox.Sandbox = (*box)(nil)
	_ sandbox.Stamper = (*box)(nil)
	_ sandbox.Refuser = (*box)(nil)
	_ sandbox.Placed  = (*box)(nil)
)

// newBox makes the handle of a sandbox whose directory exists.
func (d *Driver) newBox(r record, dir string) (*box, error) {
	b := &box{driver: d, record: r, dir: dir}
	b.life, b.end = context.WithCancelCause(context.Background())
	if d.facts().grouped {
		g, err := newGroup(d.groupName(r), r.Limits)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", sandbox.ErrLimit, err)
		}
		b.group = g
	}
	if len(r.Allow) > 0 {
		e, err := startEgress(d, r.Allow)
		if err != nil {
			_ = b.ungroup()
			return nil, err
		}
		b.egress = e
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
	if b.egress == nil {
		return nil
	}
	return b.egress.proxy.Refused()
}

// enter registers a command. The context it returns ends with the caller's, and
// with the sandbox.
func (b *box) enter(ctx context.Context) (context.Context, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, fmt.Errorf("sandbox %s is closed: %w", b.record.Name, sandbox.ErrGone)
	}
	if b.full != nil {
		return nil, nil, b.full
	}
	b.busy.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.life, func() { cancel(context.Cause(b.life)) })
	return ctx, func() {
		stop()
		cancel(nil)
		b.busy.Done()
	}, nil
}

// stage returns the helper process, started at first use and again if it died.
func (b *box) stage(ctx context.Context) (*helper, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.helper != nil && b.helper.alive() {
		return b.helper, nil
	}
	if b.helper != nil { // it died: so did its commands, but make sure
		b.helper = nil
		if err := killMarked(ctx, b.marker()); err != nil {
			return nil, err
		}
	}
	if b.closed {
		return nil, fmt.Errorf("sandbox %s is closed: %w", b.record.Name, sandbox.ErrGone)
	}
	if err := b.owned(); err != nil {
		return nil, err
	}
	h, err := b.start(ctx)
	if err != nil {
		return nil, err
	}
	b.helper = h
	return h, nil
}

// start starts the helper process with everything the sandbox needs.
func (b *box) start(ctx context.Context) (*helper, error) {
	d := b.driver
	var files []*os.File
	defer func() { closeAll(files...) }()
	c := setup{Bwrap: d.bwrap.path, Marker: b.marker(), Files: etcFiles(), Etc: d.root.etc}
	add := func(name, path string, dir bool) {
		c.Sources = append(c.Sources, hostSource(name, path, dir, name != boxName, &files))
	}
	add(boxName, b.dir, true)
	for i, base := range b.record.Lower {
		name := fmt.Sprintf("base%d", i)
		add(name, d.state.base(base), true)
		c.Lower = append(c.Lower, name)
	}
	c.Overlay = len(c.Lower) > 0
	d.root.sources(add)
	if b.egress != nil {
		add("proxy", b.egress.dir, true)
		self, err := ownProgram(d.state.uid >= 0)
		if err != nil {
			return nil, err
		}
		add("forward", self, false)
	}
	return startHelper(ctx, d.state.uid, c, files)
}

// ownProgram is the path of this binary. Root opens it by what the kernel
// remembers, which no permission on the way can spoil; a user's stage must
// find it in its own mount namespace.
func ownProgram(root bool) (string, error) {
	if root {
		return "/proc/self/exe", nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own program: %w", err)
	}
	return self, nil
}

// marker names the processes of this handle; those of every handle of the
// sandbox have the same prefix.
func (b *box) marker() string { return b.driver.state.marker(b.record.Name) + b.record.Owner }

// owned returns ErrGone if another owner has attached to the sandbox since, or
// it was removed. A late loser must neither mount the files a second time nor
// remove what is now another's.
func (b *box) owned() error {
	r, err := b.driver.state.read(b.dir)
	if err != nil || r.Owner != b.record.Owner {
		return fmt.Errorf("sandbox %s has another owner: %w", b.record.Name, sandbox.ErrGone)
	}
	return nil
}

// Stamp returns a value that changes with the work tree. Only what the sandbox
// itself wrote is walked: a change of a file of the base appears there, because
// the overlay copies it up or leaves a mark for a removed one.
func (b *box) Stamp(ctx context.Context) (string, error) {
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	h, err := b.stage(ctx)
	if err != nil {
		return "", fmt.Errorf("stamp sandbox %s: %w", b.record.Name, err)
	}
	r, err := h.ask(ctx, request{Op: opStamp}, nil)
	if err != nil {
		return "", fmt.Errorf("stamp sandbox %s: %w", b.record.Name, err)
	}
	return r.Text, nil
}

// errClosed is the cause seen by commands that Close ends.
var errClosed = fmt.Errorf("sandbox closed: %w", sandbox.ErrGone)

// stop ends all commands and the helper, and returns when nothing runs.
func (b *box) stop() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.end(errClosed)
	b.busy.Wait()
	b.mu.Lock()
	h := b.helper
	b.helper = nil
	b.mu.Unlock()
	if h != nil {
		h.close()
	}
	if b.egress != nil {
		b.egress.close()
	}
	return b.ungroup()
}

func (b *box) ungroup() error {
	if b.group == nil {
		return nil
	}
	return b.group.remove()
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
	err := b.stop()
	b.driver.forget(b)
	// The directory may be a base by now (Freeze), or swept, or another's.
	if b.owned() == nil {
		err = errors.Join(err, b.driver.state.remove(b.dir))
	}
	if err != nil {
		return fmt.Errorf("close sandbox %s: %w", b.record.Name, err)
	}
	return nil
}

// startPatience is how long bubblewrap may take until there is a process inside.
const startPatience = 30 * time.Second
