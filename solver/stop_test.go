package solver_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// happen stores an event of the default repository's issue 1 and does not wait for it.
func (w *world) happen(stop solve.StopEvent, change ...func(*solve.Command)) {
	w.Helper()
	w.said++
	a := solve.Command{
		Kind: solve.CommandStop, Stop: stop, Repo: solve.Repo{Installation: 1, ID: 7, Owner: "octo", Name: "project", DefaultBranch: "main"},
		Issue: 1, Actor: "eve", At: time.Now(),
	}
	for _, c := range change {
		c(&a)
	}
	_, err := w.store.Accept(w.Context(), solve.Delivery{GUID: fmt.Sprintf("stop%d", w.said), Received: a.At}, solve.Intent{Command: &a})
	w.must(err)
}

// decided waits until no ask is left, and tells how long that took.
func (w *world) decided() time.Duration {
	w.Helper()
	began := time.Now()
	w.await(3*time.Hour, "a decision", func() bool {
		list, err := w.store.Commands(w.Context())
		return err == nil && len(list) == 0
	})
	return time.Since(began)
}

// work starts a solve of issue 1 by a label and waits until it works.
func (w *world) work(label string) solve.ID {
	w.Helper()
	w.endless("long", "good")
	w.start("a")
	id := w.ask(with("long"), func(s *solve.Solve) { s.Trigger.Label = label })
	w.runState(id, solve.RunWorking)
	return id
}

func takenOff(label string) func(*solve.Command) { return func(a *solve.Command) { a.Label = label } }

// everywhere makes an event one of the installation.
func everywhere(repos ...int64) func(*solve.Command) {
	return func(a *solve.Command) {
		a.Repo, a.Issue, a.Repos = solve.Repo{Installation: 1, Owner: "octo"}, 0, repos
	}
}

// TestEventsStop: what leaves nothing to solve stops the work, and says who did it; nobody's
// rights are looked up.
func TestEventsStop(t *testing.T) {
	t.Parallel()
	gone := func(h *hub) { h.always["issue"] = fmt.Errorf("issue: %w", solve.ErrNotFound) }
	unread := func(h *hub) { h.always["issue"] = errors.New("this must not be read") }
	paused := func(h *hub) { // no token works
		unread(h)
		h.paused, h.always["repos"] = true, errors.New("this installation has been suspended")
	}
	has := func(ids ...int64) func(*hub) { return func(h *hub) { unread(h); h.has = ids } }
	uninstalled := func(h *hub) { unread(h); h.always["repos"] = fmt.Errorf("token: %w", solve.ErrNotFound) }
	for name, c := range map[string]struct {
		stop   solve.StopEvent
		change func(*solve.Command)
		now    func(*hub)
		reason string
		least  time.Duration
	}{
		"closed":                {solve.StopOnClosed, nil, func(h *hub) { h.open = false }, "the issue was closed by eve", 0},
		"closed and gone":       {solve.StopOnClosed, nil, gone, "the issue was closed by eve", 0},
		"deleted":               {solve.StopOnDeleted, nil, gone, "the issue was deleted by eve", 0},
		"transferred":           {solve.StopOnTransferred, nil, unread, "the issue was moved to another repository by eve", 0},
		"unlabelled":            {solve.StopOnUnlabelled, takenOff("yudai:solve"), func(h *hub) { h.labels = []string{"bug"} }, "the label was removed by eve", 5 * time.Second},
		"unlabelled, in a case": {solve.StopOnUnlabelled, takenOff("YUDAI:Solve"), func(*hub) {}, "the label was removed by eve", 5 * time.Second},
		"suspended":             {solve.StopOnSuspended, everywhere(), paused, "the App was suspended by eve", 0},
		"uninstalled":           {solve.StopOnUninstalled, everywhere(), unread, "the App was uninstalled by eve", 0},
		"repository removed":    {solve.StopOnUninstalled, everywhere(3, 7), has(3, 8), "the repository was taken out of the App's installation by eve", 0},
		"all of them removed":   {solve.StopOnUninstalled, everywhere(3, 7), has(), "the repository was taken out of the App's installation by eve", 0},
		"removed, uninstalled":  {solve.StopOnUninstalled, everywhere(7), uninstalled, "the repository was taken out of the App's installation by eve", 0},
		"by nobody we know":     {solve.StopOnTransferred, func(a *solve.Command) { a.Actor = "" }, unread, "the issue was moved to another repository", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				id := w.work("yudai:solve")
				w.hub.set(c.now)
				rights := w.hub.count("permission")
				if c.change == nil {
					c.change = func(*solve.Command) {}
				}
				w.happen(c.stop, c.change)
				if d := w.decided(); d < c.least || d > c.least+2*time.Second {
					w.Errorf("decided after %s", d)
				}
				s := w.final(id, solve.StateCancelled)
				if s.Reason != c.reason || s.CancelWhy != c.reason {
					w.Errorf("reason %q, why %q, want %q", s.Reason, s.CancelWhy, c.reason)
				}
				if n := w.hub.count("permission"); n != rights {
					w.Errorf("%d look-ups of rights", n-rights)
				}
			})
		})
	}
}

