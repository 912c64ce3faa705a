package githubsim_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// page fetches a page as a browser would.
func (w *world) page(path string) string {
	w.t.Helper()
	resp, err := http.Get(w.hub.URL() + path)
	check(w.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	check(w.t, err)
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: status %d: %s", path, resp.StatusCode, body)
	}
	return string(body)
}

func TestPages(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	_, err := w.comment("**bold** <details><summary>more</summary>\n\ninside\n\n</details>\n\n<!-- marker -->\n\n<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n[x](javascript:alert(1)) a<b onclick=x>c\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
	check(t, err)
	check(t, w.hub.React(full, w.issue, maya, "eyes"))
	check(t, w.hub.Label(full, w.issue, maya, "yudai:solve"))
	commit := w.change(ctx, t, "ai/fix-1")
	run, _, err := w.client.Checks.CreateCheckRun(ctx, owner, name, github.CreateCheckRunOptions{
		Name: "yudai / solve", HeadSHA: commit.GetSHA(), Conclusion: github.String("success"),
		Output:  &github.CheckRunOutput{Title: github.String("solved"), Summary: github.String("Champion **run 1**"), Text: github.String("the scorecard")},
		Actions: []*github.CheckRunAction{{Label: "Pick", Description: "choose", Identifier: "pick"}},
	})
	check(t, err)
	_, _, err = w.client.PullRequests.Create(ctx, owner, name, &github.NewPullRequest{
		Title: github.String("fix: add adds"), Head: github.String("ai/fix-1"), Base: github.String("main"), Body: github.String("Fixes #1"),
	})
	check(t, err)

	issue := w.page("/acme/widget/issues/1")
	wants(t, issue, "Add subtracts", "yudai:solve", "<strong>bold</strong>", "<details><summary>more</summary>", "👀 1", "<table>", "yudai-test[bot]")
	for _, bad := range []string{"<script", "<img", "javascript:", "marker", "<b onclick"} {
		if strings.Contains(issue, bad) {
			t.Errorf("the issue's page has %q", bad)
		}
	}
	wants(t, w.page("/acme/widget/pull/2"), "wants to merge", "yudai / solve", "Champion <strong>run 1</strong>", "the scorecard", "src/add.go", `class="del"`, "return a - b")
	wants(t, w.page("/acme/widget"), "Add subtracts", "fix: add adds", "ai/fix-1", "yudai / solve")
	wants(t, w.page("/"), "acme/widget")
	wants(t, w.page("/acme/widget/runs/"+strings.TrimPrefix(run.GetHTMLURL(), w.hub.URL()+"/acme/widget/runs/")), "Pick", "the scorecard")
	for _, path := range []string{"/acme/nothing", "/acme/widget/issues/99", "/acme/widget/what/1"} {
		resp, err := http.Get(w.hub.URL() + path)
		check(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
}

func wants(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			t.Errorf("no %q in the page:\n%s", part, page)
		}
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	w.idle()
	begun := len(w.hooks.all())
	for _, form := range []url.Values{
		{"do": {"comment"}, "as": {maya}, "body": {"/yudai solve"}},
		{"do": {"label"}, "as": {otto}, "label": {"yudai:solve"}},
		{"do": {"unlabel"}, "as": {otto}, "label": {"yudai:solve"}},
		{"do": {"close"}, "as": {maya}},
		{"do": {"reopen"}, "as": {maya}},
	} {
		resp, err := http.PostForm(w.hub.URL()+"/acme/widget/issues/1", form)
		check(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%v: status %d", form, resp.StatusCode)
		}
	}
	w.idle()
	want := []string{"issue_comment.created", "issues.labeled", "issues.unlabeled", "issues.closed", "issues.reopened"}
	if diff := cmp.Diff(want, w.hooks.events(t)[begun:]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.hub.URL()+"/acme/widget/issues/1", strings.NewReader("do=close&as=maya"))
	check(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := http.DefaultClient.Do(req)
	check(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign page's form: status %d", resp.StatusCode)
	}
}
