package ghapp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/yudai-dev/yudai/solve"
)

// reserveBranch makes the solve's branch at an empty commit, before any work. GitHub
// keeps one branch per name, so a second try, or a second writer, adopts it.
func (t *writeTry) reserveBranch(ctx context.Context) (solve.Receipt, error) {
	s := t.view.Solve
	over := s.State.Final() && s.State != solve.StateSolved
	never := permanent("the solve ended before its branch was made")
	if s.Base.SHA == "" || s.Branch == "" || over && !t.unknown {
		return solve.Receipt{}, never
	}
	if s.Target() != nil {
		return t.reserveOpenPull(ctx)
	}
	r, err := t.adoptBranch(ctx)
	if statusOf(err) != http.StatusNotFound {
		return r, err
	}
	if over {
		return solve.Receipt{}, never
	}
	base, err := t.commitOf(ctx, s.Base.SHA)
	if err != nil {
		return solve.Receipt{}, err
	}
	message := fmt.Sprintf("%s%d\n\n%s%s", reservationSubject, s.Issue.Number, trailer, s.ID)
	sha, err := t.newCommit(ctx, message, base.GetTree().GetSHA(), s.Base.SHA)
	if err != nil {
		return solve.Receipt{}, err
	}
	err = t.newBranch(ctx, sha)
	if statusOf(err) == http.StatusUnprocessableEntity && mentions(err, "already exists") {
		return t.adoptBranch(ctx)
	}
	return solve.Receipt{SHA: sha}, t.explainRefusal(ctx, err)
}

// adoptBranch takes over the solve's branch if it is there and ours. If the champion
// is on it already, that commit carries the checks.
func (t *writeTry) adoptBranch(ctx context.Context) (solve.Receipt, error) {
	sha, err := t.branchHead(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	head, err := t.commitOf(ctx, sha)
	if err != nil {
		return solve.Receipt{}, err
	}
	if !hasTrailer(head.GetMessage(), t.view.Solve.ID) {
		return solve.Receipt{}, permanent("branch exists: %s belongs to somebody else", t.view.Solve.Branch)
	}
	return solve.Receipt{SHA: sha}, nil
}

// reserveOpenPull makes nothing: the branch belongs to an open pull request. The commit
// that the solve starts from carries its checks, unless somebody moved the branch.
func (t *writeTry) reserveOpenPull(ctx context.Context) (solve.Receipt, error) {
	s := t.view.Solve
	claimed := solve.Receipt{SHA: s.Target().Commit}
	sha, err := t.branchHead(ctx)
	switch {
	case statusOf(err) == http.StatusNotFound && t.countFailure() >= maxNotVisible:
		return solve.Receipt{}, permanent("branch %s is gone; nothing was changed", s.Branch)
	case err != nil:
		return solve.Receipt{}, err
	case sha == claimed.SHA:
		return claimed, nil
	}
	head, err := t.commitOf(ctx, sha)
	if err != nil {
		return solve.Receipt{}, err
	}
	if !isChampion(head, s.ID) {
		return solve.Receipt{}, permanent("branch %s was moved by somebody else since; nothing was changed", s.Branch)
	}
	return claimed, nil // of a store that was restored
}