// TestEventsThatStopNothing: they were undone meanwhile, or are about something else.
func TestEventsThatStopNothing(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, c := range map[string]struct {
		stop   solve.StopEvent
		change func(*solve.Command)
		now    func(*hub)
		reads  int
	}{
		"suspended for a moment":  {solve.StopOnSuspended, everywhere(), func(*hub) {}, 2},
		"removed for a moment":    {solve.StopOnUninstalled, everywhere(3, 7), func(h *hub) { h.has = []int64{7} }, 2},
		"closed and reopened":     {solve.StopOnClosed, nil, func(h *hub) { h.open = true }, 1},
		"labelled again":          {solve.StopOnUnlabelled, takenOff("yudai:solve"), func(h *hub) { h.labels = []string{"bug", "Yudai:Solve"} }, 1},
		"deleted and still there": {solve.StopOnDeleted, nil, func(*hub) {}, 2},
		"another label":           {solve.StopOnUnlabelled, takenOff("yudai:cheap"), func(*hub) {}, 0},
		"another issue":           {solve.StopOnClosed, func(a *solve.Command) { a.Issue = 2 }, func(*hub) {}, 0},
		"another repository":      {solve.StopOnClosed, func(a *solve.Command) { a.Repo.ID = 8 }, func(*hub) {}, 0},
		"another installation":    {solve.StopOnSuspended, func(a *solve.Command) { everywhere()(a); a.Repo.Installation = 2 }, func(*hub) {}, 0},
		"other repositories":      {solve.StopOnUninstalled, everywhere(8, 9), func(*hub) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				id := w.work("yudai:solve")
				w.hub.set(c.now)
				reads := func() int { return w.hub.count("issue") + w.hub.count("suspended") + w.hub.count("repos") }
				before := reads()
				if c.change == nil {
					c.change = func(*solve.Command) {}
				}
				w.happen(c.stop, c.change)
				w.decided()
				if s := w.solve(id); !s.CancelAt.IsZero() {
					w.Errorf("stopped: %s", s.CancelWhy)
				}
				if n := reads() - before; n != c.reads {
					w.Errorf("GitHub was asked %d times, want %d", n, c.reads)
				}
				w.cancel(id)
			})
		})
	}
}

// TestFlappingLabel: a label that comes back within five seconds was never away, however
// often, and a solve of a command is not the label's.
func TestFlappingLabel(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		id := w.work("yudai:solve")
		for range 10 { // it is away at most of the moments at which somebody looks
			w.hub.set(func(h *hub) { h.labels = nil })
			w.happen(solve.StopOnUnlabelled, takenOff("yudai:solve"))
			began := time.Now()
			w.await(time.Minute, "a moment", func() bool { return time.Since(began) >= 2*time.Second })
			w.hub.set(func(h *hub) { h.labels = []string{"Yudai:solve"} })
		}
		w.decided()
		if s := w.solve(id); !s.CancelAt.IsZero() {
			w.Errorf("stopped: %s", s.CancelWhy)
		}
		command := w.ask(with("long"), func(s *solve.Solve) { s.Trigger.Kind = solve.TriggerCommand })
		w.hub.set(func(h *hub) { h.labels = nil })
		w.happen(solve.StopOnUnlabelled, takenOff("yudai:solve"), func(a *solve.Command) { a.Issue = 2 })
		w.decided()
		if s := w.solve(command); !s.CancelAt.IsZero() {
			w.Errorf("the command's solve was stopped: %s", s.CancelWhy)
		}
		w.cancel(id)
		w.cancel(command)
	})
}

// TestUnlabelledBeforeLabelled: events may come in the wrong order. The label that is
// not there any more starts nothing that lasts.
func TestUnlabelledBeforeLabelled(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("long", "good")
		w.start("a")
		w.happen(solve.StopOnUnlabelled, takenOff("yudai:solve"))
		id := w.ask(with("long"), func(s *solve.Solve) { s.Trigger.Label = "yudai:solve" })
		w.final(id, solve.StateCancelled)
	})
}

// TestStopsWaitForGitHub: an issue that cannot be read for a moment is neither there nor
// gone; one that can never be read stops nothing, and nobody gets an answer.
func TestStopsWaitForGitHub(t *testing.T) {
	bubble(t, func(w *world) {
		id := w.work("yudai:solve")
		w.hub.refuse("issue", errors.New("no such right"))
		w.happen(solve.StopOnClosed)
		w.decided()
		if s := w.solve(id); !s.CancelAt.IsZero() {
			w.Errorf("stopped: %s", s.CancelWhy)
		}
		for _, kind := range []string{"/reply", "/react"} {
			if _, err := w.store.Effect(w.Context(), fmt.Sprintf("stop%d", w.said)+kind); !errors.Is(err, solve.ErrNotFound) {
				w.Errorf("an event was answered: %v", err)
			}
		}
		w.hub.refuse("issue", nil)
		w.hub.fail("issue", fault{passes: true, after: 30 * time.Second}, fault{passes: true})
		w.hub.set(func(h *hub) { h.open = false })
		w.happen(solve.StopOnClosed)
		if d := w.decided(); d < 30*time.Second {
			w.Errorf("decided after %s", d)
		}
		w.final(id, solve.StateCancelled)
	})
}

