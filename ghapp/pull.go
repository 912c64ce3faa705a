package ghapp

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v66/github"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/solve"
)

// maxInline is the largest file that travels inside a tree; a larger one gets a
// blob of its own.
const maxInline = 512 << 10

// pull makes the champion's commit, moves the solve's branch to it and opens the
// one pull request, with a completed check run beside it. Every step looks at
// what is there first, so a try that was cut is gone on with.
func (a *attempt) pull(ctx context.Context) (solve.Receipt, error) {
	if len(a.commit.Files) == 0 {
		return solve.Receipt{}, dead("the champion changes nothing")
	}
	claim, err := a.claimSHA(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	pull, err := a.findPull(ctx)
	if err != nil {
		return solve.Receipt{}, err
	}
	head, err := a.champion(ctx, claim, pull)
	if err != nil {
		return solve.Receipt{}, err
	}
	if pull == nil {
		if pull, err = a.openPull(ctx); err != nil {
			return solve.Receipt{}, err
		}
	}
	receipt := solve.Receipt{ID: pull.GetID(), SHA: head, Number: pull.GetNumber(), URL: pull.GetHTMLURL()}
	if head == claim {
		return receipt, nil // the solve's own check run is on the champion already
	}
	if err := a.scorecard(ctx, receipt); err != nil {
		return solve.Receipt{}, err
	}
	return receipt, nil
}

// findPull returns the pull request of the solve's branch, an open one first.
// A closed or merged one counts: a second is never opened.
func (a *attempt) findPull(ctx context.Context) (*github.PullRequest, error) {
	repo, branch := a.e.Repo, a.view.Solve.Branch
	var list []*github.PullRequest
	err := a.read(ctx, call{"list pull requests", func(ctx context.Context, c *github.Client) (err error) {
		list, _, err = c.PullRequests.List(ctx, repo.Owner, repo.Name, &github.PullRequestListOptions{
			State: "all", Head: repo.Owner + ":" + branch, ListOptions: github.ListOptions{PerPage: 100},
		})
		return err
	}})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(p *github.PullRequest) bool { return p.GetHead().GetRef() != branch })
	if len(list) == 0 {
		return nil, nil
	}
	if i := slices.IndexFunc(list, func(p *github.PullRequest) bool { return p.GetState() == "open" }); i >= 0 {
		return list[i], nil
	}
	return list[0], nil
}

// champion brings the champion's commit onto the branch and returns it. The
// branch is only ever moved away from our own claim.
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
		ours, err := a.isChampion(ctx, head)
		if err != nil || ours {
			return head, err // the claim was adopted when the champion was on the branch already
		}
	}
	tree, err := a.championTree(ctx)
	if err != nil {
		return "", err
	}
	message := withTrailer(a.commit.Message, a.view.Solve.ID)
	sha, err := a.newCommit(ctx, message, tree, a.commit.BaseSHA)
	if err != nil {
		return "", err
	}
	if missing {
		err := a.newBranch(ctx, sha)
		if statusOf(err) == http.StatusUnprocessableEntity && says(err, "already exists") {
			return "", &againError{after: tick, reason: "the branch is there, but was not seen"}
		}
		return sha, a.explain(ctx, err)
	}
	err = a.moveBranch(ctx, sha, true)
	if err == nil || outcomeOf(err) != outcomeRefused {
		return sha, err
	}
	// A rule forbids to replace the claim: the champion goes on top of it.
	if sha, err = a.newCommit(ctx, message, tree, claim); err != nil {
		return "", err
	}
	return sha, a.explain(ctx, a.moveBranch(ctx, sha, false))
}

// moved judges a branch that is no longer at the claim.
func (a *attempt) moved(ctx context.Context, head string, pull *github.PullRequest) (string, error) {
	if pull != nil {
		return head, nil // people may add to a pull request
	}
	ours, err := a.isChampion(ctx, head)
	if err != nil {
		return "", err
	}
	if !ours {
		return "", dead("branch %s was moved by somebody else", a.view.Solve.Branch)
	}
	return head, nil
}

// isChampion says whether a commit is the champion's of this solve.
func (a *attempt) isChampion(ctx context.Context, sha string) (bool, error) {
	c, err := a.commitOf(ctx, sha)
	if err != nil {
		return false, err
	}
	return hasTrailer(c.GetMessage(), a.view.Solve.ID) && !strings.HasPrefix(c.GetMessage(), claimSubject), nil
}

func (a *attempt) moveBranch(ctx context.Context, sha string, force bool) error {
	repo, name := a.e.Repo, "refs/heads/"+a.view.Solve.Branch
	return a.keyed(ctx, call{"move branch " + a.view.Solve.Branch, func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Git.UpdateRef(ctx, repo.Owner, repo.Name,
			&github.Reference{Ref: &name, Object: &github.GitObject{SHA: &sha}}, force)
		return err
	}})
}

