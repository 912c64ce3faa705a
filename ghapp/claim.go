package ghapp

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// trailer is the line by which a commit says to which solve it belongs.
const trailer = "Yudai-Solve: "

// claimSubject begins the message of a claim commit, and of no champion's.
const claimSubject = "yudai: claim for #"

// claim makes the solve's branch on an empty commit. GitHub keeps one branch per
// name, so a second try, or a second writer, adopts what is there.
func (a *attempt) claim(ctx context.Context) (solve.Receipt, error) {
	s := a.view.Solve
	over := s.State.Final() && s.State != solve.StateSolved
	never := dead("the solve ended before its branch was made")
	if s.Base.SHA == "" || s.Branch == "" || over && !a.unknown {
		return solve.Receipt{}, never
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
	ours, err := a.ours(ctx, sha)
	if err != nil {
		return solve.Receipt{}, err
	}
	if !ours {
		return solve.Receipt{}, dead("branch exists: %s belongs to somebody else", a.view.Solve.Branch)
	}
	return solve.Receipt{SHA: sha}, nil
}

// branchHead is the commit of the solve's branch; its error has status 404 if there is none.
func (a *attempt) branchHead(ctx context.Context) (string, error) {
	return a.w.app.ref(ctx, writeScope(a.e.Repo), a.e.Repo, a.view.Solve.Branch)
}

// ours says whether a commit carries the solve's trailer.
func (a *attempt) ours(ctx context.Context, sha string) (bool, error) {
	c, err := a.commitOf(ctx, sha)
	if err != nil {
		return false, err
	}
	return hasTrailer(c.GetMessage(), a.view.Solve.ID), nil
}

func hasTrailer(message string, id solve.ID) bool {
	for line := range strings.Lines(message) {
		if strings.TrimSpace(line) == trailer+string(id) {
			return true
		}
	}
	return false
}

// withTrailer adds the trailer to the message's last paragraph if that holds
// trailers, else as a paragraph of its own.
func withTrailer(message string, id solve.ID) string {
	message = strings.TrimRight(message, "\n")
	if hasTrailer(message, id) {
		return message
	}
	_, last, found := cutLast(message, "\n\n")
	gap := "\n"
	if !found {
		gap = "\n\n"
	}
	for line := range strings.Lines(last) {
		key, _, ok := strings.Cut(line, ": ")
		if !ok || strings.ContainsAny(key, " \t") {
			gap = "\n\n"
		}
	}
	return message + gap + trailer + string(id)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (a *attempt) commitOf(ctx context.Context, sha string) (*github.Commit, error) {
	repo := a.e.Repo
	var commit *github.Commit
	err := a.read(ctx, call{"read commit " + sha, func(ctx context.Context, c *github.Client) (err error) {
		commit, _, err = c.Git.GetCommit(ctx, repo.Owner, repo.Name, sha)
		return err
	}})
	if err != nil {
		return nil, err
	}
	if commit.GetSHA() == "" || commit.GetTree().GetSHA() == "" {
		return nil, malformed("commit")
	}
	return commit, nil
}

// newCommit leaves author, committer and signature out: GitHub then signs the
// commit as the App's.
func (a *attempt) newCommit(ctx context.Context, message, tree, parent string) (string, error) {
	repo := a.e.Repo
	var commit *github.Commit
	err := a.object(ctx, call{"make a commit", func(ctx context.Context, c *github.Client) (err error) {
		commit, _, err = c.Git.CreateCommit(ctx, repo.Owner, repo.Name, &github.Commit{
			Message: &message,
			Tree:    &github.Tree{SHA: &tree},
			Parents: []*github.Commit{{SHA: &parent}},
		}, nil)
		return err
	}})
	if err != nil {
		return "", err
	}
	if commit.GetSHA() == "" {
		return "", malformed("commit")
	}
	return commit.GetSHA(), nil
}

func (a *attempt) newBranch(ctx context.Context, sha string) error {
	repo, name := a.e.Repo, "refs/heads/"+a.view.Solve.Branch
	return a.keyed(ctx, call{"make branch " + a.view.Solve.Branch, func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Git.CreateRef(ctx, repo.Owner, repo.Name,
			&github.Reference{Ref: &name, Object: &github.GitObject{SHA: &sha}})
		return err
	}})
}

// explain asks which rules hold for the branch once GitHub has refused it: asked
// before, the answer would not tell whether the App may bypass them.
func (a *attempt) explain(ctx context.Context, refused error) error {
	if refused == nil || outcomeOf(refused) != outcomeRefused {
		return refused
	}
	repo, branch := a.e.Repo, a.view.Solve.Branch
	var rules []*github.RepositoryRule
	err := a.read(ctx, call{"read branch rules", func(ctx context.Context, c *github.Client) (err error) {
		rules, _, err = c.Repositories.GetRulesForBranch(ctx, repo.Owner, repo.Name, branch)
		return err
	}})
	if err != nil {
		return refused // the refusal says more than the failed question
	}
	for _, r := range rules {
		switch r.Type {
		case "creation":
			return dead("creation blocked: a rule of the repository forbids branch %s; let the App bypass it or choose another branch template", branch)
		case "branch_name_pattern", "commit_message_pattern":
			return dead("branch %s breaks the repository's rule %s", branch, r.Type)
		}
	}
	return refused
}
