package ghapp

import (
	"context"
	"net/http"

	"github.com/google/go-github/v66/github"
)

// champion brings the champion's commit onto the solve's own branch and returns
// it. The branch is only ever moved away from our own claim.
func (a *attempt) champion(ctx context.Context, claim string, pull *github.PullRequest) (string, error) {
	head, err := a.branchHead(ctx)
	missing := statusOf(err) == http.StatusNotFound
	switch {
	case missing && pull != nil:
		return pull.GetHead().GetSHA(), nil // merged or closed, and the branch deleted
	case err != nil && !missing:
		return "", err
	case err == nil && head != claim:
		return a.moved(ctx, head, pull)
	}
	if !missing {
		commit, err := a.commitOf(ctx, head)
		if err != nil || isChampion(commit, a.view.Solve.ID) {
			return head, err // the claim was adopted when the champion was on the branch already
		}
	}
	tree, err := a.championTree(ctx)
	if err != nil {
		return "", err
	}
	if !missing {
		return a.advance(ctx, claim, tree)
	}
	sha, err := a.newCommit(ctx, a.message(), tree, a.commit.BaseSHA)
	if err != nil {
		return "", err
	}
	err = a.newBranch(ctx, sha)
	if statusOf(err) == http.StatusUnprocessableEntity && says(err, "already exists") {
		return "", &againError{after: tick, reason: "the branch is there, but was not seen"}
	}
	return sha, a.explain(ctx, err)
}

// moved judges a branch that is no longer at the claim.
func (a *attempt) moved(ctx context.Context, head string, pull *github.PullRequest) (string, error) {
	if pull != nil {
		return head, nil // people may add to a pull request
	}
	commit, err := a.commitOf(ctx, head)
	if err != nil {
		return "", err
	}
	if !isChampion(commit, a.view.Solve.ID) {
		return "", a.movedAway()
	}
	return head, nil
}

// advance moves the branch to a commit of the tree on the champion's base. Where
// that replaces what is there and a rule forbids it, the commit goes on top.
func (a *attempt) advance(ctx context.Context, from, tree string) (string, error) {
	sha, err := a.newCommit(ctx, a.message(), tree, a.commit.BaseSHA)
	if err != nil {
		return "", err
	}
	replaces := a.commit.BaseSHA != from
	err = a.moveBranch(ctx, from, sha, replaces)
	if err == nil || !replaces || outcomeOf(err) != outcomeRefused {
		return sha, a.explain(ctx, err)
	}
	if sha, err = a.newCommit(ctx, a.message(), tree, from); err != nil {
		return "", err
	}
	return sha, a.explain(ctx, a.moveBranch(ctx, from, sha, false))
}

func (a *attempt) message() string { return withTrailer(a.commit.Message, a.view.Solve.ID) }
