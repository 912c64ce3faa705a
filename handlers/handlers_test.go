package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958"

// intake is an Accepter that remembers, with the handlers in front of it.
type intake struct {
	handlers   map[string]githubapp.EventHandler
	deliveries []solve.Delivery
	intents    []solve.Intent
	evicted    []int64
	err        error
	log        bytes.Buffer
}

func (i *intake) Accept(_ context.Context, d solve.Delivery, w solve.Intent) (bool, error) {
	if i.err != nil {
		return false, i.err
	}
	i.deliveries, i.intents = append(i.deliveries, d), append(i.intents, w)
	return true, nil
}

func (i *intake) handle(event string, raw []byte) error {
	ctx := zerolog.New(&i.log).WithContext(context.Background())
	return i.handlers[event].Handle(ctx, event, guid, raw)
}

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func setup(t *testing.T) *intake {
	t.Helper()
	i := &intake{handlers: map[string]githubapp.EventHandler{}}
	for _, h := range handlers.New(handlers.Options{
		Accepter: i, Bot: "yudai[bot]", AppID: 29310, Vocabulary: vocabulary(), ReviseOnReview: true,
		Labels: map[string]string{"yudai:solve": "", "yudai:Cheap": "cheap"},
		Evict:  func(installation int64) { i.evicted = append(i.evicted, installation) },
		Now:    noon, NewID: func() solve.ID { return "cnv8q5k6n88s73a1e0h0" },
	}) {
		for _, event := range h.Handles() {
			if i.handlers[event] != nil {
				t.Fatalf("two handlers for %s: the second would never be called", event)
			}
			i.handlers[event] = h
		}
	}
	return i
}

