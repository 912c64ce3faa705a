package ghapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// branchMovedError says that a branch is no longer at the commit that this try saw.
type branchMovedError struct{}

func (*branchMovedError) Error() string { return "the branch was moved meanwhile" }

// branchHead is the commit of the solve's branch; its error has status 404 if there is none.
func (t *writeTry) branchHead(ctx context.Context) (string, error) {
	return t.w.app.ref(ctx, writeScope(t.e.Repo), t.e.Repo, t.view.Solve.Branch)
}

func (t *writeTry) newBranch(ctx context.Context, sha string) error {
	repo, name := t.e.Repo, t.refName()
	return t.idempotent(ctx, "make branch "+t.view.Solve.Branch, func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Git.CreateRef(ctx, repo.Owner, repo.Name,
			&github.Reference{Ref: &name, Object: &github.GitObject{SHA: &sha}})
		return err
	})
}

// moveBranch moves the branch from one commit to another. Anywhere else it is
// somebody else's by now.
func (t *writeTry) moveBranch(ctx context.Context, from, to string, force bool) error {
	repo, name := t.e.Repo, t.refName()
	err := t.idempotent(ctx, "move branch "+t.view.Solve.Branch, func(ctx context.Context, c *github.Client) error {
		if err := headStill(ctx, c, repo, BranchHead{t.view.Solve.Branch, from}); err != nil {
			return err
		}
		_, _, err := c.Git.UpdateRef(ctx, repo.Owner, repo.Name,
			&github.Reference{Ref: &name, Object: &github.GitObject{SHA: &to}}, force)
		return err
	})
	notForward := statusOf(err) == http.StatusUnprocessableEntity && mentions(err, "fast forward", "fast-forward")
	if errors.As(err, new(*branchMovedError)) || notForward {
		return t.branchTaken()
	}
	return err
}

// deleteBranch deletes the branch unless it was moved from the commit.
func (t *writeTry) deleteBranch(ctx context.Context, from string) error {
	return t.idempotent(ctx, "delete branch "+t.view.Solve.Branch, func(ctx context.Context, c *github.Client) error {
		return deleteHead(ctx, c, t.e.Repo, BranchHead{t.view.Solve.Branch, from})
	})
}

func (t *writeTry) refName() string { return "refs/heads/" + t.view.Solve.Branch }

// branchTaken ends a pull request whose branch belongs to somebody else now.
func (t *writeTry) branchTaken() error {
	s := t.view.Solve
	if s.Target() == nil {
		return permanent("branch %s was moved by somebody else", s.Branch)
	}
	return permanent("branch %s was moved by somebody else since; nothing was changed%s", s.Branch, t.pickHint())
}

// pickHint says how a champion that found no place can still get one.
func (t *writeTry) pickHint() string {
	d := t.view.Solve.Decision
	if d == nil || d.Champion == 0 {
		return ""
	}
	return fmt.Sprintf("; run %d can be put there with the comment: /yudai pick %d", d.Champion, d.Champion)
}

// BranchHead is a branch and the commit it points to.
type BranchHead struct{ Name, SHA string }

// deleteHead deletes a branch if it is still at a commit; else it is a [branchMovedError].
func deleteHead(ctx context.Context, c *github.Client, repo solve.Repo, h BranchHead) error {
	err := headStill(ctx, c, repo, h)
	if err == nil {
		_, err = c.Git.DeleteRef(ctx, repo.Owner, repo.Name, "heads/"+h.Name)
	}
	return err
}

// headStill looks right before a change at what the change would overwrite: the wait
// for the write rate may have been long, and GitHub's interface has no condition.
func headStill(ctx context.Context, c *github.Client, repo solve.Repo, h BranchHead) error {
	ref, _, err := c.Git.GetRef(ctx, repo.Owner, repo.Name, "heads/"+h.Name)
	if err == nil && ref.GetObject().GetSHA() != h.SHA {
		return &branchMovedError{}
	}
	return err
}
