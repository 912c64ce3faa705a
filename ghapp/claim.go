package ghapp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/yudai-dev/yudai/solve"
)

// claim makes the solve's branch on an empty commit. GitHub keeps one branch per
// name, so a second try, or a second writer, adopts what is there.
func (a *attempt) claim(ctx context.Context) (solve.Receipt, error) {
	s := a.view.Solve
	over := s.State.Final() && s.State != solve.StateSolved
	never := dead("the solve ended before its branch was made")
	if s.Base.SHA == "" || s.Branch == "" || over && !a.unknown {
		return solve.Receipt{}, never
	}
	if s.Target() != nil {
		return a.claimTarget(ctx)
	}
	r, err := a.adopt(ctx)
	if statusOf(err) != http.StatusNotFound {
		return r, err
	}
	if over {
		return solve.Receipt{}, never
	}
	base, err := a.commitOf(ctx, s.Base.SHA)
	if err != nil {
		return solve.Receipt{}, err
	}
	message := fmt.Sprintf("%s%d\n\n%s%s", claimSubject, s.Issue.Number, trailer, s.ID)
	sha, err := a.newCommit(ctx, message, base.GetTree().GetSHA(), s.Base.SHA)
	if err != nil {
		return solve.Receipt{}, err
	}
	err = a.newBranch(ctx, sha)
	if statusOf(err) == http.StatusUnprocessableEntity && says(err, "already exists") {
		return a.adopt(ctx)
	}
	return solve.Receipt{SHA: sha}, a.explain(ctx, err)
}

// adopt takes over the solve's branch if it is there and ours. If the champion
// is on it already, that commit carries the checks.
func (a *attempt) adopt(ctx context.Context) (solve.Receipt, error) {
	sha, err := a.branchHead(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	head, err := a.commitOf(ctx, sha)
	if err != nil {
		return solve.Receipt{}, err
	}
	if !hasTrailer(head.GetMessage(), a.view.Solve.ID) {
		return solve.Receipt{}, dead("branch exists: %s belongs to somebody else", a.view.Solve.Branch)
	}
	return solve.Receipt{SHA: sha}, nil
}

// claimTarget makes nothing: the branch is an open pull request's, and the commit
// that the solve starts from carries its checks, as long as nobody moved on.
func (a *attempt) claimTarget(ctx context.Context) (solve.Receipt, error) {
	s := a.view.Solve
	claimed := solve.Receipt{SHA: s.Target().Commit}
	sha, err := a.branchHead(ctx)
	switch {
	case statusOf(err) == http.StatusNotFound && a.fail() >= maxEarly:
		return solve.Receipt{}, dead("branch %s is gone; nothing was changed", s.Branch)
	case err != nil:
		return solve.Receipt{}, err
	case sha == claimed.SHA:
		return claimed, nil
	}
	head, err := a.commitOf(ctx, sha)
	if err != nil {
		return solve.Receipt{}, err
	}
	if !isChampion(head, s.ID) {
		return solve.Receipt{}, dead("branch %s was moved by somebody else since; nothing was changed", s.Branch)
	}
	return claimed, nil // of a store that was restored
}
