package solver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// solved is a solve of three experiments: two that pass, one that fails. Its pull
// request is open, with the champion as its head.
func (w *world) solved() solve.Solve {
	w.Helper()
	w.play("long", run("write good but longer"))
	s := w.final(w.ask(with("good", "long", "bad")), solve.StateSolved)
	w.hub.set(func(h *hub) {
		h.pull = solve.PullNow{Open: true, Branch: s.Branch, SHA: s.Pull.Commit, Base: "main"}
	})
	return s
}

// next is the solve that an ask has started on the issue of an earlier one.
func (w *world) next(s solve.Solve, want solve.State) (solve.Solve, []solve.Run) {
	w.Helper()
	newest := func() solve.Solve {
		now, err := w.store.LatestSolve(w.Context(), s.Repo.ID, s.Issue.Number)
		w.must(err)
		return now
	}
	w.await(time.Hour, "the next solve", func() bool { return newest().ID != s.ID && newest().State.Final() })
	now := w.final(newest().ID, want)
	return now, w.runs(now.ID)
}

// asked asks for a run of the last solve's.
func (w *world) asked(kind solve.CommandKind, issue int, change func(*solve.Command)) (reply, reaction string) {
	w.Helper()
	return w.sayAs(kind, issue, "", change)
}

// TestRetry: what passed is carried over with its patch and costs nothing again, the
// others run again, and the champion of all goes to the same pull request.
func TestRetry(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		w.start("a")
		s := w.solved()
		before, calls := w.models.count("good"), w.models.count("bad")
		if reply, _ := w.asked(solve.CommandRetry, s.Issue.Number, nil); reply != "" {
			w.Errorf("the answer is %q", reply)
		}
		now, runs := w.next(s, solve.StateSolved)
		if now.Base.SHA != s.Base.SHA || now.Branch != s.Branch || now.Pull.Number != s.Pull.Number || writer.count() != 2 {
			w.Errorf("retried on %s, branch %s, pull request %+v, %d writes", now.Base.SHA, now.Branch, now.Pull, writer.count())
		}
		if w.models.count("good") != before || w.models.count("bad") == calls {
			w.Errorf("model good was asked %d times, bad %d times", w.models.count("good"), w.models.count("bad"))
		}
		from := &solve.Origin{Solve: s.ID, N: 1}
		if r := runs[0]; r.State != solve.RunPassed || r.From == nil || *r.From != *from || runs[2].From != nil || runs[2].State != solve.RunFailed {
			w.Errorf("the runs are %+v", runs)
		}
		if now.Decision.Champion != s.Decision.Champion {
			w.Errorf("champion %d, was %d", now.Decision.Champion, s.Decision.Champion)
		}
		if files := w.commit(now.ID).Files; len(files) != 1 {
			w.Errorf("the carried champion's commit: %v", files)
		}
		text := report.StatusText(report.View{Solve: now, Runs: runs})
		if !strings.Contains(text, "carried over") || strings.Contains(text, "Cost of all runs: "+cost(w.runs(s.ID))) {
			w.Errorf("the status is %s", text)
		}
	})
}

func cost(runs []solve.Run) string {
	var sum solve.Money
	for _, r := range runs {
		sum += r.Progress.Usage.Cost
	}
	return sum.String()
}

// TestRetryWithoutChampion: nothing is carried, and the pull request is the first.
func TestRetryWithoutChampion(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		w.start("a")
		s := w.final(w.ask(with("bad")), solve.StateUnsolved)
		w.models.set("bad", run("write good at last"))
		w.asked(solve.CommandRetry, s.Issue.Number, nil)
		now, runs := w.next(s, solve.StateSolved)
		if now.Target() != nil || now.Branch == s.Branch || now.Pull.Number != 101 || writer.count() != 1 || runs[0].From != nil {
			w.Errorf("%+v on %s, runs %+v", now.Pull, now.Branch, runs)
		}
	})
}

// TestRetryOfWhatNeverRan: a solve that failed before it had runs is asked for anew.
func TestRetryOfWhatNeverRan(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		w.hub.set(func(h *hub) { h.open = false })
		s := w.final(w.ask(with("good")), solve.StateFailed)
		w.hub.set(func(h *hub) { h.open = true })
		w.asked(solve.CommandRetry, s.Issue.Number, nil)
		if now, _ := w.next(s, solve.StateSolved); now.Follows != nil || len(now.Request.Models) != 1 {
			w.Errorf("%+v", now)
		}
	})
}

