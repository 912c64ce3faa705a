package handlers_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const solveID = "cnv8q5k6n88s73a1e0h0"

// event is a payload with a place, a person and nothing else, before set.
func event(t *testing.T, action string, set map[string]any) []byte {
	t.Helper()
	all := map[string]any{"action": action}
	maps.Copy(all, set)
	return load(t, "event.json", all)
}

func check(external string) map[string]any {
	return map[string]any{"check_run.external_id": external, "check_run.app.id": 29310}
}

func button(identifier, external string) map[string]any {
	all := check(external)
	all["requested_action.identifier"] = identifier
	return all
}

func suite(branch any) map[string]any {
	return map[string]any{"check_suite.head_branch": branch, "check_suite.head_sha": "d00d", "check_suite.app.id": 29310}
}

func review(state, body string) map[string]any {
	return map[string]any{
		"review.state": state, "review.body": body, "review.user.login": "kim",
		"pull_request.number": 8, "pull_request.user.login": "yudai[bot]",
	}
}

func pull(merged bool) map[string]any {
	return map[string]any{"pull_request.number": 8, "pull_request.user.login": "yudai[bot]", "pull_request.merged": merged}
}

// by is a pull request of somebody's that was merged.
func by(login, body string) map[string]any {
	return with(with(pull(true), "pull_request.user.login", login), "pull_request.body", body)
}

func with(base map[string]any, key string, value any) map[string]any {
	all := maps.Clone(base)
	all[key] = value
	return all
}

var issue3 = map[string]any{"issue.number": 3}

func unlabeled(name string) map[string]any { return with(issue3, "label.name", name) }

func deleted(author, body string) map[string]any {
	all := with(issue3, "comment.id", 77)
	all["comment.user.login"], all["comment.body"] = author, body
	return all
}

