package ghapp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// nextEffect returns the first effect, by priority and age, that can be written now.
func (w *Writer) nextEffect(ctx context.Context, q *installationQueue, due []solve.Effect) (solve.Effect, bool) {
	now := w.app.now()
	if now.Before(w.app.PausedUntil(q.installation)) {
		return solve.Effect{}, false
	}
	slices.SortStableFunc(due, func(a, b solve.Effect) int { return a.Priority - b.Priority })
	for _, e := range due {
		ready, err := w.writable(ctx, e, now)
		if err != nil {
			if ctx.Err() == nil {
				w.log(ctx, e).Error().Str(logkey.Error, Redact(err.Error())).Msg("effect cannot be prepared")
			}
			continue
		}
		if ready {
			return e, true
		}
	}
	return solve.Effect{}, false
}

func classOf(e solve.Effect) class {
	switch {
	case e.Priority >= solve.PriorityDenied:
		return classDenied
	case isReaction(e):
		return classReaction
	case e.Priority >= solve.Priority(solve.EffectNotice):
		return classProgress
	default:
		return classResult
	}
}

// writable says whether a due effect can be written: lists show what an earlier call
// made, its permission is granted, its update interval is over, and the commit that
// it belongs to exists.
func (w *Writer) writable(ctx context.Context, e solve.Effect, now time.Time) (bool, error) {
	if now.Before(w.visibleAt(e)) || w.waitsForPermission(e.Key, e.Repo.Installation, now) {
		return false, nil
	}
	if e.Solve == "" {
		return true, nil
	}
	if needsReservation(e.Kind) {
		reserved, err := w.store.Effect(ctx, reservationKey(e.Solve))
		if errors.Is(err, solve.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read the branch reservation: %w", err)
		}
		if reserved.Receipt.SHA == "" && reserved.State != solve.EffectDead {
			return false, nil
		}
	}
	if e.Kind == solve.EffectRelease {
		return w.branchUnused(ctx, e.Solve)
	}
	soon := w.tooSoon(e, now)
	if !soon && e.Kind != solve.EffectClaim {
		return true, nil
	}
	view, err := w.view(ctx, e)
	if errors.Is(err, solve.ErrNotFound) {
		return true, nil // the write gives it up
	}
	if err != nil {
		return false, err
	}
	if soon {
		return finished(view, e), nil
	}
	return view.Solve.State.Final() || view.Solve.Base.SHA != "" && view.Solve.Branch != "", nil
}

// visibleAt is when GitHub's lists show what an earlier call of the effect made, if
// it made something; the past if there was no such call. A process that stood
// still may have made its call long after it announced it, but not after the
// next process began.
func (w *Writer) visibleAt(e solve.Effect) time.Time {
	if e.SentAt.IsZero() || failpoint.Mutated(failpoint.NoSettle) {
		return time.Time{}
	}
	return later(e.SentAt, w.began).Add(w.cfg.ListLag)
}

func needsReservation(k solve.EffectKind) bool {
	return k == solve.EffectCheck || k == solve.EffectRun || k == solve.EffectPull
}

// reservationKey is the key of the effect whose receipt names the commit that carries
// the check runs.
func reservationKey(id solve.ID) string { return string(id) + "/" + string(solve.EffectClaim) }
