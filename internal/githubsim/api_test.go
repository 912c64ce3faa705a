package githubsim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// TestEveryEndpoint calls each endpoint once on its good path; the validator in
// the transport reports what GitHub would not send or accept.
func TestEveryEndpoint(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	t.Run("apps", func(t *testing.T) { everyApp(ctx, t, w) })
	t.Run("repository", func(t *testing.T) { everyRepository(ctx, t, w) })
	t.Run("issues", func(t *testing.T) { everyIssue(ctx, t, w) })
	t.Run("git data, checks, pulls", func(t *testing.T) { everyPull(ctx, t, w) })
	t.Run("deliveries", func(t *testing.T) { everyDelivery(ctx, t, w) })
}

func everyApp(ctx context.Context, t *testing.T, w *world) {
	app, _, err := w.jwt.Apps.Get(ctx, "")
	check(t, err)
	if app.GetSlug() != "yudai-test" || app.GetID() != w.app.ID {
		t.Errorf("app is %v", app)
	}
	all, _, err := w.jwt.Apps.ListInstallations(ctx, nil)
	check(t, err)
	one, _, err := w.jwt.Apps.GetInstallation(ctx, w.inst.ID)
	check(t, err)
	byRepo, _, err := w.jwt.Apps.FindRepositoryInstallation(ctx, owner, name)
	check(t, err)
	if len(all) != 1 || one.GetID() != w.inst.ID || byRepo.GetID() != w.inst.ID {
		t.Errorf("installations: %v, %v, %v", all, one, byRepo)
	}
	repos, _, err := w.client.Apps.ListRepos(ctx, nil)
	check(t, err)
	if repos.GetTotalCount() != 1 {
		t.Errorf("repositories: %v", repos)
	}
	bot, _, err := w.client.Users.Get(ctx, "yudai-test[bot]")
	check(t, err)
	if bot.GetType() != "Bot" {
		t.Errorf("bot is a %s", bot.GetType())
	}
	limits, _, err := w.client.RateLimit.Get(ctx)
	check(t, err)
	if limits.Core.Limit != 5000 || limits.Core.Remaining >= 5000 {
		t.Errorf("rate limit: %v", limits.Core)
	}
	_, err = w.install(nil).Apps.RevokeInstallationToken(ctx)
	check(t, err)
}

func everyRepository(ctx context.Context, t *testing.T, w *world) {
	repo, _, err := w.client.Repositories.Get(ctx, owner, name)
	check(t, err)
	if repo.GetDefaultBranch() != "main" {
		t.Errorf("default branch %q", repo.GetDefaultBranch())
	}
	for login, want := range map[string]string{maya: "write", otto: "read", owner: "admin"} {
		level, _, err := w.client.Repositories.GetPermissionLevel(ctx, owner, name, login)
		check(t, err)
		if level.GetPermission() != want {
			t.Errorf("%s may %s, want %s", login, level.GetPermission(), want)
		}
	}
	_, _, err = w.client.Repositories.GetRulesForBranch(ctx, owner, name, "ai/fix-1")
	check(t, err)
	branch, _, err := w.client.Repositories.GetBranch(ctx, owner, name, "main", 0)
	check(t, err)
	file, _, _, err := w.client.Repositories.GetContents(ctx, owner, name, "src/add.go", &github.RepositoryContentGetOptions{Ref: "main"})
	check(t, err)
	if text, err := file.GetContent(); err != nil || !strings.Contains(text, "a - b") {
		t.Errorf("content %q, %v", text, err)
	}
	_, dir, _, err := w.client.Repositories.GetContents(ctx, owner, name, "", nil)
	check(t, err)
	if len(dir) != 3 {
		t.Errorf("root has %d entries", len(dir))
	}
	_, dir, _, err = w.client.Repositories.GetContents(ctx, owner, name, "src", nil)
	check(t, err)
	if len(dir) != 1 || dir[0].GetPath() != "src/add.go" {
		t.Errorf("src has %v", dir)
	}
	commit, _, err := w.client.Repositories.GetCommit(ctx, owner, name, "main", nil)
	check(t, err)
	if commit.GetSHA() != branch.GetCommit().GetSHA() {
		t.Errorf("commit %s, branch at %s", commit.GetSHA(), branch.GetCommit().GetSHA())
	}
	sha, _, err := w.client.Repositories.GetCommitSHA1(ctx, owner, name, "main", "")
	check(t, err)
	if sha != commit.GetSHA() {
		t.Errorf("sha %q", sha)
	}
}

