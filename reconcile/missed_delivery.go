package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// overlap is how far each look at the delivery log goes back beyond the previous one:
	// entries can appear late, and clocks differ.
	overlap = 15 * time.Minute
	// maxReads is how many payloads one look reads; the next look goes on from there.
	maxReads = 300
	// maxSeen bounds how many deliveries that ask for nothing are remembered.
	maxSeen = 20_000
)

// missedDeliveries delivers what GitHub's log has and the store does not know. Only GUIDs
// count, not whether the log calls an attempt successful: the store may have been restored
// from a backup. looked says that the log was read, even if not all of it could be delivered.
func (r *Reconciler) missedDeliveries(ctx context.Context) (looked bool, err error) {
	began := time.Now()
	last, err := r.Store.Healed(ctx)
	if err != nil {
		return false, err
	}
	since := began.Add(-r.Config.Window)
	if last.After(began.Add(slack)) { // this machine's clock was wrong then
		last = time.Time{}
	}
	if from := last.Add(-overlap); from.After(since) {
		since = from
	}
	log, err := r.App.Deliveries(ctx, since, handlers.Wanted)
	if err != nil {
		return false, err
	}
	missed, err := r.unknown(ctx, log)
	if err != nil {
		return false, err
	}
	until, err := r.deliverAll(ctx, missed, began)
	r.forget(since)
	if until.After(last) {
		err = errors.Join(err, r.Store.SetHealed(ctx, until))
	}
	return true, err
}

// deliverAll delivers what was missed and returns until when the log is finished. A delivery
// that fails does not hold up the others: its installation may be suspended for days.
func (r *Reconciler) deliverAll(ctx context.Context, missed []ghapp.LoggedDelivery, until time.Time) (time.Time, error) {
	if len(missed) > maxReads {
		missed = missed[:maxReads]
		until = missed[maxReads-1].At
	}
	var failed []error
	for _, d := range missed {
		payload, err := r.App.Payload(ctx, d.ID)
		if err == nil {
			err = r.deliver(ctx, d, payload)
		}
		if err == nil || errors.Is(err, solve.ErrNotFound) { // not found: too old by now
			r.seen[d.GUID] = d.At
			continue
		}
		if d.At.Before(until) {
			until = d.At
		}
		failed = append(failed, fmt.Errorf("take delivery %s: %w", d.GUID, err))
		if payload == nil || ctx.Err() != nil {
			break // the others cannot be read either
		}
	}
	return until, errors.Join(failed...)
}

// unknown returns the deliveries that neither the store nor this process has seen.
func (r *Reconciler) unknown(ctx context.Context, log []ghapp.LoggedDelivery) ([]ghapp.LoggedDelivery, error) {
	guids := make([]string, len(log))
	for i, d := range log {
		guids[i] = handlers.DeliveryID(d.GUID)
		log[i].GUID = guids[i]
	}
	unknown, err := r.Store.UnknownDeliveries(ctx, guids)
	if err != nil {
		return nil, err
	}
	fresh := map[string]bool{}
	for _, guid := range unknown {
		fresh[guid] = true
	}
	var out []ghapp.LoggedDelivery
	for _, d := range log {
		if _, seen := r.seen[d.GUID]; !fresh[d.GUID] {
			delete(r.seen, d.GUID) // it is the store's to remember: after a failover it may not
		} else if !seen {
			out = append(out, d)
		}
	}
	return out, nil
}

// forget drops what no later look finds in the log.
func (r *Reconciler) forget(since time.Time) {
	for guid, at := range r.seen {
		if at.Before(since) || len(r.seen) > maxSeen {
			delete(r.seen, guid)
		}
	}
}

// deliver gives a delivery to the handlers. If they refuse it, it is not read again: its
// payload will not change.
func (r *Reconciler) deliver(ctx context.Context, d ghapp.LoggedDelivery, payload []byte) error {
	err := handlers.Deliver(ctx, r.Handlers(staleFilter{r, d}), d.Event, d.GUID, payload)
	if !errors.Is(err, handlers.ErrPanic) && !errors.Is(err, handlers.ErrPayload) {
		return err
	}
	level := zerolog.WarnLevel
	if errors.Is(err, handlers.ErrPanic) {
		level = zerolog.ErrorLevel
	}
	zerolog.Ctx(ctx).WithLevel(level).Str(logkey.DeliveryID, d.GUID).Str(logkey.Event, d.Event+"."+d.Action).Err(err).
		Msg("missed delivery refused")
	return nil
}
