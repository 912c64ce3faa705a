package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// handle is one open sandbox.
type handle struct {
	*guest.Handle

	driver  *Driver
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
		Handle: in, driver: d, machine: m, owner: n.Owner, stop: cancel, stopped: make(chan struct{}),
		place: sandbox.Place{Driver: d.provider.Traits().Name, ID: n.ID, HourlyUSD: n.HourlyUSD},
	}
	go func() {
		defer close(h.stopped)
		if every := d.provider.Interval(n); every > 0 {
			h.keepAlive(ctx, n, every)
		}
	}()
	d.remember(h)
	return h
}

// keepAlive tells the service now and then that the sandbox is wanted.
func (h *handle) keepAlive(ctx context.Context, n Note, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := h.driver.provider.KeepAlive(ctx, n, h.Handle)
		if errors.Is(err, sandbox.ErrGone) || ctx.Err() != nil {
			return
		}
		if err != nil {
			h.driver.log.Warn().Err(err).Str(logkey.SandboxID, h.Name()).Msg("sandbox not kept alive")
		}
	}
}

// Place tells the service's own id, and the cost.
func (h *handle) Place() sandbox.Place { return h.place }

// hold locks the sandbox's name and reads its note; sandbox.ErrGone unless this
// handle still owns it.
func (h *handle) hold(ctx context.Context) (n Note, release func(), err error) {
	release, err = h.driver.journal.lock(ctx, h.Name())
	if err != nil {
		return Note{}, nil, err
	}
	n, own, err := h.driver.journal.owned(h.Name(), h.owner)
	if err == nil && (!own || h.done) {
		err = sandbox.ErrGone
	}
	if err != nil {
		release()
		return n, nil, err
	}
	return n, release, nil
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
	n, release, err := h.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	n.Allow = allow
	if err := h.driver.journal.Write(n); err != nil {
		return err
	}
	return h.driver.provider.Restrict(ctx, n)
}

// Close ends what runs and deletes the sandbox, unless another handle owns it by
// now. After an error its note says that nobody wants it, and Sweep deletes it.
func (h *handle) Close(ctx context.Context) error {
	failpoint.Hit("sandbox", "close", "before")
	defer failpoint.Hit("sandbox", "close", "after")
	h.End(nil)
	ctx, cancel := h.driver.cleaning(ctx)
	defer cancel()
	n, release, err := h.hold(ctx)
	if errors.Is(err, sandbox.ErrGone) {
		return nil
	}
	if err == nil {
		defer release()
		err = h.driver.erase(ctx, n)
	}
	if err != nil {
		return fmt.Errorf("close sandbox %s: %w", h.Name(), err)
	}
	h.driver.forget(h, nil)
	return nil
}