func everyIssue(ctx context.Context, t *testing.T, w *world) {
	issues := w.client.Issues
	issue, _, err := issues.Get(ctx, owner, name, w.issue)
	check(t, err)
	if issue.GetTitle() != "Add subtracts" {
		t.Errorf("issue %v", issue)
	}
	_, _, err = issues.AddLabelsToIssue(ctx, owner, name, w.issue, []string{"bug", "two words"})
	check(t, err)
	labels, _, err := issues.ListLabelsByIssue(ctx, owner, name, w.issue, nil)
	check(t, err)
	_, err = issues.RemoveLabelForIssue(ctx, owner, name, w.issue, "two words")
	check(t, err)
	history, _, err := issues.ListIssueEvents(ctx, owner, name, w.issue, nil)
	check(t, err)
	var lines []string
	for _, e := range history {
		lines = append(lines, e.GetEvent()+" "+e.GetLabel().GetName()+" by "+e.GetActor().GetLogin())
	}
	const by = " by yudai-test[bot]"
	if got, want := strings.Join(lines, ", "), "labeled bug"+by+", labeled two words"+by+", unlabeled two words"+by; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
	some, _, err := issues.ListByRepo(ctx, owner, name, &github.IssueListByRepoOptions{Labels: []string{"bug"}, State: "all"})
	check(t, err)
	if len(labels) != 2 || len(some) != 1 || len(some[0].Labels) != 1 {
		t.Errorf("labels %v, issues %v", labels, some)
	}
	comment, _, err := issues.CreateComment(ctx, owner, name, w.issue, &github.IssueComment{Body: github.String("first")})
	check(t, err)
	_, _, err = issues.EditComment(ctx, owner, name, comment.GetID(), &github.IssueComment{Body: github.String("second")})
	check(t, err)
	got, _, err := issues.GetComment(ctx, owner, name, comment.GetID())
	check(t, err)
	if got.GetBody() != "second" || got.GetUser().GetLogin() != "yudai-test[bot]" || got.GetUser().GetType() != "Bot" {
		t.Errorf("comment %v", got)
	}
	_, _, err = w.client.Reactions.CreateIssueReaction(ctx, owner, name, w.issue, "eyes")
	check(t, err)
	_, _, err = w.client.Reactions.CreateIssueCommentReaction(ctx, owner, name, comment.GetID(), "rocket")
	check(t, err)
	onIssue, _, err := w.client.Reactions.ListIssueReactions(ctx, owner, name, w.issue, nil)
	check(t, err)
	onComment, _, err := w.client.Reactions.ListIssueCommentReactions(ctx, owner, name, comment.GetID(), nil)
	check(t, err)
	if len(onIssue) != 1 || onIssue[0].GetContent() != "eyes" || len(onComment) != 1 || onComment[0].GetContent() != "rocket" {
		t.Errorf("reactions %v, %v", onIssue, onComment)
	}
	_, err = issues.DeleteComment(ctx, owner, name, comment.GetID())
	check(t, err)
	_, _, err = issues.Edit(ctx, owner, name, w.issue, &github.IssueRequest{State: github.String("closed"), Title: github.String("New title")})
	check(t, err)
	_, _, err = issues.Edit(ctx, owner, name, w.issue, &github.IssueRequest{State: github.String("open")})
	check(t, err)
	left, _, err := issues.ListComments(ctx, owner, name, w.issue, nil)
	check(t, err)
	if len(left) != 0 {
		t.Errorf("comments %v", left)
	}
}

// change makes a commit on a new branch through the Git Data API.
func (w *world) change(ctx context.Context, t *testing.T, branch string) *github.Commit {
	t.Helper()
	g := w.client.Git
	ref, _, err := g.GetRef(ctx, owner, name, "heads/main")
	check(t, err)
	base, _, err := g.GetCommit(ctx, owner, name, ref.GetObject().GetSHA())
	check(t, err)
	blob, _, err := g.CreateBlob(ctx, owner, name, &github.Blob{Content: github.String("package src\n\nfunc Add(a, b int) int { return a + b }\n"), Encoding: github.String("utf-8")})
	check(t, err)
	tree, _, err := g.CreateTree(ctx, owner, name, base.GetTree().GetSHA(), []*github.TreeEntry{
		{Path: github.String("src/add.go"), Mode: github.String("100644"), Type: github.String("blob"), SHA: blob.SHA},
		{Path: github.String("bin/new.sh"), Mode: github.String("100755"), Type: github.String("blob"), Content: github.String("#!/bin/sh\n")},
		{Path: github.String("link"), Mode: github.String("120000"), Type: github.String("blob"), Content: github.String("README.md")},
		{Path: github.String("run.sh"), Mode: github.String("100644"), Type: github.String("blob")}, // no SHA: deleted
	})
	check(t, err)
	commit, _, err := g.CreateCommit(ctx, owner, name, &github.Commit{
		Message: github.String("fix: add adds"), Tree: tree, Parents: []*github.Commit{{SHA: base.SHA}},
	}, nil)
	check(t, err)
	_, _, err = g.CreateRef(ctx, owner, name, &github.Reference{Ref: github.String("refs/heads/" + branch), Object: &github.GitObject{SHA: commit.SHA}})
	check(t, err)
	return commit
}