// TestPick: an alternate becomes the champion of the same pull request. Nothing runs,
// and the record says who picked and what the rule says.
func TestPick(t *testing.T) {
	for _, n := range []int{2, 0} { // 0 is the runner-up
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.writer()
				w.start("a")
				s := w.solved()
				lays := w.machine.count("lay")
				w.asked(solve.CommandPick, s.Pull.Number, func(a *solve.Command) { a.N = n }) // in the pull request's thread
				now, runs := w.next(s, solve.StateSolved)
				if d := now.Decision; d.Champion != 2 || d.PickedBy != "ann" || d.First != 1 || now.Pull.Number != s.Pull.Number {
					w.Errorf("%+v to %+v", d, now.Pull)
				}
				if w.machine.count("lay") != lays || now.Trigger.Thread != s.Pull.Number {
					w.Errorf("%d trees were laid out, thread %d", w.machine.count("lay")-lays, now.Trigger.Thread)
				}
				if files := w.commit(now.ID).Files; len(files) != 1 || !strings.HasPrefix(string(files[0].Data), "good but longer") {
					w.Errorf("%v", files)
				}
				if _, same := report.Explain(solve.Record{V: solve.RecordVersion, Solve: now, Runs: runs}); !same {
					w.Error("the record does not recompute")
				}
				if st := w.bundled(now.ID); !strings.Contains(blobs(st), " base-report.json ") {
					w.Errorf("nobody can judge it again: %s", blobs(st))
				}
				if why := report.WhyText(report.View{Solve: now, Runs: runs}); !strings.Contains(why, "`ann` picked it") || !strings.Contains(why, "run 1 ranks before it") {
					w.Error(why)
				}
			})
		})
	}
}

// TestRevise: the base is the pull request's head, whoever wrote it, and the wish
// stands in the task.
func TestRevise(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		s := w.solved()
		w.hub.set(func(h *hub) { h.pull.SHA = h.sha }) // a commit that the mirror has
		w.asked(solve.CommandRevise, s.Pull.Number, func(a *solve.Command) { a.Text = "Please <!-- not this --> shorten it." })
		now, runs := w.next(s, solve.StateSolved)
		if now.Base.SHA != w.hub.sha || now.Base.Branch != "main" || now.Branch != s.Branch || now.Pull.Number != s.Pull.Number {
			w.Errorf("base %+v, branch %s, %+v", now.Base, now.Branch, now.Pull)
		}
		if len(runs) != 3 || runs[0].From != nil {
			w.Errorf("%d runs, %+v", len(runs), runs[0].From)
		}
		if task := now.Task(); !strings.Contains(task, "It is wrong") || !strings.Contains(task, "shorten it") || strings.Contains(task, "not this") {
			w.Error(task)
		}
		if m := report.CommitMessage(report.View{Solve: now, Runs: runs}); !strings.HasPrefix(m, "fix: address the review of #101") {
			w.Error(m)
		}
	})
}

// TestFollowRefusals: what cannot be gone on from is told, and starts nothing.
func TestFollowRefusals(t *testing.T) {
	bubble(t, func(w *world) {
		w.endless("endless", "good")
		w.writer()
		w.start("a")
		passed := w.final(w.ask(with("good")), solve.StateSolved)
		none := w.final(w.ask(with("bad")), solve.StateUnsolved)
		s := w.solved()
		pull := w.hub.pull
		at := func(change func(*solve.PullNow)) func(*hub) {
			return func(h *hub) { h.pull = pull; change(&h.pull) }
		}
		as := func(*solve.PullNow) {}
		for _, c := range []struct {
			kind  solve.CommandKind
			issue int
			n     int
			pull  func(*solve.PullNow)
			want  string
		}{
			{solve.CommandRetry, 99, 0, as, "no solve of this issue"},
			{solve.CommandRetry, passed.Issue.Number, 0, as, "All 1 experiments"},
			{solve.CommandPick, none.Issue.Number, 1, as, "Run 1 cannot be picked: failed. No other run can be picked."},
			{solve.CommandPick, none.Issue.Number, 0, as, "has no run 0 to pick"},
			{solve.CommandRevise, none.Issue.Number, 0, as, "no pull request of mine"},
			{solve.CommandPick, s.Issue.Number, 1, as, "Run 1 is the champion already. These can: run 2."},
			{solve.CommandPick, s.Issue.Number, 9, as, "has no run 9 to pick. These can: run 2."},
			{solve.CommandPick, s.Issue.Number, 3, as, "Run 3 cannot be picked: failed"},
			{solve.CommandPick, s.Issue.Number, 2, func(p *solve.PullNow) { p.SHA = "d00d" }, "holds commits of others"},
			{solve.CommandRetry, s.Issue.Number, 0, func(p *solve.PullNow) { p.SHA = "d00d" }, "holds commits of others"},
			{solve.CommandPick, s.Issue.Number, 2, func(p *solve.PullNow) { p.Open, p.Merged = false, true }, "is merged"},
			{solve.CommandRevise, s.Issue.Number, 0, func(p *solve.PullNow) { p.Open = false }, "reopen it"},
			{solve.CommandRevise, s.Issue.Number, 0, func(p *solve.PullNow) { p.Fork = true }, "does not come from my branch"},
		} {
			w.hub.set(at(c.pull))
			reply, reaction := w.asked(c.kind, c.issue, func(a *solve.Command) { a.N = c.n })
			if !strings.Contains(reply, c.want) || reaction != "confused" {
				w.Errorf("%s %d on issue %d: %q with %q, want %q", c.kind, c.n, c.issue, reply, reaction, c.want)
			}
		}
		live := w.ask(with("endless"))
		w.runState(live, solve.RunWorking)
		if reply, _ := w.asked(solve.CommandRetry, w.solve(live).Issue.Number, nil); !strings.Contains(reply, "being solved already") {
			w.Errorf("during a solve: %q", reply)
		}
		w.cancel(live)
	})
}

