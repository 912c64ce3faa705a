package checker_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/checker"
)

// TestClean: evidence of a solve that went well has no finding, nor have things
// that look like one and are none.
func TestClean(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.live()
	w.write()
	// A second comment and a second check run that were put right.
	w.again("comment", "kind=result")
	w.record("DELETE", "issues/comments", "comment "+last(w), nil)
	w.again("check", `"external_id":"yudai:`+string(solved)+`"`)
	w.record("PATCH", "check-runs", "check "+last(w), map[string]any{"status": "completed", "conclusion": "neutral", "output": map[string]any{"title": "superseded"}})
	// Deliveries that were not acknowledged, ask for nothing, or came twice.
	w.history = append(w.history,
		githubsim.Record{Kind: "delivery", Status: 502, Event: "issues", Action: "labeled", GUID: "x", Sender: "alice", Text: "yudai:solve"},
		githubsim.Record{Kind: "delivery", Status: 200, Event: "issues", Action: "labeled", GUID: "y", Sender: "alice", Text: "bug"},
		githubsim.Record{Kind: "delivery", Status: 200, Event: "issue_comment", Action: "created", GUID: "z", Sender: "yudai[bot]", Text: "/yudai solve"},
		githubsim.Record{Kind: "request", Status: 422, Method: "POST", Path: "/repos/acme/widget/pulls", Body: json.RawMessage(`{"head":"ai/fix-1"}`)},
	)
	w.delivered(guid)
	w.e.Calls, w.e.Crashes = w.calls("1 1 2 3 3"), 2
	r := w.report()
	if !r.OK() || r.String() != "0 lost, 0 doubled, 0 leaked, 0 paid twice" {
		t.Error(r)
	}
}

// last is the number given out last.
func last(w *world) string {
	_, n, _ := strings.Cut(w.history[len(w.history)-1].Target, " ")
	return n
}

// calls writes a file of model calls of one run, by their steps.
func (w *world) calls(steps string) string {
	path := filepath.Join(w.dir, "calls.jsonl")
	var b strings.Builder
	for step := range strings.FieldsSeq(steps) {
		b.WriteString(`{"run":"` + string(solved) + `/1","step":` + step + "}\n")
	}
	w.must(os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// TestFindings makes every kind of finding by hand.
func TestFindings(t *testing.T) {
	t.Parallel()
	const label, comment = "delivery 00000000-0000-0000-0000-000000000002 (issues.labeled of acme/widget#1) ", "comment"
	other := strings.Replace(guid, "1", "2", 1)
	for _, c := range []struct {
		name, list, text string
		spoil            func(*world)
	}{
		{"acknowledged before it was stored", "lost", label + "was acknowledged and is not stored", func(w *world) { w.delivered(other) }},
		{"stored and forgotten", "lost", label + "was acknowledged and led to nothing", func(w *world) {
			w.delivered(other)
			w.accept(other, solve.Intent{})
		}},
		{"an ask", "lost", "(help) was never answered", func(w *world) {
			w.accept(other, solve.Intent{Command: &solve.Command{ID: other, Kind: solve.CommandHelp, Repo: repo(), Issue: 1}})
		}},
		{"pull request", "lost", "which GitHub never opened", func(w *world) { w.drop("pull", "") }},
		{"scorecard", "lost", "has no completed scorecard", func(w *world) { w.drop("check", "/head") }},
		{"final comment", "lost", "is solved without a comment that says so", func(w *world) { w.drop(comment, "kind=result") }},
		{"a comment of a receipt", "lost", "is not there", func(w *world) { w.drop(comment, "kind=comment") }},
		{"completed check run", "lost", "is solved without a completed check run", func(w *world) { w.drop("check", `"completed"`) }},
		{"a run's check run", "lost", "names check run", func(w *world) { w.drop("check", "/1") }},
		{"a solve", "lost", "which the store does not know", func(w *world) { w.comment(1, "unheard", solve.EffectReply) }},
		{"an event", "lost", "stands in place", func(w *world) {
			w.edit(func(tx *bbolt.Tx) error {
				c := tx.Bucket([]byte("events")).Cursor()
				c.First()
				return c.Delete()
			})
		}},
		{"two pull requests", "doubled", "2 pull requests from branch " + branch, func(w *world) { w.again("pull", "") }},
		{"two comments", "doubled", "2 comments of kind result", func(w *world) { w.again(comment, "kind=result") }},
		{"a comment without marker", "doubled", "has no marker", func(w *world) {
			w.record("POST", "issues/1/comments", "comment 1", map[string]any{"body": "hello"})
		}},
		{"two check runs", "doubled", "2 check runs", func(w *world) { w.again("check", "/head") }},
		{"two solves", "doubled", "2 solves for the trigger k", func(w *world) {
			w.edit(func(tx *bbolt.Tx) error {
				b := tx.Bucket([]byte("solves"))
				data := b.Get([]byte(solved))
				return b.Put([]byte("c0000000000000000002"), []byte(strings.ReplaceAll(string(data), string(solved), "c0000000000000000002")))
			})
		}},
		{"a branch", "leaked", "branch ai/fix-9 of acme/widget belongs to no solve", func(w *world) {
			w.record("POST", "git/refs", "ref refs/heads/ai/fix-9", map[string]any{"ref": "refs/heads/ai/fix-9"})
		}},
		{"a model call", "paid", "asked the model 2 times", func(w *world) { w.e.Calls, w.e.Crashes = w.calls("1 2 2 3 3"), 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.live()
			w.write()
			c.spoil(w)
			r := w.report()
			if c.name == "two solves" {
				r.Lost = nil // the copy has neither events nor effects
			}
			found(t, r, c.list, c.text)
		})
	}
}

// TestUnfinished stops the solve after each of its steps: it is lost.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	for n := 1; n < len((&world{}).steps()); n++ {
		w := newWorld(t)
		for _, step := range w.steps()[:n] {
			step()
		}
		w.write()
		found(t, w.report(), "lost", "solve "+string(solved)+" is still ")
	}
}