// load reads an example payload and sets values at dotted paths; a nil value removes.
func load(t *testing.T, file string, set map[string]any) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(set)) {
		keys := strings.Split(path, ".")
		at := doc
		for _, key := range keys[:len(keys)-1] {
			next, ok := at[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		at[keys[len(keys)-1]] = set[path]
		if set[path] == nil {
			delete(at, keys[len(keys)-1])
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func labeled(t *testing.T, set map[string]any) []byte {
	all := map[string]any{"installation.id": 7, "label.name": "yudai:solve"}
	maps.Copy(all, set)
	return load(t, "issues.labeled.json", all)
}

func comment(t *testing.T, body string, set map[string]any) []byte {
	all := map[string]any{"comment.body": body}
	maps.Copy(all, set)
	return load(t, "issue_comment.created.with-installation.json", all)
}

func example(installation int64) solve.Repo {
	return solve.Repo{Installation: installation, ID: 186853002, Owner: "Codertocat", Name: "Hello-World", DefaultBranch: "master"}
}

func exampleSolve(installation int64, trigger solve.Trigger, r solve.Request) *solve.Solve {
	return &solve.Solve{
		V: 1, ID: "cnv8q5k6n88s73a1e0h0", Repo: example(installation),
		Issue: solve.Issue{
			Number: 1, Title: "Spelling error in the README file", Author: "Codertocat",
			Body: "It looks like you accidently spelled 'commit' with two 't's.", //nolint:misspell // as in GitHub's example
		},
		Trigger: trigger, Request: r, State: solve.StateQueued, Created: noon(),
	}
}

func TestLabelAsksForASolve(t *testing.T) {
	t.Parallel()
	i := setup(t)
	raw := labeled(t, nil)
	if err := i.handle("issues", raw); err != nil {
		t.Fatal(err)
	}
	want := []solve.Intent{{Solve: exampleSolve(7, solve.Trigger{
		Kind: solve.TriggerLabel, Key: "label:186853002:1:" + guid, Actor: "Codertocat", Label: "yudai:solve", Delivery: guid, At: noon(),
	}, solve.Request{})}}
	if diff := cmp.Diff(want, i.intents); diff != "" {
		t.Error(diff)
	}
	delivery := []solve.Delivery{{GUID: guid, Event: "issues", Action: "labeled", Payload: raw, Received: noon()}}
	if diff := cmp.Diff(delivery, i.deliveries); diff != "" {
		t.Error(diff)
	}
}

func TestCommandAsksForASolve(t *testing.T) {
	t.Parallel()
	i := setup(t)
	if err := i.handle("issue_comment", comment(t, "/yudai solve models=gpt-5-mini repeat=2", nil)); err != nil {
		t.Fatal(err)
	}
	want := []solve.Intent{{Solve: exampleSolve(1, solve.Trigger{
		Kind: solve.TriggerCommand, Key: "comment:492700400", Actor: "Codertocat", CommentID: 492700400, Delivery: guid, At: noon(),
	}, solve.Request{Models: []string{"gpt-5-mini"}, Repeat: 2})}}
	if diff := cmp.Diff(want, i.intents); diff != "" {
		t.Error(diff)
	}
}

func TestCommandsBecomeAsks(t *testing.T) {
	t.Parallel()
	help := report.HelpText("yudai:solve", "yudai:Cheap")
	for body, want := range map[string]solve.Command{
		"/yudai":        {Kind: solve.CommandHelp, Text: help},
		"/yudai help":   {Kind: solve.CommandHelp, Text: help},
		"/yudai status": {Kind: solve.CommandStatus},
		"/yudai cancel": {Kind: solve.CommandCancel},
		"/yudai retry":  {Kind: solve.CommandRetry},
		"/yudai why":    {Kind: solve.CommandWhy},
		"/yudai pick 3": {Kind: solve.CommandPick, N: 3},
	} {
		want.ID, want.Repo, want.Issue, want.Actor, want.CommentID, want.At = guid, example(1), 1, "Codertocat", 492700400, noon()
		for _, place := range []map[string]any{{}, {"issue.state": "closed"}, {"issue.pull_request.url": "x"}} {
			i := setup(t)
			if err := i.handle("issue_comment", comment(t, body, place)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]solve.Intent{{Command: &want}}, i.intents); diff != "" {
				t.Errorf("%s: %s", body, diff)
			}
		}
	}
}

// A revision is asked for where the pull request is, with all that its author wrote.
func TestReviseOnAPullRequest(t *testing.T) {
	t.Parallel()
	i := setup(t)
	raw := comment(t, "/yudai revise keep the name\nand the tests", map[string]any{"issue.pull_request.url": "x", "issue.number": 8})
	if err := i.handle("issue_comment", raw); err != nil {
		t.Fatal(err)
	}
	want := []solve.Intent{{Command: &solve.Command{
		ID: guid, Kind: solve.CommandRevise, Repo: example(1), Issue: 8, Actor: "Codertocat", CommentID: 492700400,
		Text: "keep the name\nand the tests", At: noon(),
	}}}
	if diff := cmp.Diff(want, i.intents); diff != "" {
		t.Error(diff)
	}
}

// What cannot be done is answered: with the person's name first, the reason, and
// the commands; and never with a line that is itself a command.
func TestRefusalsAreAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		event string
		raw   []byte
		want  string
	}{
		"unknown verb":         {"issue_comment", comment(t, "/yudai slove", nil), "I do not know the command `slove`. Did you mean `solve`?"},
		"revise on an issue":   {"issue_comment", comment(t, "/yudai revise x", nil), "write it on the pull request"},
		"pick of nothing":      {"issue_comment", comment(t, "/yudai pick", nil), "write it as `/yudai pick 3`"},
		"command on a pull":    {"issue_comment", comment(t, "/yudai solve", map[string]any{"issue.pull_request.url": "x"}), "This is a pull request"},
		"command when closed":  {"issue_comment", comment(t, "/yudai solve", map[string]any{"issue.state": "closed"}), "reopen it"},
		"label when closed":    {"issues", labeled(t, map[string]any{"issue.state": "closed"}), "reopen it"},
		"echo of the command":  {"issue_comment", comment(t, "/yudai `\n/yudai solve\n`", nil), "2 commands"},
		"word like a mention":  {"issue_comment", comment(t, "/yudai @everyone", nil), "`@everyone`"},
		"word that ends spans": {"issue_comment", comment(t, "/yudai a``@everyone", nil), "`a''@everyone`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := setup(t)
			if err := i.handle(tt.event, tt.raw); err != nil {
				t.Fatal(err)
			}
			if len(i.intents) != 1 || i.intents[0].Command == nil || i.intents[0].Command.Kind != solve.CommandUnknown {
				t.Fatalf("got %+v", i.intents)
			}
			text := i.intents[0].Command.Text
			if !strings.HasPrefix(text, "@Codertocat, I did nothing.") || !strings.Contains(text, tt.want) ||
				!strings.Contains(text, "<summary>Commands</summary>") || !strings.Contains(text, "strategies=") {
				t.Errorf("answer:\n%s", text)
			}
			if cmd, ok := handlers.ParseComment(text, vocabulary()); ok {
				t.Errorf("the answer is a command: %+v", cmd)
			}
			for line := range strings.Lines(text) {
				if strings.HasPrefix(strings.TrimSpace(line), "/yudai") {
					t.Errorf("a line starts with the command word: %s", line)
				}
			}
		})
	}
}

