package ghapp

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// renewOldest asks, for each installation that writes nothing now, for a newer version of the one text that was written longest
// ago, if it tells of work at hand and is older than write.progress_every. One at a time: a change of state never waits behind many.
func (w *Writer) renewOldest(ctx context.Context) error {
	live, err := w.store.LiveSolves(ctx)
	now, oldest := w.app.now(), map[int64]solve.Effect{}
	for _, s := range live {
		if s.State != solve.StatePreparing && s.State != solve.StateRunning || !w.idle(s.Repo.Installation, now) {
			continue
		}
		texts, failed := w.ageing(ctx, s.ID)
		err = errors.Join(err, failed)
		for _, e := range texts {
			if other, ok := oldest[s.Repo.Installation]; !w.tooSoon(e, now) && (!ok || e.Done.Before(other.Done)) {
				oldest[s.Repo.Installation] = e
			}
		}
	}
	for _, e := range oldest {
		err = errors.Join(err, w.store.RenewEffect(ctx, e.Key))
	}
	return err
}

// idle says whether an installation writes nothing now and has room for what nobody waits for: else renewals, which never end, would
// leave a change of state to wait for its turn, and a result's reserve half empty.
func (w *Writer) idle(installation int64, now time.Time) bool {
	q := w.queue(installation)
	if now.Before(w.app.PausedUntil(installation)) || q.limiter.earliest(now, classDenied).After(now) || !q.writing.TryLock() {
		return false
	}
	q.writing.Unlock()
	return true
}

// ageing are the written texts of a solve at work that say how long it takes and what was done last.
func (w *Writer) ageing(ctx context.Context, id solve.ID) ([]solve.Effect, error) {
	all, err := w.store.SolveEffects(ctx, id)
	runs, failed := w.store.Runs(ctx, id)
	return slices.DeleteFunc(all, func(e solve.Effect) bool {
		works := func(r solve.Run) bool { return r.N == e.Run && r.State.Active() }
		return !e.Kind.Level() || e.State != solve.EffectApplied || e.Kind == solve.EffectRun && !slices.ContainsFunc(runs, works)
	}), errors.Join(err, failed)
}
