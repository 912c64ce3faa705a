package ghapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-github/v66/github"
)

// movedError says that a branch is not where it was when this try began.
type movedError struct{}

func (*movedError) Error() string { return "the branch was moved meanwhile" }

// branchHead is the commit of the solve's branch; its error has status 404 if there is none.
func (a *attempt) branchHead(ctx context.Context) (string, error) {
	return a.w.app.ref(ctx, writeScope(a.e.Repo), a.e.Repo, a.view.Solve.Branch)
}

func (a *attempt) newBranch(ctx context.Context, sha string) error {
	repo, name := a.e.Repo, a.refName()
	return a.keyed(ctx, "make branch "+a.view.Solve.Branch, func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Git.CreateRef(ctx, repo.Owner, repo.Name,
			&github.Reference{Ref: &name, Object: &github.GitObject{SHA: &sha}})
		return err
	})
}

// moveBranch moves the branch from one commit to another. Anywhere else it is
// somebody else's by now.
func (a *attempt) moveBranch(ctx context.Context, from, to string, force bool) error {
	repo, name := a.e.Repo, a.refName()
	err := a.keyed(ctx, "move branch "+a.view.Solve.Branch, func(ctx context.Context, c *github.Client) error {
		if err := headStill(ctx, c, repo, Head{a.view.Solve.Branch, from}); err != nil {
			return err
		}
		_, _, err := c.Git.UpdateRef(ctx, repo.Owner, repo.Name,
			&github.Reference{Ref: &name, Object: &github.GitObject{SHA: &to}}, force)
		return err
	})
	if errors.As(err, new(*movedError)) || statusOf(err) == http.StatusUnprocessableEntity && says(err, "fast forward", "fast-forward") {
		return a.movedAway()
	}
	return err
}

// deleteBranch deletes the branch unless it was moved from the commit.
func (a *attempt) deleteBranch(ctx context.Context, from string) error {
	return a.keyed(ctx, "delete branch "+a.view.Solve.Branch, func(ctx context.Context, c *github.Client) error {
		return deleteHead(ctx, c, a.e.Repo, Head{a.view.Solve.Branch, from})
	})
}

func (a *attempt) refName() string { return "refs/heads/" + a.view.Solve.Branch }

// movedAway ends a pull request whose branch belongs to somebody else now.
func (a *attempt) movedAway() error {
	s := a.view.Solve
	if s.Target() == nil {
		return dead("branch %s was moved by somebody else", s.Branch)
	}
	return dead("branch %s was moved by somebody else since; nothing was changed%s", s.Branch, a.pickAgain())
}

// pickAgain says how a champion that found no place can still get one.
func (a *attempt) pickAgain() string {
	d := a.view.Solve.Decision
	if d == nil || d.Champion == 0 {
		return ""
	}
	return fmt.Sprintf("; run %d can be put there with the comment: /yudai pick %d", d.Champion, d.Champion)
}
