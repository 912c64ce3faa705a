package githubsim_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

func (w *world) comment(body string) (*github.IssueComment, error) {
	c, _, err := w.client.Issues.CreateComment(w.t.Context(), owner, name, w.issue, &github.IssueComment{Body: &body})
	return c, err
}

func TestCommentLimits(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	_, err := w.comment(strings.Repeat("ü", 65536))
	check(t, err)
	_, err = w.comment(strings.Repeat("x", 65537))
	if resp := refused(t, err, http.StatusUnprocessableEntity); !strings.Contains(resp.Errors[0].Message, "is too long") {
		t.Errorf("errors %v", resp.Errors)
	}
	_, err = w.comment(" ")
	refused(t, err, http.StatusUnprocessableEntity)
	check(t, w.hub.LockIssue(full, w.issue, true))
	_, err = w.comment("locked out")
	refused(t, err, http.StatusForbidden)
	_, _, err = w.client.Reactions.CreateIssueReaction(t.Context(), owner, name, w.issue, "eyes")
	refused(t, err, http.StatusForbidden)
	_, _, err = w.client.Issues.Get(t.Context(), owner, name, 999)
	refused(t, err, http.StatusNotFound)
}

func TestReactionsRepeat(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		_, resp, err := w.client.Reactions.CreateIssueReaction(t.Context(), owner, name, w.issue, "eyes")
		check(t, err)
		if resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	issue, err := w.hub.Issue(full, w.issue)
	check(t, err)
	if diff := cmp.Diff([]githubsim.Reaction{{Author: "yudai-test[bot]", Content: "eyes"}}, issue.Reactions); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
}

func TestCommentPages(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	for i := range 7 {
		_, err := w.comment(fmt.Sprint(i))
		check(t, err)
	}
	var got []string
	opts := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: 3}}
	for {
		page, resp, err := w.client.Issues.ListComments(t.Context(), owner, name, w.issue, opts)
		check(t, err)
		for _, c := range page {
			got = append(got, c.GetBody())
		}
		if resp.NextPage == 0 {
			if resp.PrevPage != 2 || resp.FirstPage != 1 {
				t.Errorf("links of the last page: %v", resp)
			}
			break
		}
		if resp.LastPage != 3 {
			t.Errorf("last page %d", resp.LastPage)
		}
		opts.Page = resp.NextPage
	}
	if strings.Join(got, "") != "0123456" {
		t.Errorf("comments %v", got)
	}
	soon := time.Now().Add(time.Hour)
	none, _, err := w.client.Issues.ListComments(t.Context(), owner, name, w.issue, &github.IssueListCommentsOptions{Since: &soon})
	check(t, err)
	if len(none) != 0 {
		t.Errorf("%d comments since the future", len(none))
	}
}