func TestIrrelevantDeliveriesStoreNothing(t *testing.T) {
	t.Parallel()
	app := map[string]any{"id": 1, "slug": "other"}
	for name, tt := range map[string]struct {
		event string
		raw   []byte
	}{
		"other action":              {"issues", labeled(t, map[string]any{"action": "assigned"})},
		"unknown action":            {"issues", labeled(t, map[string]any{"action": "levitated"})},
		"other label":               {"issues", labeled(t, map[string]any{"label.name": "bug"})},
		"label on a pull request":   {"issues", labeled(t, map[string]any{"issue.pull_request.url": "x"})},
		"label by ourselves":        {"issues", labeled(t, map[string]any{"sender.login": "Yudai[bot]"})},
		"label by a bot":            {"issues", labeled(t, map[string]any{"sender.type": "Bot"})},
		"label without install":     {"issues", labeled(t, map[string]any{"installation.id": nil})},
		"plain comment":             {"issue_comment", comment(t, "You are totally right!", nil)},
		"edited comment":            {"issue_comment", comment(t, "/yudai solve", map[string]any{"action": "edited"})},
		"deleted comment":           {"issue_comment", comment(t, "/yudai solve", map[string]any{"action": "deleted"})},
		"comment by ourselves":      {"issue_comment", comment(t, "/yudai solve", map[string]any{"sender.login": "yudai[bot]"})},
		"comment by a bot":          {"issue_comment", comment(t, "/yudai solve", map[string]any{"comment.user.type": "Bot"})},
		"comment through an app":    {"issue_comment", comment(t, "/yudai solve", map[string]any{"comment.performed_via_github_app": app})},
		"comment without install":   {"issue_comment", load(t, "issue_comment.created.json", map[string]any{"comment.body": "/yudai solve"})},
		"question without install":  {"issue_comment", load(t, "issue_comment.created.json", map[string]any{"comment.body": "/yudai"})},
		"example as GitHub sent it": {"issues", load(t, "issues.labeled.json", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := setup(t)
			if err := i.handle(tt.event, tt.raw); err != nil {
				t.Fatal(err)
			}
			if len(i.intents) != 0 {
				t.Errorf("stored %+v", i.intents)
			}
			if strings.HasSuffix(name, "without install") && !strings.Contains(i.log.String(), "names no installation") {
				t.Errorf("log: %s", i.log.String())
			}
		})
	}
}

func TestMalformedPayloadsAreErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		event string
		raw   []byte
	}{
		"no JSON":      {"issues", []byte("payload=x")},
		"cut":          {"issue_comment", comment(t, "/yudai", nil)[:2000]},
		"wrong types":  {"issues", labeled(t, map[string]any{"repository.id": "x"})},
		"a list":       {"issue_comment", []byte("[]")},
		"no repo":      {"issues", labeled(t, map[string]any{"repository": nil})},
		"no repo name": {"issues", labeled(t, map[string]any{"repository.name": nil})},
		"no owner":     {"issues", labeled(t, map[string]any{"repository.owner": nil})},
		"no issue":     {"issues", labeled(t, map[string]any{"issue": nil})},
		"no sender":    {"issues", labeled(t, map[string]any{"sender": nil})},
		"no comment":   {"issue_comment", comment(t, "/yudai", map[string]any{"comment.id": nil})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := setup(t)
			if err := i.handle(tt.event, tt.raw); !errors.Is(err, handlers.ErrPayload) {
				t.Errorf("err = %v", err)
			}
			if len(i.intents) != 0 {
				t.Errorf("stored %+v", i.intents)
			}
		})
	}
}

func TestStorageFailureIsAnError(t *testing.T) {
	t.Parallel()
	i := setup(t)
	i.err = errors.New("disk full")
	if err := i.handle("issues", labeled(t, nil)); !errors.Is(err, i.err) || errors.Is(err, handlers.ErrPayload) {
		t.Errorf("err = %v", err)
	}
}

func TestConfiguredLabel(t *testing.T) {
	t.Parallel()
	i := &intake{}
	h := handlers.New(handlers.Options{Accepter: i, Labels: map[string]string{"fix me": ""}})[0]
	for _, name := range []string{"yudai:solve", "Fix Me"} {
		if err := h.Handle(context.Background(), "issues", guid, labeled(t, map[string]any{"label.name": name})); err != nil {
			t.Fatal(err)
		}
	}
	if len(i.intents) != 1 || i.intents[0].Solve.Trigger.Label != "Fix Me" || len(i.intents[0].Solve.ID) != 20 || i.deliveries[0].Received.IsZero() {
		t.Errorf("got %+v", i.intents)
	}
}

// FuzzPayload: no bytes make a handler panic or store an intent without a place.
func FuzzPayload(f *testing.F) {
	const place = `"installation":{"id":1},"repository":{"id":2,"name":"r","owner":{"login":"o"}},"sender":{"login":"kim","type":"User"}`
	f.Add([]byte(`{"action":"labeled","label":{"name":"yudai:solve"},"issue":{"number":3,"pull_request":null},` + place + `}`))
	f.Add([]byte(`{"action":"created","comment":{"id":4,"body":"/yudai"},"issue":{"number":3,"state":"closed"},` + place + `}`))
	f.Add([]byte(`{"action":"created","comment":{"id":4,"body":"/yudai solve"},"issue":{"number":3},` + place + `}`))
	f.Add([]byte(`{"action":"closed","issue":{"number":3},` + place + `}`))
	f.Add([]byte(`{"action":"rerequested","check_run":{"external_id":"yudai:cnv8q5k6n88s73a1e0h0/2","app":{"id":29310}},` + place + `}`))
	f.Add([]byte(`{"action":"rerequested","check_suite":{"head_branch":"ai/fix-1-cnv8q5k6n88s73a1e0h0","app":{"id":29310}},` + place + `}`))
	f.Add([]byte(`{"action":"submitted","review":{"state":"changes_requested","body":"x"},"pull_request":{"number":8,"user":{"login":"yudai[bot]"}},` + place + `}`))
	f.Add([]byte(`{"action":"removed","repositories_removed":[{"id":2}],` + place + `}`))
	f.Add([]byte(`{"action":"suspend",` + place + `}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		i := setup(t)
		for event := range i.handlers {
			_ = i.handle(event, raw)
		}
		for _, w := range i.intents {
			if (w.Solve == nil) == (w.Command == nil) {
				t.Errorf("not one of the two: %+v", w)
			}
			a := w.Command
			if a == nil {
				continue
			}
			if a.Repo.Installation == 0 || a.Repo.ID == 0 && a.Kind != solve.CommandStop {
				t.Errorf("no place: %+v", a)
			}
			if a.Issue <= 0 && !a.Button && a.Kind != solve.CommandStop || a.Button && a.Solve == "" {
				t.Errorf("about nothing: %+v", a)
			}
		}
	})
}
