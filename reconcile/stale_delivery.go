package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// staleFilter takes the store's place for a delivery that arrives hours or days after its
// event. It checks whether what the delivery asks for still makes sense, and stores it.
type staleFilter struct {
	r *Reconciler
	d ghapp.LoggedDelivery
}

// slack allows for clocks that differ from GitHub's.
const slack = time.Minute

// Accept implements [handlers.Accepter]. A stale delivery is stored without its intent, so
// that it is known from then on.
func (f staleFilter) Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (bool, error) {
	why, err := f.stale(ctx, w)
	if err != nil {
		return false, err
	}
	log := zerolog.Ctx(ctx).Info().Str(logkey.DeliveryID, d.GUID).Str(logkey.Event, d.Event+"."+d.Action)
	if why != "" {
		log.Str(logkey.Reason, why).Msg("missed delivery is stale")
		_, err := f.r.Store.Accept(ctx, d, solve.Intent{})
		return false, err
	}
	log.Msg("missed delivery found")
	return f.r.Store.Accept(ctx, d, w)
}

// stale says why an intent is out of date; "" if it is not.
func (f staleFilter) stale(ctx context.Context, w solve.Intent) (string, error) {
	switch {
	case w.Solve != nil && (w.Solve.Trigger.Kind == solve.TriggerLabel || w.Solve.Trigger.Kind == solve.TriggerAssigned):
		if why, err := f.noLongerAsked(ctx, *w.Solve); why != "" || err != nil {
			return why, err
		}
		return f.answeredBefore(ctx, w.Solve.Repo, w.Solve.Issue.Number)
	case w.Solve != nil:
		return f.answeredBefore(ctx, w.Solve.Repo, w.Solve.Issue.Number)
	case w.Command == nil || w.Command.Kind.Event(): // what a stop tells is looked at where it stops a solve
		return "", nil
	case w.Command.Kind == solve.CommandCancel:
		if why, err := f.solveIsNewer(ctx, *w.Command); why != "" || err != nil {
			return why, err
		}
	}
	return f.answeredBefore(ctx, w.Command.Repo, w.Command.Issue)
}

// noLongerAsked says why the issue needs no solve any more: it was closed, or lost the label or the assignment.
func (f staleFilter) noLongerAsked(ctx context.Context, s solve.Solve) (string, error) {
	now, err := f.r.App.Issue(ctx, s.Repo, s.Issue.Number)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return "the issue is gone", nil
	case err != nil:
		return "", err
	case !now.Open:
		return "the issue was closed", nil
	case now.Withdrawn(s.Trigger):
		return "the label was taken off, or the assignment back", nil
	}
	return "", nil
}

// solveIsNewer says whether a cancel is older than the present solve, which it does not mean.
func (f staleFilter) solveIsNewer(ctx context.Context, a solve.Command) (string, error) {
	if a.Solve != "" {
		return "", nil
	}
	s, err := f.r.Store.LatestSolve(ctx, a.Repo.ID, a.Issue)
	if errors.Is(err, solve.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	began := s.Created.Add(-slack)
	if sent, ours := f.r.seen[s.Trigger.Delivery]; ours {
		began = sent // its own delivery was late, too
	}
	if began.After(f.d.At) {
		return "the solve that it means is over", nil
	}
	return "", nil
}

// answeredBefore says whether an earlier process answered the delivery. A delivery that was
// acknowledged and is not known here went to a store that was lost, or is newer than the
// backup that this store comes from. Nothing is done a second time.
func (f staleFilter) answeredBefore(ctx context.Context, repo solve.Repo, issue int) (string, error) {
	if !f.d.Acknowledged || issue == 0 { // a button names its solve, which a lost store does not know
		return "", nil
	}
	done, err := f.r.App.Answered(ctx, repo, issue, f.d.At.Add(-slack))
	if err != nil || !done {
		return "", err
	}
	return "an earlier process, which used another store, answered it", nil
}