func everyPull(ctx context.Context, t *testing.T, w *world) {
	g := w.client.Git
	commit := w.change(ctx, t, "ai/fix-1")
	tree, _, err := g.GetTree(ctx, owner, name, commit.GetTree().GetSHA(), true)
	check(t, err)
	modes := map[string]string{}
	for _, e := range tree.Entries {
		modes[e.GetPath()] = e.GetMode()
	}
	if modes["bin/new.sh"] != "100755" || modes["link"] != "120000" || modes["run.sh"] != "" || modes["src/add.go"] != "100644" {
		t.Errorf("tree %v", modes)
	}
	_, _, err = g.GetBlob(ctx, owner, name, tree.Entries[0].GetSHA())
	if tree.Entries[0].GetType() == "blob" {
		check(t, err)
	}
	_, _, err = g.ListMatchingRefs(ctx, owner, name, &github.ReferenceListOptions{Ref: "heads/ai"})
	check(t, err)
	_, _, err = w.client.Repositories.CompareCommits(ctx, owner, name, "main", "ai/fix-1", nil)
	check(t, err)

	run, _, err := w.client.Checks.CreateCheckRun(ctx, owner, name, github.CreateCheckRunOptions{
		Name: "yudai", HeadSHA: commit.GetSHA(), Status: github.String("in_progress"), ExternalID: github.String("solve1"),
		Output: &github.CheckRunOutput{Title: github.String("working"), Summary: github.String("3 runs")},
	})
	check(t, err)
	_, _, err = w.client.Checks.UpdateCheckRun(ctx, owner, name, run.GetID(), github.UpdateCheckRunOptions{
		Name: "yudai", Status: github.String("completed"), Conclusion: github.String("success"),
		Actions: []*github.CheckRunAction{{Label: "Retry", Description: "run again", Identifier: "retry"}},
	})
	check(t, err)
	got, _, err := w.client.Checks.GetCheckRun(ctx, owner, name, run.GetID())
	check(t, err)
	if got.GetStatus() != "completed" || got.GetExternalID() != "solve1" || got.GetOutput().GetTitle() != "working" {
		t.Errorf("check %v", got)
	}
	for _, ref := range []string{commit.GetSHA(), "ai/fix-1"} {
		runs, _, err := w.client.Checks.ListCheckRunsForRef(ctx, owner, name, ref, &github.ListCheckRunsOptions{CheckName: github.String("yudai")})
		check(t, err)
		if runs.GetTotal() != 1 {
			t.Errorf("check runs of %s: %v", ref, runs)
		}
	}

	pull, _, err := w.client.PullRequests.Create(ctx, owner, name, &github.NewPullRequest{
		Title: github.String("fix: add adds"), Head: github.String("ai/fix-1"), Base: github.String("main"), Body: github.String("Fixes #1"),
	})
	check(t, err)
	list, _, err := w.client.PullRequests.List(ctx, owner, name, &github.PullRequestListOptions{Head: owner + ":ai/fix-1", State: "all"})
	check(t, err)
	files, _, err := w.client.PullRequests.ListFiles(ctx, owner, name, pull.GetNumber(), nil)
	check(t, err)
	_, _, err = w.client.PullRequests.Edit(ctx, owner, name, pull.GetNumber(), &github.PullRequest{Body: github.String("Fixes #1\n\nmore")})
	check(t, err)
	again, _, err := w.client.PullRequests.Get(ctx, owner, name, pull.GetNumber())
	check(t, err)
	if len(list) != 1 || len(files) != 3 || again.GetCommits() != 1 || again.GetHead().GetSHA() != commit.GetSHA() {
		t.Errorf("pulls %d, files %v, %v", len(list), files, again)
	}
	_, _, err = w.client.Issues.CreateComment(ctx, owner, name, pull.GetNumber(), &github.IssueComment{Body: github.String("on the pull request")})
	check(t, err)
	_, _, err = g.UpdateRef(ctx, owner, name, &github.Reference{Ref: github.String("refs/heads/ai/fix-1"), Object: &github.GitObject{SHA: commit.Parents[0].SHA}}, true)
	check(t, err)
	_, err = g.DeleteRef(ctx, owner, name, "refs/heads/ai/fix-1")
	check(t, err)
}

func everyDelivery(ctx context.Context, t *testing.T, w *world) {
	check(t, w.hub.AwaitIdle(ctx))
	all, _, err := w.jwt.Apps.ListHookDeliveries(ctx, &github.ListCursorOptions{PerPage: 5})
	check(t, err)
	if len(all) != 5 {
		t.Fatalf("%d deliveries", len(all))
	}
	one, _, err := w.jwt.Apps.GetHookDelivery(ctx, all[0].GetID())
	check(t, err)
	if one.GetGUID() != all[0].GetGUID() || one.Request == nil || len(*one.Request.RawPayload) == 0 {
		t.Errorf("delivery %v", one)
	}
}