// TestSuspensionWaitsForGitHub: one that cannot be looked at yet, or that GitHub does not show at once, stops the work
// later.
func TestSuspensionWaitsForGitHub(t *testing.T) {
	bubble(t, func(w *world) {
		id := w.work("yudai:solve")
		w.hub.fail("suspended", fault{passes: true, after: 30 * time.Second}, fault{passes: true})
		w.hub.set(func(h *hub) { h.paused = true })
		w.happen(solve.StopOnSuspended, everywhere())
		if d := w.decided(); d < 30*time.Second {
			w.Errorf("decided after %s", d)
		}
		w.final(id, solve.StateCancelled)
		again := w.ask(with("long"))
		w.runState(again, solve.RunWorking)
		w.hub.set(func(h *hub) { h.has = []int64{7} })
		w.happen(solve.StopOnUninstalled, everywhere(7))
		<-time.After(2 * time.Second)
		w.hub.set(func(h *hub) { h.has = nil })
		w.decided()
		w.final(again, solve.StateCancelled)
	})
}

// TestButtonsAreAnsweredOnTheIssue: who pressed one has no comment to react on, and reads
// the answer on the solve's issue.
func TestButtonsAreAnsweredOnTheIssue(t *testing.T) {
	bubble(t, func(w *world) {
		id := w.work("yudai:solve")
		press := func(of solve.ID) string {
			w.said++
			guid := fmt.Sprintf("press%d", w.said)
			a := solve.Command{
				Kind: solve.CommandCancel, Repo: solve.Repo{Installation: 1, ID: 7, Owner: "octo", Name: "project"},
				Actor: "ann", Solve: of, Button: true, At: time.Now(),
			}
			_, err := w.store.Accept(w.Context(), solve.Delivery{GUID: guid, Received: time.Now()}, solve.Intent{Command: &a})
			w.must(err)
			w.decided()
			return guid
		}
		w.hub.set(func(h *hub) { h.role, h.write = "triage", false })
		press(id)
		f, err := w.store.Effect(w.Context(), solve.DeniedReplyID(solve.Repo{ID: 7}, 1, "ann")+"/reply")
		if err != nil || f.Issue != 1 || f.Text != report.RefusedText("ann", "triage") {
			w.Errorf("refusal on issue %d: %q, %v", f.Issue, f.Text, err)
		}
		w.hub.set(func(h *hub) { h.role, h.write = "write", true })
		if s := w.solve(id); !s.CancelAt.IsZero() {
			w.Error("the button counted")
		}
		guid := press("solve000000000000099") // nobody knows it: there is no place for an answer
		if _, err := w.store.Effect(w.Context(), guid+"/reply"); !errors.Is(err, solve.ErrNotFound) {
			w.Errorf("answered nowhere: %v", err)
		}
		press(id)
		w.final(id, solve.StateCancelled)
		<-time.After(time.Second) // who asks in the moment of the end may have asked before it
		guid = press(id)
		ended := "button-" + string(id) + "-" + solve.Digest("The last solve of this issue has already ended: cancelled.") + "/reply"
		if f, err := w.store.Effect(w.Context(), ended); err != nil || f.Issue != 1 {
			w.Errorf("answer on issue %d, %v", f.Issue, err)
		}
		press(id) // again, or a copy
		if _, err := w.store.Effect(w.Context(), guid+"/reply"); !errors.Is(err, solve.ErrNotFound) {
			w.Errorf("a reply of the press: %v", err)
		}
		if _, err := w.store.Effect(w.Context(), guid+"/react"); !errors.Is(err, solve.ErrNotFound) {
			w.Errorf("a reaction on a button: %v", err)
		}
	})
}

// TestReviewersAreNotTold: a review asks us for nothing if its author may not write, or if
// the pull request is no solve's.
func TestReviewersAreNotTold(t *testing.T) {
	bubble(t, func(w *world) {
		w.start("a")
		for _, write := range []bool{false, true} {
			w.hub.set(func(h *hub) { h.write = write })
			w.said++
			a := solve.Command{
				ID: fmt.Sprintf("review%d", w.said), Kind: solve.CommandRevise, Review: true, Text: "rename it",
				Repo: solve.Repo{Installation: 1, ID: 7, Owner: "octo", Name: "project"}, Issue: 50, Actor: "ann", At: time.Now(),
			}
			_, err := w.store.Accept(w.Context(), solve.Delivery{GUID: a.ID, Received: time.Now()}, solve.Intent{Command: &a})
			w.must(err)
			w.decided()
			for _, key := range []string{a.ID + "/reply", a.ID + "/react", solve.DeniedReplyID(a.Repo, 50, "ann") + "/reply"} {
				if _, err := w.store.Effect(w.Context(), key); !errors.Is(err, solve.ErrNotFound) {
					w.Errorf("%s: %v", key, err)
				}
			}
		}
	})
}