// TestEffects: one that is not written, and one given up without a reason, are
// lost; one given up for a reason is not, nor is the comment it would have made.
func TestEffects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		end        func(*world, solve.Effect)
	}{
		{"pending", "/result is still pending", func(*world, solve.Effect) {}},
		{"dead", "/result was given up without a reason", func(w *world, e solve.Effect) {
			w.must(w.store.KillEffect(w.t.Context(), e.Key, e.Token, ""))
		}},
		{"locked", "", func(w *world, e solve.Effect) {
			w.must(w.store.KillEffect(w.t.Context(), e.Key, e.Token, "the issue is locked"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.skip = func(e solve.Effect) bool { return e.Kind == solve.EffectFinal }
			w.live()
			w.write()
			if c.name != "pending" {
				e, err := w.store.ClaimEffect(t.Context(), string(solved)+"/result", "n", 1)
				w.must(err)
				c.end(w, e)
			}
			if r := w.report(); c.text == "" && !r.OK() {
				t.Error(r)
			} else if c.text != "" {
				found(t, r, "lost", c.text)
			}
		})
	}
}

// TestStartedAgain: a run that had a sandbox and was queued again was paid twice;
// one that never had one was not.
func TestStartedAgain(t *testing.T) {
	t.Parallel()
	for _, after := range []int{5, 6, 7, 8} { // dispatched, working, harvesting, judging
		w := newWorld(t)
		for i, step := range w.steps() {
			if i == after {
				w.apply(1, solve.Requeued{})
				for _, again := range w.steps()[4:after] {
					again()
				}
			}
			step()
		}
		w.write()
		if r := w.report(); after == 5 && !r.OK() {
			t.Error(r)
		} else if after > 5 {
			found(t, r, "paid", "started again")
		}
	}
}

// TestEvidenceThatCannotBeRead is no verdict.
func TestEvidenceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*world){
		"no history":     func(w *world) { w.e.History += "x" },
		"broken history": func(w *world) { w.must(os.WriteFile(w.e.History, []byte("{\n"), 0o600)) },
		"no store":       func(w *world) { w.e.Store += "x" },
		"no calls":       func(w *world) { w.e.Calls = "nowhere" },
	} {
		w := newWorld(t)
		w.live()
		w.write()
		w.report()
		spoil(w)
		if r, err := checker.Check(t.Context(), w.e); err == nil {
			t.Errorf("%s: %s", name, r)
		}
	}
	w := newWorld(t)
	w.must(os.WriteFile(w.e.History, nil, 0o600))
	if _, err := checker.Check(t.Context(), w.e); err == nil || !strings.Contains(err.Error(), "still uses") {
		t.Errorf("a store in use: %v", err)
	}
}