// TestFollowIsCreatedOnce: a crash between the solve and the answer to its ask starts no second one.
func TestFollowIsCreatedOnce(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		s := w.solved()
		guid := w.nextGUID()
		child := w.ask(func(c *solve.Solve) {
			c.Issue, c.Trigger.Key = s.Issue, "ask:"+guid
		})
		w.asked(solve.CommandRetry, s.Issue.Number, nil)
		w.final(child, solve.StateSolved)
		if now, err := w.store.LatestSolve(w.Context(), s.Repo.ID, s.Issue.Number); err != nil || now.ID != child {
			w.Errorf("%s was started, too: %v", now.ID, err)
		}
	})
}

// TestGoesOnFromAncestor: a follower that was refused before it had runs of its own does
// not stand between a person and the runs there are.
func TestGoesOnFromAncestor(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		s := w.solved()
		w.hub.set(func(h *hub) { h.open = false })
		w.asked(solve.CommandPick, s.Issue.Number, func(a *solve.Command) { a.N = 2 })
		refused, _ := w.next(s, solve.StateFailed)
		w.hub.set(func(h *hub) { h.open = true })
		w.asked(solve.CommandPick, s.Issue.Number, func(a *solve.Command) { a.N = 2 })
		if now, _ := w.next(refused, solve.StateSolved); now.Decision.Champion != 2 || now.Follows.Of != s.ID {
			w.Errorf("%+v goes on from %s", now.Decision, now.Follows.Of)
		}
	})
}

// TestOldCheckRunsAskForNothing: a check run names the solve that it was made for. Its buttons say
// where the newest ones are; a command goes on from the last solve of the pull request.
func TestOldCheckRunsAskForNothing(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		s := w.solved()
		w.asked(solve.CommandPick, s.Issue.Number, func(a *solve.Command) { a.N = 2 })
		picked, _ := w.next(s, solve.StateSolved)
		w.hub.set(func(h *hub) { h.pull.SHA = picked.Pull.Commit })
		old := func(a *solve.Command) { a.Solve, a.Button, a.CommentID = s.ID, true, 55 }
		w.asked(solve.CommandPick, s.Issue.Number, old)
		f, err := w.store.Effect(w.Context(), "earlier-"+string(s.ID)+"/reply")
		if w.must(err); !strings.Contains(w.replyText(f), "earlier solve") {
			w.Errorf("the pick of an old check run: %q", w.replyText(f))
		}
		w.asked(solve.CommandRetry, s.Issue.Number, old)
		if now, err := w.store.LatestSolve(w.Context(), s.Repo.ID, s.Issue.Number); err != nil || now.ID != picked.ID {
			w.Errorf("an old check run asked for %s: %v", now.ID, err)
		}
		w.asked(solve.CommandRetry, s.Issue.Number, nil)
		if now, _ := w.next(picked, solve.StateSolved); now.Follows.Of != picked.ID {
			w.Errorf("it goes on from %s, want %s", now.Follows.Of, picked.ID)
		}
	})
}

// TestRetryOfARevision tries the revision again, not the issue.
func TestRetryOfARevision(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		s := w.solved()
		w.hub.set(func(h *hub) { h.pull.SHA = h.sha })
		w.asked(solve.CommandRevise, s.Pull.Number, func(a *solve.Command) { a.Text = "Shorten it." })
		revised, _ := w.next(s, solve.StateSolved)
		w.hub.set(func(h *hub) { h.pull.SHA = revised.Pull.Commit })
		w.asked(solve.CommandRetry, s.Pull.Number, nil)
		now, _ := w.next(revised, solve.StateSolved)
		if !strings.Contains(now.Task(), "Shorten it.") || now.Base.SHA != revised.Base.SHA {
			w.Errorf("the task is %q on %s", now.Task(), now.Base.SHA)
		}
	})
}
