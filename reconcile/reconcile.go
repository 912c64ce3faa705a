// Package reconcile finds what webhooks did not tell, by comparing GitHub with the store.
package reconcile

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

// DeliveryStore knows which deliveries arrived.
type DeliveryStore interface {
	handlers.Accepter
	UnknownDeliveries(ctx context.Context, guids []string) ([]string, error)
	Healed(ctx context.Context) (time.Time, error)
	SetHealed(ctx context.Context, at time.Time) error
}

// SolveStore holds the solves.
type SolveStore interface {
	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	LatestSolve(ctx context.Context, repoID int64, issue int) (solve.Solve, error)
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	Create(ctx context.Context, s solve.Solve) (stored solve.Solve, created bool, err error)
}

// EffectStore holds what was written to GitHub.
type EffectStore interface {
	Effect(ctx context.Context, key string) (solve.Effect, error)
	RenewEffect(ctx context.Context, key string, at time.Time) error
}

// Store is what a [Reconciler] needs of the store.
type Store interface {
	DeliveryStore
	SolveStore
	EffectStore
}

// Reconciler recovers what was missed: deliveries that never arrived, progress comments
// that somebody deleted, labels without a solve, orphan branches. Nothing waits for it, and
// what it cannot do now it tries again at its next turn. All exported fields are required.
type Reconciler struct {
	Config ghapp.HealConfig
	Lag    time.Duration // how long GitHub may not show what was just written
	App    *ghapp.App
	Store  Store
	Writer *ghapp.Writer
	// Handlers are those of webhooks; what they ask for goes to the accepter.
	Handlers func(handlers.Accepter) []githubapp.EventHandler
	Labels   map[string]string // trigger label: profile
	Branch   string            // the template of solves' branches

	// seen are deliveries that were read and need not be read again, by when they were sent.
	seen map[string]time.Time

	mu      sync.Mutex
	walking bool
	walk    time.Time // when the next walk is due
}

// Run looks at once and at each tick until ctx ends, and waits for the scan under way.
func (r *Reconciler) Run(ctx context.Context) error {
	if r.Config.Every == 0 {
		return nil
	}
	r.seen = map[string]time.Time{}
	var walks sync.WaitGroup
	defer walks.Wait()
	ticker := time.NewTicker(r.Config.Every)
	defer ticker.Stop()
	for {
		looked, err := r.deliveries(ctx)
		complain(ctx, err, "missed deliveries not all looked for")
		complain(ctx, r.comments(ctx), "progress comments not all looked for")
		if looked && r.startWalk() { // what the log still shows is not for the walk to find
			walks.Go(func() { r.endWalk(r.patrol(ctx), ctx) })
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
func (r *Reconciler) deliveries(ctx context.Context) (looked bool, err error) {
	began := time.Now()
	last, err := r.Store.Healed(ctx)
	if err != nil {
		return false, err
	}
	since := began.Add(-r.Config.Window)
	if last.After(began.Add(slack)) { // this machine's clock was wrong: the note means nothing
		last = time.Time{}
	}
	if from := last.Add(-overlap); from.After(since) {
		since = from
	}
	log, err := r.App.Deliveries(ctx, since, handlers.Wanted)
	if err != nil {
		return false, err
	}
	missed, err := r.missed(ctx, log)
	if err != nil {
		return false, err
	}
	until, err := r.injectAll(ctx, missed, began)
	r.forget(since)
	if until.After(last) {
		err = errors.Join(err, r.Store.SetHealed(ctx, until))
	}
	return true, err
}

// injectAll takes what was missed, and says until when the log is done with. What cannot
// be taken now stands in nobody's way: its installation may be suspended for days.
func (r *Reconciler) injectAll(ctx context.Context, missed []ghapp.Logged, until time.Time) (time.Time, error) {
	if len(missed) > maxReads {
		missed = missed[:maxReads]
		until = missed[maxReads-1].At
	}
	var failed []error
	for _, d := range missed {
		payload, err := r.App.Payload(ctx, d.ID)
		if err == nil {
			err = r.inject(ctx, d, payload)
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
			break // nor can the others be read
		}
	}
	return until, errors.Join(failed...)
}

// missed are the deliveries that neither the store nor the memory knows.
func (r *Reconciler) missed(ctx context.Context, log []ghapp.Logged) ([]ghapp.Logged, error) {
	var guids []string
	for _, d := range log {
		if _, known := r.seen[d.GUID]; !known && handlers.ValidGUID(d.GUID) {
			guids = append(guids, d.GUID)
		}
	}
	unknown, err := r.Store.UnknownDeliveries(ctx, guids)
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
func (r *Reconciler) forget(since time.Time) {
	for guid, at := range r.seen {
		if at.Before(since) || len(r.seen) > maxSeen {
			delete(r.seen, guid)
		}
	}
}

// inject gives a delivery to the handlers. One that they refuse is not asked for again:
// its payload will not change.
func (r *Reconciler) inject(ctx context.Context, d ghapp.Logged, payload []byte) error {
	err := handlers.Deliver(ctx, r.Handlers(staleFilter{r, d}), d.Event, d.GUID, payload)
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
func (r *Reconciler) comments(ctx context.Context) error {
	live, err := r.Store.LiveSolves(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range live {
		key := string(s.ID) + "/" + string(solve.EffectNotice)
		e, err := r.Store.Effect(ctx, key)
		if err != nil || e.State != solve.EffectApplied || e.Receipt.ID == 0 || time.Since(e.Done) < r.Lag {
			continue // to be written, or written a moment ago
		}
		gone, err := r.App.CommentGone(ctx, s.Repo, e.Receipt.ID)
		if err == nil && gone {
			zerolog.Ctx(ctx).Info().Str("solve_id", string(s.ID)).Str("repo", s.Repo.String()).Msg("progress comment is gone, writing it anew")
			err = r.Store.RenewEffect(ctx, key, time.Now())
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