// TestCheckRunLimits: text is limited in bytes, whatever the description says.
func TestCheckRunLimits(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	w.base, w.client.Client().Transport = http.DefaultTransport, nil
	w.client = w.install(nil) // without the validator, which refuses some of these itself
	sha := must[map[string]string](t)(w.hub.Branches(full))["main"]
	output := func(text string, notes int) *github.CheckRunOutput {
		o := &github.CheckRunOutput{Title: github.String("t"), Summary: github.String("s"), Text: &text}
		for range notes {
			o.Annotations = append(o.Annotations, &github.CheckRunAnnotation{
				Path: github.String("a"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("notice"), Message: github.String("m"),
			})
		}
		return o
	}
	button := func(label string, n int) (all []*github.CheckRunAction) {
		for range n {
			all = append(all, &github.CheckRunAction{Label: label, Description: "d", Identifier: "i"})
		}
		return all
	}
	opts := func(o github.CreateCheckRunOptions) github.CreateCheckRunOptions {
		if o.Name == "" {
			o.Name = "yudai"
		}
		if o.HeadSHA == "" {
			o.HeadSHA = sha
		}
		return o
	}
	for what, o := range map[string]github.CreateCheckRunOptions{
		"fits":      opts(github.CreateCheckRunOptions{Output: output(strings.Repeat("x", 65535), 50), Actions: button(strings.Repeat("l", 20), 3)}),
		"bytes":     opts(github.CreateCheckRunOptions{Output: output(strings.Repeat("ü", 32768), 0)}),
		"notes":     opts(github.CreateCheckRunOptions{Output: output("", 51)}),
		"buttons":   opts(github.CreateCheckRunOptions{Actions: button("l", 4)}),
		"label":     opts(github.CreateCheckRunOptions{Actions: button(strings.Repeat("l", 21), 1)}),
		"commit":    opts(github.CreateCheckRunOptions{HeadSHA: strings.Repeat("a", 40)}),
		"status":    opts(github.CreateCheckRunOptions{Status: github.String("done")}),
		"no result": opts(github.CreateCheckRunOptions{Status: github.String("completed")}),
		"summary":   opts(github.CreateCheckRunOptions{Output: &github.CheckRunOutput{Title: github.String("t")}}),
	} {
		_, _, err := w.client.Checks.CreateCheckRun(ctx, owner, name, o)
		if what == "fits" {
			check(t, err)
			continue
		}
		if err == nil {
			t.Errorf("%s: taken", what)
			continue
		}
		refused(t, err, http.StatusUnprocessableEntity)
	}
	checks, err := w.hub.Checks(full)
	check(t, err)
	if len(checks) != 1 || len(checks[0].Annotations) != 50 || len(checks[0].Buttons) != 3 {
		t.Errorf("checks %v", checks)
	}
	_, _, err = w.client.Checks.UpdateCheckRun(ctx, owner, name, checks[0].ID, github.UpdateCheckRunOptions{Name: "yudai", Output: output("", 1)})
	check(t, err)
	if checks, err = w.hub.Checks(full); err != nil || len(checks[0].Annotations) != 51 {
		t.Errorf("annotations are not appended: %d, %v", len(checks[0].Annotations), err)
	}
}

func TestForeignCheckRun(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	sha := must[map[string]string](t)(w.hub.Branches(full))["main"]
	run, _, err := w.client.Checks.CreateCheckRun(t.Context(), owner, name, github.CreateCheckRunOptions{Name: "yudai", HeadSHA: sha})
	check(t, err)
	w.app = must[githubsim.App](t)(w.hub.CreateApp("Other"))
	w.inst = must[githubsim.Installation](t)(w.hub.Install(w.app, owner, name))
	other := w.install(nil)
	_, _, err = other.Checks.UpdateCheckRun(t.Context(), owner, name, run.GetID(), github.UpdateCheckRunOptions{Name: "mine now"})
	refused(t, err, http.StatusForbidden)
}

func TestRefRefusals(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx, g := t.Context(), w.client.Git
	commit := w.change(ctx, t, "ai/fix-1")
	ref := func(ref, sha string) *github.Reference {
		return &github.Reference{Ref: &ref, Object: &github.GitObject{SHA: &sha}}
	}
	base := commit.Parents[0].GetSHA()
	for want, r := range map[string]*github.Reference{
		"Reference already exists": ref("refs/heads/ai/fix-1", base),
		"Object does not exist":    ref("refs/heads/x", strings.Repeat("1", 40)),
		"Object is not a commit":   ref("refs/heads/y", commit.GetTree().GetSHA()),
		"is not a valid ref name":  ref("refs/heads/a..b", base),
		"Reference update failed":  ref("refs/heads/ai", base),
	} {
		_, _, err := g.CreateRef(ctx, owner, name, r)
		if resp := refused(t, err, http.StatusUnprocessableEntity); !strings.Contains(resp.Message, want) {
			t.Errorf("message %q, want %q", resp.Message, want)
		}
	}
	_, _, err := g.UpdateRef(ctx, owner, name, ref("refs/heads/ai/fix-1", base), false)
	if resp := refused(t, err, http.StatusUnprocessableEntity); resp.Message != "Update is not a fast forward" {
		t.Errorf("message %q", resp.Message)
	}
	_, _, err = g.UpdateRef(ctx, owner, name, ref("refs/heads/none", base), false)
	refused(t, err, http.StatusUnprocessableEntity)
	_, _, err = g.GetRef(ctx, owner, name, "heads/none")
	refused(t, err, http.StatusNotFound)
	_, err = g.DeleteRef(ctx, owner, name, "heads/none")
	refused(t, err, http.StatusUnprocessableEntity)

	_, err = w.hub.CreateRepo(owner, "empty", nil)
	check(t, err)
	_, _, err = g.CreateRef(ctx, owner, "empty", ref("refs/heads/x", base))
	refused(t, err, http.StatusConflict)
	_, _, err = g.GetRef(ctx, owner, "empty", "heads/main")
	refused(t, err, http.StatusConflict)
}

// TestCommitSignature: GitHub signs an app's commit only when author and
// committer are left out.
func TestCommitSignature(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	commit := w.change(ctx, t, "ai/fix-1")
	if !commit.GetVerification().GetVerified() || commit.GetAuthor().GetName() != "yudai-test[bot]" {
		t.Errorf("commit %v", commit)
	}
	by := &github.CommitAuthor{Name: github.String("Somebody"), Email: github.String("a@b.c")}
	authored, _, err := w.client.Git.CreateCommit(ctx, owner, name, &github.Commit{Message: github.String("m"), Tree: commit.Tree, Author: by}, nil)
	check(t, err)
	if authored.GetVerification().GetVerified() || authored.GetAuthor().GetName() != "Somebody" || authored.GetCommitter().GetEmail() != "a@b.c" {
		t.Errorf("authored %v", authored)
	}
	again, _, err := w.client.Git.GetCommit(ctx, owner, name, commit.GetSHA())
	check(t, err)
	if !again.GetVerification().GetVerified() || again.GetMessage() != "fix: add adds" {
		t.Errorf("read back %v", again)
	}
}

func TestTreeRefusals(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	sha := must[map[string]string](t)(w.hub.Branches(full))["main"]
	for what, e := range map[string]*github.TreeEntry{
		"missing blob": {Path: github.String("a"), Mode: github.String("100644"), Type: github.String("blob"), SHA: github.String(strings.Repeat("1", 40))},
		"wrong type":   {Path: github.String("a"), Mode: github.String("100644"), Type: github.String("blob"), SHA: &sha},
		"git dir":      {Path: github.String(".git/config"), Mode: github.String("100644"), Type: github.String("blob"), Content: github.String("x")},
		"escape":       {Path: github.String("../a"), Mode: github.String("100644"), Type: github.String("blob"), Content: github.String("x")},
		"delete":       {Path: github.String("not-there"), Mode: github.String("100644"), Type: github.String("blob")},
	} {
		_, _, err := w.client.Git.CreateTree(ctx, owner, name, sha, []*github.TreeEntry{e})
		if err == nil {
			t.Errorf("%s: taken", what)
			continue
		}
		refused(t, err, http.StatusUnprocessableEntity)
	}
}

func TestWorkflowsNeedTheirOwnRight(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx, g := t.Context(), w.client.Git
	sha := must[map[string]string](t)(w.hub.Branches(full))["main"]
	tree, _, err := g.CreateTree(ctx, owner, name, sha, []*github.TreeEntry{
		{Path: github.String(".github/workflows/ci.yml"), Mode: github.String("100644"), Type: github.String("blob"), Content: github.String("on: push")},
	})
	check(t, err)
	commit, _, err := g.CreateCommit(ctx, owner, name, &github.Commit{Message: github.String("m"), Tree: tree, Parents: []*github.Commit{{SHA: &sha}}}, nil)
	check(t, err)
	_, _, err = g.CreateRef(ctx, owner, name, &github.Reference{Ref: github.String("refs/heads/ci"), Object: &github.GitObject{SHA: commit.SHA}})
	if resp := refused(t, err, http.StatusForbidden); !strings.Contains(resp.Message, ".github/workflows/ci.yml") {
		t.Errorf("message %q", resp.Message)
	}
}

func TestPullRefusals(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{NoDrafts: true})
	ctx := t.Context()
	commit := w.change(ctx, t, "ai/fix-1")
	_, _, err := w.client.Git.CreateRef(ctx, owner, name, &github.Reference{Ref: github.String("refs/heads/same"), Object: &github.GitObject{SHA: commit.Parents[0].SHA}})
	check(t, err)
	open := func(head, base string, draft bool) error {
		_, _, err := w.client.PullRequests.Create(ctx, owner, name, &github.NewPullRequest{
			Title: github.String("t"), Head: &head, Base: &base, Draft: &draft,
		})
		return err
	}
	check(t, open("ai/fix-1", "main", false))
	for _, tc := range []struct {
		head, base string
		draft      bool
		want       string
	}{
		{"ai/fix-1", "main", false, "A pull request already exists for acme:ai/fix-1."},
		{"acme:ai/fix-1", "main", false, "A pull request already exists for acme:ai/fix-1."},
		{"same", "main", false, "No commits between main and same"},
		{"none", "main", false, "head"},
		{"ai/fix-1", "none", false, "base"},
		{"ai/fix-1", "same", true, "Draft pull requests are not supported"},
	} {
		resp := refused(t, open(tc.head, tc.base, tc.draft), http.StatusUnprocessableEntity)
		if e := resp.Errors[0]; e.Field != tc.want && !strings.Contains(e.Message, tc.want) {
			t.Errorf("%s to %s: %v, want %q", tc.head, tc.base, e, tc.want)
		}
	}
}

