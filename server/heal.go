package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

const (
	// overlap is how far each look at the delivery log goes back behind the one before:
	// lines can appear late, and clocks differ.
	overlap = 15 * time.Minute
	// maxReads is how many payloads one look reads; the next goes on from there.
	maxReads = 300
	// maxSeen bounds what is remembered of deliveries that ask for nothing.
	maxSeen = 20_000
)

// healer repairs what was missed: deliveries that never arrived, comments of ours that
// somebody deleted, labels nobody heard of, branches left behind. Nothing waits for it,
// and what it cannot do now it tries again at its next turn.
type healer struct {
	cfg    ghapp.HealConfig
	settle time.Duration // how long GitHub may not show what was just written
	app    *ghapp.App
	store  *bolt.Store
	writer *ghapp.Writer
	// events are the handlers of webhooks, with somebody else in the store's place.
	events func(handlers.Accepter) []githubapp.EventHandler
	labels map[string]string // trigger label: profile
	branch string            // the template of solves' branches

	// seen are deliveries that were read and need not be read again, by when they were sent.
	seen map[string]time.Time

	mu      sync.Mutex
	walking bool
	walk    time.Time // when the next walk is due
}

// run heals at once and at each tick until ctx ends, and waits for the walk under way.
func (h *healer) run(ctx context.Context) error {
	if h.cfg.Every == 0 {
		return nil
	}
	var walks sync.WaitGroup
	defer walks.Wait()
	ticker := time.NewTicker(h.cfg.Every)
	defer ticker.Stop()
	for {
		looked, err := h.deliveries(ctx)
		complain(ctx, err, "missed deliveries not all looked for")
		complain(ctx, h.comments(ctx), "progress comments not all looked for")
		if looked && h.startWalk() { // what the log still shows is not for the walk to find
			walks.Go(func() { h.endWalk(h.patrol(ctx), ctx) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// complain logs one warning for a turn that failed.
func complain(ctx context.Context, err error, message string) {
	if err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Warn().Str("err", ghapp.Redact(err.Error())).Msg(message)
	}
}

// deliveries looks through GitHub's log for what the store does not know, and hands it
// in as if it had just arrived. Only GUIDs count: what the log says of an attempt's
// success is not asked, for a store may have come back from a backup. looked says that the
// log was read, whether or not all of it could be taken.
func (h *healer) deliveries(ctx context.Context) (looked bool, err error) {
	began := time.Now()
	last, err := h.store.Healed(ctx)
	if err != nil {
		return false, err
	}
	since := began.Add(-h.cfg.Window)
	if last.After(began.Add(slack)) { // this machine's clock was wrong: the note means nothing
		last = time.Time{}
	}
	if from := last.Add(-overlap); from.After(since) {
		since = from
	}
	log, err := h.app.Deliveries(ctx, since, handlers.Wanted)
	if err != nil {
		return false, err
	}
	missed, err := h.missed(ctx, log)
	if err != nil {
		return false, err
	}
	until, err := h.injectAll(ctx, missed, began)
	h.forget(since)
	if until.After(last) {
		err = errors.Join(err, h.store.SetHealed(ctx, until))
	}
	return true, err
}

// injectAll takes what was missed, and says until when the log is done with. What cannot
// be taken now stands in nobody's way: its installation may be suspended for days.
func (h *healer) injectAll(ctx context.Context, missed []ghapp.Logged, until time.Time) (time.Time, error) {
	if len(missed) > maxReads {
		missed = missed[:maxReads]
		until = missed[maxReads-1].At
	}
	var failed []error
	for _, d := range missed {
		payload, err := h.app.Payload(ctx, d.ID)
		if err == nil {
			err = h.inject(ctx, d, payload)
		}
		if err == nil || errors.Is(err, solve.ErrNotFound) { // not found: too old by now
			h.seen[d.GUID] = d.At
			continue
		}
		if d.At.Before(until) {
			until = d.At
		}
		failed = append(failed, fmt.Errorf("take delivery %s: %w", d.GUID, err))
		if payload == nil || ctx.Err() != nil {
			break // nor can the others be read
		}
	}
	return until, errors.Join(failed...)
}

// missed are the deliveries that neither the store nor the memory knows.
func (h *healer) missed(ctx context.Context, log []ghapp.Logged) ([]ghapp.Logged, error) {
	var guids []string
	for _, d := range log {
		if _, known := h.seen[d.GUID]; !known && handlers.ValidGUID(d.GUID) {
			guids = append(guids, d.GUID)
		}
	}
	unknown, err := h.store.UnknownDeliveries(ctx, guids)
	if err != nil {
		return nil, err
	}
	fresh := map[string]bool{}
	for _, guid := range unknown {
		fresh[guid] = true
	}
	var out []ghapp.Logged
	for _, d := range log {
		if fresh[d.GUID] {
			out = append(out, d)
		}
	}
	return out, nil
}

// forget drops what no later look can find in the log.
func (h *healer) forget(since time.Time) {
	for guid, at := range h.seen {
		if at.Before(since) || len(h.seen) > maxSeen {
			delete(h.seen, guid)
		}
	}
}

// inject gives a delivery to the handlers. One that they refuse is not asked for again:
// its payload will not change.
func (h *healer) inject(ctx context.Context, d ghapp.Logged, payload []byte) error {
	err := handlers.Deliver(ctx, h.events(late{h, d}), d.Event, d.GUID, payload)
	if !errors.Is(err, handlers.ErrPanic) && !errors.Is(err, handlers.ErrPayload) {
		return err
	}
	level := zerolog.WarnLevel
	if errors.Is(err, handlers.ErrPanic) {
		level = zerolog.ErrorLevel
	}
	zerolog.Ctx(ctx).WithLevel(level).Str("delivery_id", d.GUID).Str("event", d.Event+"."+d.Action).Err(err).Msg("missed delivery refused")
	return nil
}

// comments has the progress comments of live solves written anew that are not there any
// more, and whose deletion nobody told.
func (h *healer) comments(ctx context.Context) error {
	live, err := h.store.LiveSolves(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range live {
		key := string(s.ID) + "/" + string(solve.EffectNotice)
		e, err := h.store.Effect(ctx, key)
		if err != nil || e.State != solve.EffectApplied || e.Receipt.ID == 0 || time.Since(e.Done) < h.settle {
			continue // to be written, or written a moment ago
		}
		gone, err := h.app.CommentGone(ctx, s.Repo, e.Receipt.ID)
		if err == nil && gone {
			zerolog.Ctx(ctx).Info().Str("solve_id", string(s.ID)).Str("repo", s.Repo.String()).Msg("progress comment is gone, writing it anew")
			err = h.store.RenewEffect(ctx, key, time.Now())
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
