package e2b

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// box is one sandbox.
type box struct {
	*inside.Box
	driver *Driver
	place  sandbox.Place
	daemon *daemon
	stop   context.CancelFunc // of what keeps it alive
	ended  chan struct{}

	mu     sync.Mutex // of what makes it something else: Freeze, Close, Restrict
	record records.Record
	over   bool // closed, or frozen, or another's
}

// keepAlive asks for more time, again and again: without us the sandbox ends by itself.
func (b *box) keepAlive() {
	r := b.record
	ctx, cancel := context.WithCancel(context.Background())
	b.stop, b.ended = cancel, make(chan struct{})
	go func() {
		defer close(b.ended)
		tick := time.NewTicker(b.driver.config.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if !b.driver.extend(ctx, r) {
				return
			}
		}
	}()
}

// extend asks once, and reports whether there is a point in asking again.
func (d *Driver) extend(ctx context.Context, r records.Record) bool {
	if expired(r) {
		return false
	}
	err := d.control.renew(ctx, r.ID, d.config.life(r))
	if err == nil || ctx.Err() != nil {
		return true
	}
	d.log.Warn().Err(err).Str(logkey.SandboxID, r.Name).Msg("sandbox not extended")
	return status(err) != http.StatusNotFound && status(err) != http.StatusBadRequest // the plan's longest session is over
}

// lose ends this handle and leaves the sandbox.
func (b *box) lose() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.quit()
}

// quit ends what this handle does.
func (b *box) quit() {
	b.stop()
	<-b.ended
	b.End(nil)
	d := b.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[b.Name()] == b {
		delete(d.live, b.Name())
	}
}

// Close ends the sandbox at the service. If that fails nobody claims it any more,
// so that Sweep ends it, or its lease.
func (b *box) Close(ctx context.Context) error {
	failpoint.Hit("sandbox", "close", "before")
	defer failpoint.Hit("sandbox", "close", "after")
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil
	}
	b.quit()
	after, cancel := afterwards(ctx)
	defer cancel()
	failed := b.driver.control.remove(after, b.record.ID)
	if err := b.driver.book.Delete(b.record.Name); err != nil {
		return fmt.Errorf("close sandbox %s: %w", b.record.Name, err)
	}
	if failed != nil {
		return fmt.Errorf("close sandbox %s: %w", b.record.Name, b.driver.config.explain(failed))
	}
	b.over = true
	return nil
}

// Restrict replaces what the sandbox may reach.
func (b *box) Restrict(ctx context.Context, n sandbox.Network) error {
	if err := checkNetwork(n); err != nil {
		return fmt.Errorf("restrict sandbox %s: %w", b.Name(), err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return fmt.Errorf("restrict sandbox %s: it is closed: %w", b.Name(), sandbox.ErrGone)
	}
	want := rules(n)
	b.record = with(b.record, moreNetwork, unknown) // as long as we do not know that it holds
	if err := b.driver.book.Put(b.record); err != nil {
		return fmt.Errorf("restrict sandbox %s: %w", b.Name(), err)
	}
	if err := b.driver.control.restrict(ctx, b.record.ID, closed(want)); err != nil {
		switch status(err) {
		case http.StatusNotFound:
			return fmt.Errorf("restrict sandbox %s: %w: %w", b.Name(), sandbox.ErrGone, err)
		case http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return fmt.Errorf("restrict sandbox %s: %w: %w", b.Name(), errors.ErrUnsupported, err)
		}
		return fmt.Errorf("restrict sandbox %s: %w", b.Name(), b.driver.config.explain(err))
	}
	b.record = with(b.record, moreNetwork, want.key())
	if err := b.driver.book.Put(b.record); err != nil {
		return fmt.Errorf("restrict sandbox %s: %w", b.Name(), err)
	}
	return nil
}

// Place tells where the sandbox is and what it costs.
func (b *box) Place() sandbox.Place { return b.place }