// TestMergeClosesIssue: a merged pull request closes the issues it fixes.
func TestMergeClosesIssue(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	w.change(ctx, t, "ai/fix-1")
	pull, _, err := w.client.PullRequests.Create(ctx, owner, name, &github.NewPullRequest{
		Title: github.String("t"), Head: github.String("ai/fix-1"), Base: github.String("main"), Body: github.String("Fixes #1"),
	})
	check(t, err)
	check(t, w.hub.MergePull(full, pull.GetNumber(), maya))
	issue, err := w.hub.Issue(full, w.issue)
	check(t, err)
	pulls, err := w.hub.Pulls(full)
	check(t, err)
	if issue.State != "closed" || !pulls[0].Merged || pulls[0].State != "closed" {
		t.Errorf("issue %s, pull %v", issue.State, pulls[0])
	}
	file, _, _, err := w.client.Repositories.GetContents(ctx, owner, name, "src/add.go", nil)
	check(t, err)
	if text, err := file.GetContent(); err != nil || !strings.Contains(text, "a + b") {
		t.Errorf("main has %q, %v", text, err)
	}
	got, _, err := w.client.PullRequests.Get(ctx, owner, name, pull.GetNumber())
	check(t, err)
	if !got.GetMerged() || got.GetMergedBy().GetLogin() != maya {
		t.Errorf("pull %v", got)
	}
}