// Each event asks for what it means, and for nothing else.
func TestEventsBecomeAsks(t *testing.T) {
	t.Parallel()
	repo := solve.Repo{Installation: 5, ID: 2, Owner: "octo", Name: "project", DefaultBranch: "main"}
	account := solve.Repo{Installation: 5, Owner: "octo"}
	press := func(kind solve.CommandKind, n int) solve.Command {
		return solve.Command{Kind: kind, Repo: repo, Solve: solveID, Button: true, N: n}
	}
	again := press(solve.CommandRetry, 0)
	again.SHA = "d00d"
	stop := func(s solve.StopEvent, label string) solve.Command {
		return solve.Command{Kind: solve.CommandStop, Repo: repo, Issue: 3, Stop: s, Label: label}
	}
	marker := solve.Marker(solveID, "comment") + "\n**Running**"
	long := strings.Repeat("word ", 2000)
	for name, tt := range map[string]struct {
		event string
		raw   []byte
		want  solve.Command
	}{
		"closed":                  {"issues", event(t, "closed", issue3), stop(solve.StopOnClosed, "")},
		"closed by another bot":   {"issues", event(t, "closed", with(issue3, "sender.type", "Bot")), stop(solve.StopOnClosed, "")},
		"deleted":                 {"issues", event(t, "deleted", issue3), stop(solve.StopOnDeleted, "")},
		"transferred":             {"issues", event(t, "transferred", issue3), stop(solve.StopOnTransferred, "")},
		"unlabelled":              {"issues", event(t, "unlabeled", unlabeled("yudai:solve")), stop(solve.StopOnUnlabelled, "yudai:solve")},
		"unlabelled of a profile": {"issues", event(t, "unlabeled", unlabeled("Yudai:cheap")), stop(solve.StopOnUnlabelled, "Yudai:cheap")},
		"our comment deleted": {"issue_comment", event(t, "deleted", deleted("yudai[bot]", marker)), solve.Command{
			Kind: solve.CommandRenew, Repo: repo, Issue: 3, CommentID: 77, Solve: solveID,
		}},
		"cancel pressed":          {"check_run", event(t, "requested_action", button("cancel", "yudai:"+solveID)), press(solve.CommandCancel, 0)},
		"retry pressed":           {"check_run", event(t, "requested_action", button("retry", "yudai:"+solveID)), press(solve.CommandRetry, 0)},
		"pick pressed":            {"check_run", event(t, "requested_action", button("pick", "yudai:"+solveID)), press(solve.CommandPick, 0)},
		"pick of a run":           {"check_run", event(t, "requested_action", button("pick", "yudai:"+solveID+"/12")), press(solve.CommandPick, 12)},
		"pick at the scorecard":   {"check_run", event(t, "requested_action", button("pick", "yudai:"+solveID+"/head")), press(solve.CommandPick, 0)},
		"cancel at a run":         {"check_run", event(t, "requested_action", button("cancel", "yudai:"+solveID+"/2")), press(solve.CommandCancel, 0)},
		"re-run":                  {"check_run", event(t, "rerequested", check("yudai:"+solveID+"/2")), press(solve.CommandRetry, 0)},
		"re-run of a commit":      {"check_suite", event(t, "rerequested", suite("ai/fix-3-"+solveID)), again},
		"branch with a number":    {"check_suite", event(t, "rerequested", suite("yudai/12"+solveID+"-x")), again},
		"branch with two":         {"check_suite", event(t, "rerequested", suite("internationalisation/"+solveID)), again},
		"review":                  {"pull_request_review", event(t, "submitted", review("changes_requested", "Please\n\n<!-- x -->rename it. \n")), solve.Command{Kind: solve.CommandRevise, Repo: repo, Issue: 8, Review: true, Text: "Please\n\nrename it."}},
		"long review":             {"pull_request_review", event(t, "submitted", review("CHANGES_REQUESTED", long)), solve.Command{Kind: solve.CommandRevise, Repo: repo, Issue: 8, Review: true, Text: report.CutMarkdown(strings.TrimSpace(long), 4096, "(The rest of the review is left out.)")}},
		"merged":                  {"pull_request", event(t, "closed", pull(true)), solve.Command{Kind: solve.CommandPull, Repo: repo, Issue: 8}},
		"merged by a bot":         {"pull_request", event(t, "closed", with(pull(true), "sender.type", "Bot")), solve.Command{Kind: solve.CommandPull, Repo: repo, Issue: 8}},
		"closed without a merge":  {"pull_request", event(t, "closed", pull(false)), solve.Command{Kind: solve.CommandPull, Repo: repo, Issue: 8}},
		"merged by others":        {"pull_request", event(t, "closed", by("kim", "Tidy up.\n\n<!-- Fixes #12 -->\n> fixes #13\n\n```\nfixes #14\n```\nWrite `fixes #15`.\nFixes: #3, and resolves\n#3")), solve.Command{Kind: solve.CommandHindsight, Repo: repo, Issue: 3, N: 8}},
		"opened again":            {"pull_request", event(t, "reopened", pull(false)), solve.Command{Kind: solve.CommandPull, Repo: repo, Issue: 8}},
		"uninstalled":             {"installation", event(t, "deleted", map[string]any{"repository": nil}), solve.Command{Kind: solve.CommandStop, Repo: account, Stop: solve.StopOnUninstalled}},
		"suspended":               {"installation", event(t, "suspend", map[string]any{"repository": nil}), solve.Command{Kind: solve.CommandStop, Repo: account, Stop: solve.StopOnSuspended}},
		"repositories taken away": {"installation_repositories", event(t, "removed", map[string]any{"repository": nil, "repositories_removed": []any{map[string]any{"id": 2}, map[string]any{"id": 9}}}), solve.Command{Kind: solve.CommandStop, Repo: account, Stop: solve.StopOnUninstalled, Repos: []int64{2, 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := setup(t)
			if err := i.handle(tt.event, tt.raw); err != nil {
				t.Fatal(err)
			}
			tt.want.ID, tt.want.Actor, tt.want.At = guid, "kim", noon()
			if diff := cmp.Diff([]solve.Intent{{Command: &tt.want}}, i.intents); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]solve.Delivery{{GUID: guid, Event: tt.event, Action: i.deliveries[0].Action, Payload: tt.raw, Received: noon()}}, i.deliveries); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAssignmentAsksForASolve: of the issue to us, by a person.
func TestAssignmentAsksForASolve(t *testing.T) {
	t.Parallel()
	i := setup(t)
	to := func(who string) map[string]any {
		return map[string]any{"action": "assigned", "assignee.login": who, "label.name": ""}
	}
	for _, raw := range [][]byte{
		labeled(t, to("kim")), labeled(t, with(to("yudai[bot]"), "sender.type", "Bot")), labeled(t, to("yudai[bot]")),
	} {
		if err := i.handle("issues", raw); err != nil {
			t.Fatal(err)
		}
	}
	want := []solve.Intent{{Solve: exampleSolve(7, solve.Trigger{
		Kind: solve.TriggerAssigned, Key: "assigned:186853002:1:" + guid, Actor: "Codertocat", Assignee: "yudai[bot]", Delivery: guid, At: noon(),
	}, solve.Request{})}}
	if diff := cmp.Diff(want, i.intents); diff != "" {
		t.Error(diff)
	}
}

// TestLabelOfAProfile: it asks for a solve with that profile.
func TestLabelOfAProfile(t *testing.T) {
	t.Parallel()
	i := setup(t)
	if err := i.handle("issues", labeled(t, map[string]any{"label.name": "yudai:cheap"})); err != nil {
		t.Fatal(err)
	}
	want := []solve.Intent{{Solve: exampleSolve(7, solve.Trigger{
		Kind: solve.TriggerLabel, Key: "label:186853002:1:" + guid, Actor: "Codertocat", Label: "yudai:cheap", Delivery: guid, At: noon(),
	}, solve.Request{Profile: "cheap"})}}
	if diff := cmp.Diff(want, i.intents); diff != "" {
		t.Error(diff)
	}
}

// Whatever is not ours, or not a person's, asks for nothing.
func TestEventsThatAskForNothing(t *testing.T) {
	t.Parallel()
	ours := with(issue3, "sender.login", "yudai[bot]")
	id, branch := "yudai:"+solveID, "ai/fix-3-"+solveID
	own := solve.Marker(solveID, "comment") + "\ntext"
	changes := review("changes_requested", "rename it")
	for name, tt := range map[string]struct {
		event string
		raw   []byte
	}{
		"closed by ourselves":        {"issues", event(t, "closed", ours)},
		"closed pull request":        {"issues", event(t, "closed", with(issue3, "issue.pull_request.url", "x"))},
		"closed, no install":         {"issues", event(t, "closed", with(issue3, "installation", nil))},
		"opened":                     {"issues", event(t, "opened", issue3)},
		"other label off":            {"issues", event(t, "unlabeled", unlabeled("bug"))},
		"no label off":               {"issues", event(t, "unlabeled", issue3)},
		"label off by ourselves":     {"issues", event(t, "unlabeled", with(unlabeled("yudai:solve"), "sender.login", "yudai[bot]"))},
		"deleted by ourselves":       {"issue_comment", event(t, "deleted", with(deleted("yudai[bot]", own), "sender.login", "yudai[bot]"))},
		"deleted by another bot":     {"issue_comment", event(t, "deleted", with(deleted("yudai[bot]", own), "sender.type", "Bot"))},
		"marker of a person deleted": {"issue_comment", event(t, "deleted", deleted("kim", own))},
		"reply deleted":              {"issue_comment", event(t, "deleted", deleted("yudai[bot]", solve.Marker(solveID, "reply")+"\nx"))},
		"no marker deleted":          {"issue_comment", event(t, "deleted", deleted("yudai[bot]", "x\n"+own))},
		"unknown button":             {"check_run", event(t, "requested_action", button("lgtm|26764", id))},
		"check of another app":       {"check_run", event(t, "rerequested", with(check(id), "check_run.app.id", 1))},
		"check of no app":            {"check_run", event(t, "rerequested", with(check(id), "check_run.app.id", nil))},
		"check without our id":       {"check_run", event(t, "rerequested", check(""))},
		"check with a foreign id":    {"check_run", event(t, "rerequested", check(id+"/2/x"))},
		"check created":              {"check_run", event(t, "created", check(id))},
		"pressed by a bot":           {"check_run", event(t, "rerequested", with(check(id), "sender.type", "Bot"))},
		"pressed, no install":        {"check_run", event(t, "rerequested", with(check(id), "installation", nil))},
		"suite of another app":       {"check_suite", event(t, "rerequested", with(suite(branch), "check_suite.app.id", 1))},
		"suite of another branch":    {"check_suite", event(t, "rerequested", suite("main"))},
		"suite without a branch":     {"check_suite", event(t, "rerequested", suite(nil))},
		"suite completed":            {"check_suite", event(t, "completed", suite(branch))},
		"suite by ourselves":         {"check_suite", event(t, "rerequested", with(suite(branch), "sender.login", "yudai[bot]"))},
		"review that approves":       {"pull_request_review", event(t, "submitted", review("approved", "rename it"))},
		"review of few words":        {"pull_request_review", event(t, "submitted", review("changes_requested", "> a\n<!-- b -->"))},
		"review edited":              {"pull_request_review", event(t, "edited", changes)},
		"review of others' work":     {"pull_request_review", event(t, "submitted", with(changes, "pull_request.user.login", "kim"))},
		"review by a bot":            {"pull_request_review", event(t, "submitted", with(changes, "review.user.type", "Bot"))},
		"pull request opened":        {"pull_request", event(t, "opened", pull(false))},
		"pull request closed by bot": {"pull_request", event(t, "closed", with(pull(false), "sender.type", "Bot"))},
		"others' pull request":       {"pull_request", event(t, "closed", with(pull(true), "pull_request.user.login", "kim"))},
		"others' for two issues":     {"pull_request", event(t, "closed", by("kim", "fixes #3, closes #4"))},
		"others' for another's":      {"pull_request", event(t, "closed", by("kim", "fixes octo/more#3, prefixes #4, #5"))},
		"others', closed":            {"pull_request", event(t, "closed", with(by("kim", "fixes #3"), "pull_request.merged", false))},
		"installed":                  {"installation", event(t, "created", nil)},
		"unsuspended":                {"installation", event(t, "unsuspend", nil)},
		"rights accepted":            {"installation", event(t, "new_permissions_accepted", nil)},
		"repositories added":         {"installation_repositories", event(t, "added", nil)},
		"no repositories removed":    {"installation_repositories", event(t, "removed", map[string]any{"repositories_removed": []any{}})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := setup(t)
			if err := i.handle(tt.event, tt.raw); err != nil {
				t.Fatal(err)
			}
			if len(i.intents) != 0 {
				t.Errorf("stored %+v", i.intents[0].Command)
			}
			if strings.HasSuffix(name, "no install") && !strings.Contains(i.log.String(), "names no installation") {
				t.Errorf("log: %s", i.log.String())
			}
		})
	}
}

// No event of any kind is kept for an action that GitHub may think of one day.
func TestUnknownActions(t *testing.T) {
	t.Parallel()
	i := setup(t)
	events := slices.Sorted(maps.Keys(i.handlers))
	want := []string{"check_run", "check_suite", "installation", "installation_repositories", "issue_comment", "issues", "pull_request", "pull_request_review"}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	for _, e := range events {
		for _, action := range []string{"levitated", ""} {
			if err := i.handle(e, event(t, action, with(check("yudai:"+solveID), "label.name", "yudai:solve"))); err != nil || len(i.intents) > 0 {
				t.Errorf("%s.%s: %v, stored %v", e, action, err, i.intents)
			}
		}
	}
}

// A review is an intent only if the operator says so.
func TestReviewsNeedTheOperatorsLeave(t *testing.T) {
	t.Parallel()
	i := &intake{}
	for _, h := range handlers.New(handlers.Options{Accepter: i, Bot: "yudai[bot]"}) {
		if err := h.Handle(context.Background(), "pull_request_review", guid, event(t, "submitted", review("changes_requested", "rename it"))); err != nil {
			t.Errorf("%v: %v", h.Handles(), err)
		}
	}
	if len(i.intents) != 0 {
		t.Errorf("stored %+v", i.intents)
	}
}

// What is kept of an installation is forgotten whenever its rights change.
func TestEviction(t *testing.T) {
	t.Parallel()
	removed := map[string]any{"repositories_removed": []any{map[string]any{"id": 2}}}
	for action, want := range map[string][]int64{
		"deleted": {5}, "suspend": {5}, "unsuspend": {5}, "new_permissions_accepted": {5}, "removed": {5},
		"created": nil, "added": nil,
	} {
		i := setup(t)
		for _, e := range []string{"installation", "installation_repositories"} {
			if err := i.handle(e, event(t, action, removed)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, i.evicted); diff != "" {
			t.Errorf("%s: %s", action, diff)
		}
	}
}

func TestMalformedEventsAreErrors(t *testing.T) {
	t.Parallel()
	id := check("yudai:" + solveID)
	for name, tt := range map[string]struct {
		event string
		raw   []byte
	}{
		"close without issue":        {"issues", event(t, "closed", nil)},
		"close without repository":   {"issues", event(t, "closed", with(issue3, "repository", nil))},
		"button without repository":  {"check_run", event(t, "rerequested", with(id, "repository", nil))},
		"button without sender":      {"check_run", event(t, "rerequested", with(id, "sender", nil))},
		"suite without repository":   {"check_suite", event(t, "rerequested", with(suite(solveID), "repository", nil))},
		"review without number":      {"pull_request_review", event(t, "submitted", with(review("changes_requested", "x"), "pull_request.number", nil))},
		"uninstalled from nowhere":   {"installation", event(t, "deleted", map[string]any{"installation": nil})},
		"suspended by nobody":        {"installation", event(t, "suspend", map[string]any{"sender": nil})},
		"removed from nowhere":       {"installation_repositories", event(t, "removed", map[string]any{"installation": nil})},
		"no JSON: check_run":         {"check_run", []byte("x")},
		"no JSON: check_suite":       {"check_suite", []byte("[]")},
		"no JSON: review":            {"pull_request_review", nil},
		"no JSON: installation":      {"installation", []byte("x")},
		"no JSON: its repositories":  {"installation_repositories", []byte("{")},
		"a repository without sense": {"installation_repositories", event(t, "removed", map[string]any{"repositories_removed": "all"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := setup(t)
			if err := i.handle(tt.event, tt.raw); !errors.Is(err, handlers.ErrPayload) {
				t.Errorf("err = %v", err)
			}
			if len(i.intents) != 0 || len(i.evicted) != 0 {
				t.Errorf("stored %+v, evicted %v", i.intents, i.evicted)
			}
		})
	}
}
