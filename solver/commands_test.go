package solver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// say stores an ask as a comment would, and waits for its answer.
func (w *world) say(kind solve.CommandKind, issue int, text string) (reply, reaction string) {
	w.Helper()
	return w.sayAs(kind, issue, text, nil)
}

// nextGUID is that of the next ask.
func (w *world) nextGUID() string { return "guid" + string(rune('a'+w.said+1)) }

// sayAs is say with what only some kinds of asks have.
func (w *world) sayAs(kind solve.CommandKind, issue int, text string, change func(*solve.Command)) (reply, reaction string) {
	w.Helper()
	guid := w.nextGUID()
	w.said++
	a := solve.Command{
		Kind: kind, Repo: solve.Repo{Installation: 1, ID: 7, Owner: "octo", Name: "project", DefaultBranch: "main"},
		Issue: issue, Actor: "ann", CommentID: 55, Text: text, At: time.Now(),
	}
	if change != nil {
		change(&a)
	}
	_, err := w.store.Accept(w.Context(), solve.Delivery{GUID: guid, Received: time.Now()}, solve.Intent{Command: &a})
	w.must(err)
	w.await(3*time.Hour, "an answer", func() bool {
		list, err := w.store.Commands(w.Context())
		return err == nil && len(list) == 0
	})
	for _, owner := range []string{guid, solve.DeniedReplyID(a.Repo, issue, a.Actor)} {
		if f, err := w.store.Effect(w.Context(), owner+"/reply"); err == nil {
			reply = w.replyText(f)
		}
	}
	for _, owner := range []string{guid, solve.DeniedReplyID(a.Repo, issue, a.Actor)} {
		f, err := w.store.Effect(w.Context(), owner+"/react")
		if err != nil {
			continue
		}
		reaction = f.Text
		if owner == guid && f.CommentID != 55 {
			w.Errorf("the reaction is on comment %d", f.CommentID)
		}
	}
	return reply, reaction
}

// TestAsks: each kind of ask has its answer, with and without a solve.
func TestAsks(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("long", "good")
		w.start("a")
		expect := func(kind solve.CommandKind, issue int, word, react string) {
			w.Helper()
			if reply, reaction := w.say(kind, issue, "Did you mean solve?"); reaction != react || !strings.Contains(reply, word) || (word == "") != (reply == "") {
				w.Errorf("%s on issue %d: %q with %q, want %q with %q", kind, issue, reply, reaction, word, react)
			}
		}
		for _, kind := range []solve.CommandKind{solve.CommandStatus, solve.CommandCancel, solve.CommandRunning} {
			expect(kind, 99, "no solve of this issue yet", "confused")
		}
		expect(solve.CommandHelp, 99, "Did you mean solve?", "eyes") // the text comes with the ask
		expect(solve.CommandUnknown, 99, "Did you mean solve?", "confused")
		if reply, _ := w.say(solve.CommandHelp, 99, ""); reply != report.HelpText() {
			w.Errorf("help without a text: %q", reply)
		}

		id := w.ask(with("long"))
		w.runState(id, solve.RunWorking)
		expect(solve.CommandStatus, 1, "Running 1 experiment", "eyes")
		expect(solve.CommandRunning, 1, "already", "eyes")
		expect(solve.CommandCancel, 1, "", "+1")
		s := w.final(id, solve.StateCancelled)
		if s.CancelBy != "ann" {
			w.Errorf("cancelled by %q", s.CancelBy)
		}
		<-time.After(time.Second) // who asks in the moment of the end may have asked before it
		expect(solve.CommandCancel, 1, "already ended: cancelled", "confused")
		expect(solve.CommandStatus, 1, "cancelled", "eyes")
	})
}

// TestAsksNeedRights: whoever may not write gets the reason, and nothing happens.
func TestAsksNeedRights(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("long", "good")
		w.start("a")
		id := w.ask(with("long"))
		w.runState(id, solve.RunWorking)
		w.hub.set(func(h *hub) { h.role, h.write = "triage", false })
		for _, kind := range []solve.CommandKind{solve.CommandStatus, solve.CommandCancel, solve.CommandHelp, solve.CommandUnknown, solve.CommandRunning} {
			before := w.hub.count("permission")
			reply, reaction := w.say(kind, 1, "text")
			if reply != report.RefusedText("ann", "triage") || reaction != "-1" || w.hub.count("permission") != before+1 {
				w.Errorf("%s: %q with %q after %d look-ups", kind, reply, reaction, w.hub.count("permission")-before)
			}
		}
		if s := w.solve(id); !s.CancelAt.IsZero() {
			w.Error("the cancel counted")
		}
		w.cancel(id)
	})
}

// TestAsksWaitForGitHub: a passing fault delays the answer; GitHub is not asked
// before it says so, and not at every change of the store.
func TestAsksWaitForGitHub(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.play("busy", many(60, run("sleep 1s"))...)
		w.start("a")
		id := w.ask(with("busy"), times(3))
		w.runState(id, solve.RunWorking)
		before, asked := w.hub.count("permission"), time.Now()
		w.hub.fail("permission", fault{passes: true, after: 30 * time.Second}, fault{passes: true})
		if reply, reaction := w.say(solve.CommandHelp, 1, ""); reaction != "eyes" || reply == "" {
			w.Errorf("%q with %q", reply, reaction)
		}
		if d, n := time.Since(asked), w.hub.count("permission")-before; d < 32*time.Second || d > 40*time.Second || n != 3 {
			w.Errorf("answered after %s and %d look-ups", d, n)
		}
		w.final(id, solve.StateUnsolved)
	})
}

// TestAsksThatFail are answered with what people may know.
func TestAsksThatFail(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, c := range map[string]struct {
		err         error
		least, most time.Duration
	}{
		"for good":    {errors.New("the app was removed"), 0, time.Second},
		"for an hour": {fault{passes: true, after: time.Minute}, time.Hour, time.Hour + 2*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.hub.refuse("permission", c.err)
				w.start("a")
				asked := time.Now()
				reply, reaction := w.say(solve.CommandStatus, 1, "")
				if !strings.Contains(reply, c.err.Error()) || reaction != "confused" {
					w.Errorf("%q with %q", reply, reaction)
				}
				if d := time.Since(asked); d < c.least || d > c.most {
					w.Errorf("answered after %s", d)
				}
			})
		})
	}
}
