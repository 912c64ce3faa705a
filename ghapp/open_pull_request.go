package ghapp

import (
	"context"
	"net/http"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// maxBehind is how far below a branch's head to look for the champion of an earlier
// try: people add commits to a pull request.
const maxBehind = 10

// putOnOpenPull puts the champion on the branch of the open pull request that the solve
// continues, and updates the pull request's text. The title stays: people may have
// changed it.
func (t *writeTry) putOnOpenPull(ctx context.Context, reserved string) (*github.PullRequest, string, error) {
	pull, err := readPull(ctx, t.read, t.e.Repo, t.view.Solve.Target().Number)
	if err != nil {
		return nil, "", err
	}
	head, err := t.moveOpenPull(ctx, reserved, pull)
	if err != nil {
		return nil, "", err
	}
	if pull.GetState() != "open" {
		return pull, head, nil
	}
	return pull, head, t.refreshPull(ctx, pull)
}

// moveOpenPull puts the champion's commit on the branch and returns it. It only moves
// the branch away from the commit that the solve started from.
func (t *writeTry) moveOpenPull(ctx context.Context, reserved string, pull *github.PullRequest) (string, error) {
	head, err := t.branchHead(ctx)
	missing := statusOf(err) == http.StatusNotFound
	if err != nil && !missing {
		return "", err
	}
	if missing {
		head = pull.GetHead().GetSHA() // closed or merged, and the branch deleted
	}
	if head != reserved {
		ours, err := t.championBelow(ctx, head)
		switch {
		case err != nil:
			return "", err
		case ours != "":
			return ours, nil // a try that was cut put it there
		case !missing:
			return "", t.branchTaken()
		}
	}
	switch {
	case pull.GetState() != "open":
		return "", permanent("pull request #%d was closed; nothing was changed", pull.GetNumber())
	case missing:
		return "", err // an open pull request has a branch: GitHub does not show it for a moment
	}
	tree, err := t.championTree(ctx)
	if err != nil {
		return "", err
	}
	now, err := t.commitOf(ctx, head)
	if err != nil {
		return "", err
	}
	if now.GetTree().GetSHA() == tree {
		return head, nil // the champion is what it was
	}
	return t.moveToTree(ctx, reserved, tree)
}

// championBelow looks for the champion's commit at the head and some way below it; "" if
// it is not there.
func (t *writeTry) championBelow(ctx context.Context, sha string) (string, error) {
	for range maxBehind {
		commit, err := t.commitOf(ctx, sha)
		if err != nil {
			return "", err
		}
		if isChampion(commit, t.view.Solve.ID) {
			return sha, nil
		}
		if len(commit.Parents) == 0 {
			break
		}
		sha = commit.Parents[0].GetSHA()
	}
	return "", nil
}

// refreshPull replaces our own text; one without our marker is somebody else's. The
// champion is on the branch already, so a refusal is only logged.
func (t *writeTry) refreshPull(ctx context.Context, pull *github.PullRequest) error {
	body := report.PullBody(t.view)
	if _, _, ours := solve.FindMarker(pull.GetBody()); !ours || pull.GetBody() == body {
		return nil
	}
	repo := t.e.Repo
	err := t.idempotent(ctx, "edit the pull request", func(ctx context.Context, c *github.Client) error {
		_, _, err := c.PullRequests.Edit(ctx, repo.Owner, repo.Name, pull.GetNumber(), &github.PullRequest{Body: &body})
		return err
	})
	return t.logRefusal(ctx, err, "pull request's text refused")
}