// championTree makes the champion's tree through the Git Data API: it keeps file
// modes and needs no git credentials anywhere.
func (a *attempt) championTree(ctx context.Context) (string, error) {
	base, err := a.commitOf(ctx, a.commit.BaseSHA)
	if err != nil {
		return "", err
	}
	var entries []*github.TreeEntry
	for _, f := range a.commit.Files {
		entry, err := a.treeEntry(ctx, f)
		if err != nil {
			return "", err
		}
		entries = append(entries, entry)
	}
	repo := a.e.Repo
	var tree *github.Tree
	err = a.object(ctx, call{"make a tree", func(ctx context.Context, c *github.Client) (err error) {
		tree, _, err = c.Git.CreateTree(ctx, repo.Owner, repo.Name, base.GetTree().GetSHA(), entries)
		return err
	}})
	if err != nil {
		return "", err
	}
	if tree.GetSHA() == "" {
		return "", malformed("tree")
	}
	return tree.GetSHA(), nil
}

// treeEntry puts text into the tree itself and makes a blob of everything that
// JSON would not carry as it is.
func (a *attempt) treeEntry(ctx context.Context, f File) (*github.TreeEntry, error) {
	entry := &github.TreeEntry{Path: &f.Path, Mode: &f.Mode, Type: github.String("blob")}
	if f.Mode == "" {
		entry.Mode = github.String("100644")
	}
	if f.Delete {
		return entry, nil // neither content nor SHA
	}
	text := string(f.Data)
	if len(text) > 0 && len(text) <= maxInline && utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		entry.Content = &text
		return entry, nil
	}
	repo := a.e.Repo
	var blob *github.Blob
	err := a.object(ctx, call{"make a blob", func(ctx context.Context, c *github.Client) (err error) {
		blob, _, err = c.Git.CreateBlob(ctx, repo.Owner, repo.Name, &github.Blob{
			Content: github.String(base64.StdEncoding.EncodeToString(f.Data)), Encoding: github.String("base64"),
		})
		return err
	}})
	if err != nil {
		return nil, err
	}
	if blob.GetSHA() == "" {
		return nil, malformed("blob")
	}
	entry.SHA = blob.SHA
	return entry, nil
}

// openPull opens the pull request. GitHub allows one open pull request per
// branch; its refusal of a second leads to the first.
func (a *attempt) openPull(ctx context.Context) (*github.PullRequest, error) {
	s, repo := a.view.Solve, a.e.Repo
	body := markOf(string(s.ID), a.e.Kind).on(solve.CutMarkdown(solve.PullBody(a.view), solve.MaxBody, cutNote))
	title := solve.CutMarkdown(solve.PullTitle(a.view), solve.MaxTitle, "")
	var made *github.PullRequest
	err := a.create(ctx, call{"open the pull request", func(ctx context.Context, c *github.Client) (err error) {
		made, _, err = c.PullRequests.Create(ctx, repo.Owner, repo.Name, &github.NewPullRequest{
			Title: &title, Body: &body, Head: &s.Branch, Base: &s.Base.Branch,
		})
		if err == nil && made.GetNumber() == 0 {
			return malformed("pull request")
		}
		return err
	}})
	switch {
	case err == nil:
		return made, nil
	case statusOf(err) != http.StatusUnprocessableEntity:
		return nil, err
	case says(err, "already exists"):
		pull, lookErr := a.findPull(ctx)
		if lookErr == nil && pull == nil {
			return nil, &againError{after: a.w.cfg.Settle, reason: "the pull request is there, but not listed yet"}
		}
		return pull, lookErr
	case says(err, "no commits between"):
		return nil, dead("the champion changes nothing against %s", s.Base.Branch)
	case says(err, "base") && !says(err, "head"):
		return nil, dead("the base branch %s is gone", s.Base.Branch)
	default:
		return nil, err
	}
}

// headRun is the completed check run on the champion's commit.
func (a *attempt) headRun(pull solve.Receipt) checkRun {
	view := a.view
	view.Solve.State = solve.StateSolved // what it is as soon as this can be seen
	view.Solve.Pull = &solve.Pull{Number: pull.Number, URL: pull.URL, Commit: pull.SHA}
	run := checkRun{
		externalID: externalID(view.Solve.ID) + headSuffix,
		sha:        pull.SHA,
		content:    solve.CheckOf(view),
		started:    view.Solve.Started,
		ended:      a.w.app.now(),
	}
	run.content.Status, run.content.Conclusion = "completed", "success"
	return run
}

// scorecard puts the completed check run on the champion's commit. A pull
// request without it is better than none, so a refusal is only logged.
func (a *attempt) scorecard(ctx context.Context, pull solve.Receipt) error {
	run := a.headRun(pull)
	found, err := a.findChecks(ctx, run)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return nil
	}
	_, err = a.newCheck(ctx, run)
	if err != nil && outcomeOf(err) == outcomeRefused {
		zerolog.Ctx(ctx).Warn().Str("solve_id", string(a.e.Solve)).Str("sha", pull.SHA).
			Str("err", Redact(err.Error())).Msg("scorecard check run refused")
		return nil
	}
	return err
}
