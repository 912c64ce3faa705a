package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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

	_ sandbox.Launcher = (*box)(nil)
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
		lasting := ""
		if r.launches() {
			lasting = filepath.Join(dir, "proxy")
		}
		e, err := startEgress(d, r.Allow, lasting)
		if err != nil {
			if !r.launches() {
				_ = b.ungroup()
			}
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

// forwards are the sockets that commands reach.
func (b *box) forwards() []forward {
	var all []forward
	if b.egress != nil {
		all = append(all, proxyForward())
	}
	if b.record.Socket != "" {
		all = append(all, socketForward())
	}
	return all
}

// enter registers a command; none may start in a sandbox that used up its disk.
func (b *box) enter(ctx context.Context) (context.Context, func(), error) {
	b.mu.Lock()
	full := b.full
	b.mu.Unlock()
	if full != nil {
		return nil, nil, full
	}
	return b.register(ctx)
}

// register makes Close wait. The context it returns ends with the caller's, and
// with the sandbox.
func (b *box) register(ctx context.Context) (context.Context, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, fmt.Errorf("sandbox %s is closed: %w", b.record.Name, sandbox.ErrGone)
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

// stop ends all commands and the helper, and returns when nothing runs. What was
// launched runs on in its stage, with its control group.
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
	if b.record.launches() {
		return nil
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
	e := b.settle(func() error { return b.driver.state.remove(b.dir) })
	if !errors.Is(e, sandbox.ErrGone) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("close sandbox %s: %w", b.record.Name, err)
	}
	return nil
}

// settle ends what outlives a handle and gives the directory away, if it is still ours:
// it may be a base by now (Freeze), or swept, or another's. ErrGone then.
func (b *box) settle(give func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	release, err := lockDir(ctx, b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	if err != nil {
		return err
	}
	defer release()
	if err := b.owned(); err != nil {
		return err
	}
	if err := b.extinguish(); err != nil {
		return err
	}
	return give()
}

// startPatience is how long bubblewrap may take until there is a process inside.
const startPatience = 30 * time.Second
