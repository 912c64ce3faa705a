package githubsim_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/internal/githubsim/openapi"
)

// idle waits until all webhooks have gone out.
func (w *world) idle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	check(w.t, w.hub.AwaitIdle(ctx))
}

// TestWebhookPayloads causes every event the emulator sends and holds the
// payloads against GitHub's schemas, and the headers against what GitHub sends.
func TestWebhookPayloads(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx, h := t.Context(), w.hub
	check(t, h.Ping(w.app))
	check(t, h.Suspend(w.inst))
	check(t, h.Unsuspend(w.inst))
	check(t, h.Grant(w.inst, map[string]string{"issues": "write", "checks": "write", "contents": "write", "pull_requests": "write"}))
	check(t, h.AddRepos(w.inst, name))
	check(t, h.RemoveRepos(w.inst, name))
	check(t, h.Label(full, w.issue, maya, "yudai:solve"))
	check(t, h.Unlabel(full, w.issue, maya, "yudai:solve"))
	check(t, h.EditIssue(full, w.issue, maya, "New title", "New body"))
	check(t, h.CloseIssue(full, w.issue, maya))
	check(t, h.ReopenIssue(full, w.issue, maya))
	id := must[int64](t)(h.Comment(full, w.issue, maya, "/yudai solve"))
	check(t, h.EditComment(full, id, maya, "/yudai help"))
	check(t, h.DeleteComment(full, id, maya))
	_, _, err := w.client.Issues.CreateComment(ctx, owner, name, w.issue, &github.IssueComment{Body: github.String("mine")})
	check(t, err)

	commit := w.change(ctx, t, "ai/fix-1")
	run, _, err := w.client.Checks.CreateCheckRun(ctx, owner, name, github.CreateCheckRunOptions{
		Name: "yudai", HeadSHA: commit.GetSHA(), Conclusion: github.String("success"), ExternalID: github.String("s1"),
		Actions: []*github.CheckRunAction{{Label: "Retry", Description: "again", Identifier: "retry"}},
	})
	check(t, err)
	check(t, h.Press(full, run.GetID(), maya, "retry"))
	check(t, h.Rerequest(full, run.GetID(), maya))
	check(t, h.RerequestAll(full, run.GetID(), maya))
	pull, _, err := w.client.PullRequests.Create(ctx, owner, name, &github.NewPullRequest{
		Title: github.String("fix"), Head: github.String("ai/fix-1"), Base: github.String("main"), Body: github.String("Fixes #1"),
	})
	check(t, err)
	check(t, h.Review(full, pull.GetNumber(), maya, "changes_requested", "Not like this."))
	check(t, h.MergePull(full, pull.GetNumber(), maya))
	other := must[int](t)(h.OpenIssue(full, otto, "Other", "", "bug"))
	check(t, h.DeleteIssue(full, other, maya))
	check(t, h.Uninstall(w.inst))
	w.idle()

	want := []string{
		"installation.created", "issues.opened", "ping", "installation.suspend", "installation.unsuspend",
		"installation.new_permissions_accepted", "installation_repositories.added", "installation_repositories.removed",
		"issues.labeled", "issues.unlabeled", "issues.edited", "issues.closed", "issues.reopened",
		"issue_comment.created", "issue_comment.edited", "issue_comment.deleted", "issue_comment.created",
		"check_suite.requested", "check_run.created", "check_run.completed", "check_suite.completed",
		"check_run.requested_action", "check_run.rerequested", "check_suite.rerequested",
		"pull_request.opened", "pull_request_review.submitted", "pull_request.closed", "issues.closed",
		"issues.opened", "issues.labeled", "issues.deleted", "installation.deleted",
	}
	if diff := cmp.Diff(want, w.hooks.events(t)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.checkHooks()
}

// checkHooks holds what arrived against the schemas and the header rules.
func (w *world) checkHooks() {
	api := must[*openapi.Validator](w.t)(sharedAPI())
	guid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$`)
	for _, d := range w.hooks.all() {
		event := d.header.Get("X-GitHub-Event")
		action := actionOf(d.payload)
		if err := api.Webhook(event, action, d.payload); err != nil {
			w.t.Errorf("%s.%s: %v", event, action, err)
		}
		mac := hmac.New(sha256.New, []byte(w.app.WebhookSecret))
		mac.Write(d.payload)
		if got, want := d.header.Get("X-Hub-Signature-256"), "sha256="+hex.EncodeToString(mac.Sum(nil)); got != want {
			w.t.Errorf("%s.%s: signature %s, want %s", event, action, got, want)
		}
		if !guid.MatchString(d.header.Get("X-GitHub-Delivery")) || d.header.Get("X-GitHub-Hook-ID") == "" ||
			!strings.HasPrefix(d.header.Get("User-Agent"), "GitHub-Hookshot/") || d.header.Get("X-GitHub-Hook-Installation-Target-Type") != "integration" {
			w.t.Errorf("%s.%s: headers %v", event, action, d.header)
		}
		if event != "ping" && !strings.Contains(string(d.payload), `"installation":{`) {
			w.t.Errorf("%s.%s: no installation in the payload", event, action)
		}
	}
}

func actionOf(payload []byte) string {
	m := regexp.MustCompile(`^\{"action":"(\w+)"`).FindSubmatch(payload)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// TestOwnActionsComeBack: what the app does arrives as webhooks whose sender is its bot.
func TestOwnActionsComeBack(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	_, _, err := w.client.Issues.AddLabelsToIssue(t.Context(), owner, name, w.issue, []string{"yudai:solve"})
	check(t, err)
	w.idle()
	all := w.hooks.all()
	event, err := github.ParseWebHook("issues", all[len(all)-1].payload)
	check(t, err)
	sender := event.(*github.IssuesEvent).GetSender()
	if sender.GetLogin() != "yudai-test[bot]" || sender.GetType() != "Bot" {
		t.Errorf("sender %v", sender)
	}
}

// TestRightsChooseEvents: an installation hears only what its permissions and
// the app's subscription cover, and nothing of other repositories.
func TestRightsChooseEvents(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	_, err := w.hub.CreateRepo("other", name, map[string]string{"a": "a"})
	check(t, err)
	_, err = w.hub.OpenIssue("other/"+name, maya, "not ours", "")
	check(t, err)
	check(t, w.hub.Grant(w.inst, map[string]string{"contents": "read"}))
	check(t, w.hub.CloseIssue(full, w.issue, maya))
	w.idle()
	want := []string{"installation.created", "issues.opened", "installation.new_permissions_accepted"}
	if diff := cmp.Diff(want, w.hooks.events(t)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestRedeliveryKeepsGUID(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	w.idle()
	w.hooks.answer(http.StatusServiceUnavailable)
	check(t, w.hub.Label(full, w.issue, maya, "yudai:solve"))
	w.idle()
	w.hooks.answer(http.StatusOK)
	failed, _, err := w.jwt.Apps.ListHookDeliveries(t.Context(), &github.ListCursorOptions{PerPage: 1})
	check(t, err)
	if len(failed) != 1 || failed[0].GetStatusCode() != http.StatusServiceUnavailable || failed[0].GetRedelivery() {
		t.Fatalf("failed delivery %v", failed)
	}
	_, _, err = w.jwt.Apps.RedeliverHookDelivery(t.Context(), failed[0].GetID())
	var accepted *github.AcceptedError
	if !errors.As(err, &accepted) {
		t.Fatalf("redelivery answered %v, want 202", err)
	}
	w.idle()
	all := w.hooks.all()
	last := all[len(all)-1].header.Get("X-GitHub-Delivery")
	again, _, err := w.jwt.Apps.ListHookDeliveries(t.Context(), &github.ListCursorOptions{PerPage: 1})
	check(t, err)
	if last != failed[0].GetGUID() || again[0].GetGUID() != last || !again[0].GetRedelivery() || again[0].GetID() == failed[0].GetID() {
		t.Errorf("redelivered %s as %v, first %v", last, again[0], failed[0])
	}
	check(t, w.hub.Redeliver(w.app, failed[0].GetID())) // on the settings page
	w.idle()
	if more := w.hooks.all(); len(more) != len(all)+1 || more[len(all)].header.Get("X-GitHub-Delivery") != last {
		t.Errorf("redelivered by hand: %d deliveries, had %d", len(more), len(all))
	}
	if err := w.hub.Redeliver(w.app, 1); !errors.Is(err, githubsim.ErrNotFound) {
		t.Errorf("redelivered what never was: %v", err)
	}
}

// TestDeliveryLogPages walks the log by cursor, newest first, without gaps.
func TestDeliveryLogPages(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	for range 5 {
		check(t, w.hub.Ping(w.app))
	}
	w.idle()
	var got []string
	opts := &github.ListCursorOptions{PerPage: 2}
	for {
		page, resp, err := w.jwt.Apps.ListHookDeliveries(t.Context(), opts)
		check(t, err)
		for _, d := range page {
			got = append(got, d.GetGUID())
		}
		if resp.Cursor == "" {
			break
		}
		opts.Cursor = resp.Cursor
	}
	var want []string
	for _, d := range w.hub.Deliveries(w.app) {
		want = append(want, d.GUID)
	}
	slices.Reverse(want)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 7 {
		t.Errorf("%d deliveries (-want +got):\n%s", len(got), diff)
	}
	w.hub.Advance(73 * time.Hour)
	check(t, w.hub.Ping(w.app))
	w.idle()
	if rows := w.hub.Deliveries(w.app); len(rows) != 8 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestDisturbedDeliveries(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	w.idle()
	begun := len(w.hooks.all())
	for _, d := range []githubsim.Disturbance{
		{Kind: githubsim.DisturbDuplicate, Event: "issues", Action: "labeled"},
		{Kind: githubsim.DisturbDrop, Event: "issues", Action: "labeled", Nth: 2},
		{Kind: githubsim.DisturbReorder, Event: "issue_comment"},
		{Kind: githubsim.DisturbDelay, Event: "issues", Action: "closed", Delay: 30 * time.Millisecond},
	} {
		w.hub.Disturb(d)
	}
	check(t, w.hub.Label(full, w.issue, maya, "one"))
	check(t, w.hub.Label(full, w.issue, maya, "two"))
	_, err := w.hub.Comment(full, w.issue, maya, "late")
	check(t, err)
	check(t, w.hub.Unlabel(full, w.issue, maya, "one"))
	before := time.Now()
	check(t, w.hub.CloseIssue(full, w.issue, maya))
	w.idle()
	if time.Since(before) < 30*time.Millisecond {
		t.Error("the delayed delivery was not delayed")
	}
	want := []string{"issues.labeled", "issues.labeled", "issues.unlabeled", "issue_comment.created", "issues.closed"}
	if diff := cmp.Diff(want, w.hooks.events(t)[begun:]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	all := w.hooks.all()[begun:]
	if a, b := all[0].header.Get("X-GitHub-Delivery"), all[1].header.Get("X-GitHub-Delivery"); a != b {
		t.Errorf("the duplicate has GUID %s, the first %s", b, a)
	}
	dropped := 0
	for _, d := range w.hub.Deliveries(w.app) {
		if d.Done && d.Status == http.StatusBadGateway {
			dropped++
		}
	}
	if dropped != 1 {
		t.Errorf("%d failed deliveries in the log, want the dropped one", dropped)
	}
}
