package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/solve"
)

// staleFilter stands in the store's place for a delivery that arrives hours or days after its
// event. What it asks for is looked at again before it is stored: things may have moved on.
type staleFilter struct {
	r *Reconciler
	d ghapp.Logged
}

// slack allows for clocks that differ from GitHub's.
const slack = time.Minute

// Accept implements [handlers.Accepter]. What has become pointless is stored without
// its wish, so that it is known from then on.
func (f staleFilter) Accept(ctx context.Context, d solve.Delivery, w solve.Wish) (bool, error) {
	why, err := f.pointless(ctx, w)
	if err != nil {
		return false, err
	}
	log := zerolog.Ctx(ctx).Info().Str("delivery_id", d.GUID).Str("event", d.Event+"."+d.Action)
	if why != "" {
		log.Str("err", why).Msg("missed delivery asks for nothing any more")
		_, err := f.r.Store.Accept(ctx, d, solve.Wish{})
		return false, err
	}
	log.Msg("missed delivery found")
	return f.r.Store.Accept(ctx, d, w)
}

// pointless says why a wish that comes late is none any more; "" if it still is one.
func (f staleFilter) pointless(ctx context.Context, w solve.Wish) (string, error) {
	switch {
	case w.Solve != nil && w.Solve.Trigger.Kind == solve.TriggerLabel:
		if why, err := f.unlabelled(ctx, *w.Solve); why != "" || err != nil {
			return why, err
		}
		return f.answered(ctx, w.Solve.Repo, w.Solve.Issue.Number)
	case w.Solve != nil:
		return f.answered(ctx, w.Solve.Repo, w.Solve.Issue.Number)
	case w.Ask == nil || w.Ask.Kind == solve.AskRenew:
		return "", nil
	case w.Ask.Kind == solve.AskStop:
		return f.undone(ctx, w.Ask)
	case w.Ask.Kind == solve.AskCancel:
		if why, err := f.outlived(ctx, *w.Ask); why != "" || err != nil {
			return why, err
		}
	}
	return f.answered(ctx, w.Ask.Repo, w.Ask.Issue)
}

// unlabelled: an issue that was closed since, or lost the label, wants no solve.
func (f staleFilter) unlabelled(ctx context.Context, s solve.Solve) (string, error) {
	now, err := f.r.App.Issue(ctx, s.Repo, s.Issue.Number)
	switch {
	case errors.Is(err, solve.ErrNotFound):
		return "the issue is gone", nil
	case err != nil:
		return "", err
	case !now.Open:
		return "the issue was closed", nil
	case !slices.ContainsFunc(now.Labels, func(name string) bool { return strings.EqualFold(name, s.Trigger.Label) }):
		return "the label was taken off", nil
	}
	return "", nil
}

// undone: an installation that works again, or has the repository again, has nothing to
// stop. Whether an issue is closed is looked at by who stops its solve.
func (f staleFilter) undone(ctx context.Context, a *solve.Ask) (string, error) {
	switch {
	case a.Stop == solve.StopSuspended:
		suspended, err := f.r.App.Suspended(ctx, a.Repo.Installation)
		if err != nil || suspended {
			return "", err
		}
		return "the installation is not suspended any more", nil
	case a.Stop == solve.StopUninstalled && len(a.Repos) > 0:
		return f.reinstalled(ctx, a)
	}
	return "", nil
}

// reinstalled leaves the repositories out that the installation has again.
func (f staleFilter) reinstalled(ctx context.Context, a *solve.Ask) (string, error) {
	now, err := f.r.App.Repos(ctx, a.Repo.Installation)
	if errors.Is(err, solve.ErrNotFound) {
		return "", nil // the installation itself is gone
	}
	if err != nil {
		return "", err
	}
	a.Repos = slices.DeleteFunc(a.Repos, func(id int64) bool {
		return slices.ContainsFunc(now, func(r solve.Repo) bool { return r.ID == id })
	})
	if len(a.Repos) == 0 {
		return "the repository is in the installation again", nil
	}
	return "", nil
}

// outlived: a cancel is about the solve of its time, not about one that was asked for later.
func (f staleFilter) outlived(ctx context.Context, a solve.Ask) (string, error) {
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
		began = sent // it came late, too
	}
	if began.After(f.d.At) {
		return "the solve that it is about is over", nil
	}
	return "", nil
}

// answered: a delivery that was acknowledged and is not known here went to a store that
// is lost, or newer than the backup this one was. Where people got their answer, nothing
// is done a second time.
func (f staleFilter) answered(ctx context.Context, repo solve.Repo, issue int) (string, error) {
	if !f.d.Acknowledged || issue == 0 { // a button names its solve, which a lost store does not know
		return "", nil
	}
	done, err := f.r.App.Answered(ctx, repo, issue, f.d.At.Add(-slack))
	if err != nil || !done {
		return "", err
	}
	return "it was answered by an earlier process whose store this is not", nil
}
