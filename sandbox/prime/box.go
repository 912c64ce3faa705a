package prime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
)

// box is one sandbox: what is common to all providers, on a machine of Prime.
type box struct {
	*inside.Box

	driver  *Driver
	machine *machine
	owner   string
	hourly  float64
	done    bool // closed or frozen; read and written while the name is locked

	stop context.CancelFunc // of what keeps it in use
	used chan struct{}      // closed when that has ended
}

func newBox(d *Driver, in *inside.Box, m *machine, n note) *box {
	b := &box{Box: in, driver: d, machine: m, owner: n.Owner, hourly: n.HourlyUSD, used: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	go func() {
		defer close(b.used)
		if idle := d.config.IdleTime; n.Launch && idle > 0 {
			b.keepUsed(ctx, min(idle/3, d.control.pace.use))
		}
	}()
	return b
}

// keepUsed uses the sandbox now and then, as long as this handle has it: the service
// counts a command as use, and not a program that runs by itself.
func (b *box) keepUsed(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := b.Launched(ctx)
		if errors.Is(err, sandbox.ErrGone) || ctx.Err() != nil {
			return
		}
		if err != nil {
			b.driver.log.Warn().Err(err).Str(logkey.SandboxID, b.Name()).Msg("sandbox not kept in use")
		}
	}
}

// Place tells the service's own id, and the cost.
func (b *box) Place() sandbox.Place {
	return sandbox.Place{Driver: driverName, ID: b.machine.id, HourlyUSD: b.hourly}
}

// Restrict changes what the sandbox may reach, and returns when that holds. The
// wish is noted first: whoever attaches after a crash makes it hold.
func (b *box) Restrict(ctx context.Context, to sandbox.Network) error {
	if err := b.restrict(ctx, to); err != nil {
		return fmt.Errorf("restrict sandbox %s: %w", b.Name(), err)
	}
	return nil
}

func (b *box) restrict(ctx context.Context, to sandbox.Network) error {
	allow, err := hosts(to)
	if err != nil {
		return err
	}
	release, err := b.driver.lock(ctx, b.Name())
	if err != nil {
		return err
	}
	defer release()
	n, own, err := b.driver.owned(b.Name(), b.owner)
	switch {
	case err != nil:
		return err
	case !own || b.done:
		return sandbox.ErrGone
	}
	n.Allow = allow
	if err := b.driver.write(n); err != nil {
		return err
	}
	return b.driver.restrict(ctx, n.ID, allow)
}

// Close ends what runs and deletes the sandbox, unless another handle owns it by now.
func (b *box) Close(ctx context.Context) error {
	failpoint.Hit("sandbox", "close", "before")
	defer failpoint.Hit("sandbox", "close", "after")
	b.End(nil)
	ctx, cancel := b.driver.cleaning(ctx)
	defer cancel()
	release, err := b.driver.lock(ctx, b.Name())
	if err != nil {
		return fmt.Errorf("close sandbox %s: %w", b.Name(), err)
	}
	defer release()
	if b.done {
		return nil
	}
	n, own, err := b.driver.owned(b.Name(), b.owner)
	if err == nil && own && n.Stage != stageFrozen {
		err = b.driver.erase(ctx, n)
	}
	if err != nil {
		return fmt.Errorf("close sandbox %s: %w", b.Name(), err)
	}
	b.done = true
	b.driver.forget(b)
	return nil
}
