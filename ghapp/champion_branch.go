package ghapp

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/go-github/v66/github"
)

// putChampion puts the champion's commit on the solve's own branch and returns it. It
// only moves the branch away from our own reservation.
func (t *writeTry) putChampion(ctx context.Context, reserved string, pull *github.PullRequest) (string, error) {
	head, err := t.branchHead(ctx)
	missing := statusOf(err) == http.StatusNotFound
	switch {
	case missing && pull != nil:
		return pull.GetHead().GetSHA(), nil // merged or closed, and the branch deleted
	case err != nil && !missing:
		return "", err
	case err == nil && head != reserved:
		return t.movedBranch(ctx, head, pull)
	}
	if !missing {
		commit, err := t.commitOf(ctx, head)
		if err != nil || isChampion(commit, t.view.Solve.ID) {
			return head, err // the reservation was adopted when the champion was on the branch already
		}
	}
	tree, err := t.championTree(ctx)
	if err != nil {
		return "", err
	}
	if !missing {
		return t.moveToTree(ctx, reserved, tree)
	}
	sha, err := t.championCommit(ctx, tree, t.commit.BaseSHA)
	if err != nil {
		return "", err
	}
	err = t.newBranch(ctx, sha)
	if statusOf(err) == http.StatusUnprocessableEntity && mentions(err, "already exists") {
		return "", &retryLaterError{after: tick, reason: "the branch is there, but was not seen"}
	}
	return sha, t.explainRefusal(ctx, err)
}

// movedBranch decides about a branch that is no longer at the reservation.
func (t *writeTry) movedBranch(ctx context.Context, head string, pull *github.PullRequest) (string, error) {
	if pull != nil {
		return head, nil // people may add to a pull request
	}
	commit, err := t.commitOf(ctx, head)
	if err != nil {
		return "", err
	}
	if !isChampion(commit, t.view.Solve.ID) {
		return "", t.branchTaken()
	}
	return head, nil
}

// moveToTree moves the branch to a commit of the tree on the champion's base. If a rule
// forbids to replace what is there, the commit goes on top.
func (t *writeTry) moveToTree(ctx context.Context, from, tree string) (string, error) {
	sha, err := t.championCommit(ctx, tree, t.commit.BaseSHA)
	if err != nil {
		return "", err
	}
	replaces := t.commit.BaseSHA != from
	err = t.moveBranch(ctx, from, sha, replaces)
	if err == nil || !replaces || outcomeOf(err) != outcomeRefused {
		return sha, t.explainRefusal(ctx, err)
	}
	if sha, err = t.championCommit(ctx, tree, from); err != nil {
		return "", err
	}
	return sha, t.explainRefusal(ctx, t.moveBranch(ctx, from, sha, false))
}

// championCommit makes the champion's commit, after that of a reproducer's tests if there is one.
// Only the champion's has the trailer: by it, a later try finds what is there.
func (t *writeTry) championCommit(ctx context.Context, tree, parent string) (string, error) {
	if tests := t.commit.Tests; tests != nil {
		only, err := t.treeOf(ctx, "tree of the tests", tests.Files)
		if err != nil {
			return "", err
		}
		if parent, err = t.publishedCommit(ctx, strings.TrimRight(tests.Message, "\n"), only, parent); err != nil {
			return "", err
		}
	}
	return t.publishedCommit(ctx, t.message(), tree, parent)
}

func (t *writeTry) message() string { return withTrailer(t.commit.Message, t.view.Solve.ID) }
