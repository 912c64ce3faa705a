package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// handle is one open sandbox.
type handle struct {
	driver  *Driver
	box     *guest.Handle
	machine guest.Remote
	owner   string
	place   sandbox.Place
	done    bool // closed, frozen or lost; read and written while the name is locked

	stop    context.CancelFunc // ends what keeps it alive
	stopped chan struct{}
}

func (d *Driver) newHandle(in *guest.Handle, m guest.Remote, n Note) *handle {
	ctx, cancel := context.WithCancel(context.Background())
	h := &handle{
		driver: d, box: in, machine: m, owner: n.Owner, stop: cancel, stopped: make(chan struct{}),
		place: sandbox.Place{Driver: d.provider.Traits().Name, ID: n.ID, HourlyUSD: n.HourlyUSD},
	}
	go func() {
		defer close(h.stopped)
		if every := d.provider.Interval(n); every > 0 {
			h.keepAlive(ctx, n, every)
		}
	}()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live[n.Name] = h
	return h
}

// keepAlive tells the service now and then that the sandbox is wanted.
func (h *handle) keepAlive(ctx context.Context, n Note, every time.Duration) {
	for clock.Sleep(ctx, every) == nil {
		err := h.driver.provider.KeepAlive(ctx, n, h.box)
		if errors.Is(err, sandbox.ErrGone) || ctx.Err() != nil {
			return
		}
		if err != nil {
			h.driver.log.Warn().Err(err).Str(logkey.SandboxID, h.Name()).Msg("sandbox not kept alive")
		}
	}
}

// Commands, files and launched programs are package guest's.

func (h *handle) Name() string { return h.box.Name() }

func (h *handle) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	return h.box.Exec(ctx, c)
}

func (h *handle) Put(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	return h.box.Put(ctx, path, r, mode)
}

func (h *handle) Get(ctx context.Context, path string) (io.ReadCloser, error) {
	return h.box.Get(ctx, path)
}

func (h *handle) Launch(ctx context.Context, c sandbox.Command) error { return h.box.Launch(ctx, c) }

func (h *handle) Launched(ctx context.Context) (bool, error) { return h.box.Launched(ctx) }

func (h *handle) Halt(ctx context.Context) error { return h.box.Halt(ctx) }

// Place tells the service's own id, and the cost.
func (h *handle) Place() sandbox.Place { return h.place }

// end ends what the handle does, and what keeps the sandbox alive. It may be called twice.
func (h *handle) end(cause error) {
	h.stop()
	<-h.stopped
	h.box.End(cause)
}

// note reads the sandbox's note, whose name is locked; sandbox.ErrGone unless this
// handle still owns it.
func (h *handle) note() (Note, error) {
	n, err := h.driver.journal.Read(h.Name())
	if err == nil && n.Owner != h.owner {
		err = sandbox.ErrGone
	}
	return n, err
}

// Restrict changes what the sandbox may reach, and returns when that holds. The
// rules are noted first: whoever attaches after a crash makes them hold.
func (h *handle) Restrict(ctx context.Context, to sandbox.Network) error {
	if err := h.restrict(ctx, to); err != nil {
		return fmt.Errorf("restrict sandbox %s: %w", h.Name(), err)
	}
	return nil
}

func (h *handle) restrict(ctx context.Context, to sandbox.Network) error {
	allow, err := h.driver.hosts(to)
	if err != nil {
		return err
	}
	release, err := h.driver.journal.lock(ctx, h.Name())
	if err != nil {
		return err
	}
	defer release()
	n, err := h.note()
	if err != nil {
		return err
	}
	if h.done {
		return sandbox.ErrGone
	}
	n.Allow = allow
	if err := h.driver.journal.Write(n); err != nil {
		return err
	}
	return h.driver.provider.Explain(h.driver.provider.Restrict(ctx, n))
}

// Close ends what runs and deletes the sandbox, unless another handle owns it by
// now. After an error its note says that nobody wants it, and Sweep deletes it; it is
// not kept alive any more.
func (h *handle) Close(ctx context.Context) error {
	h.end(nil)
	ctx, cancel := Cleaning(ctx)
	defer cancel()
	return h.driver.step(ctx, "close", h.Name(), func() error {
		n, err := h.note()
		if h.done || errors.Is(err, sandbox.ErrGone) {
			return nil
		}
		if err == nil {
			err = h.driver.erase(ctx, n)
		}
		if err == nil {
			h.driver.forget(h, nil)
		}
		return err
	})
}
