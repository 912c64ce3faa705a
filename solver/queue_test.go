package solver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// jam makes all seats taken: one solve, whose install lasts that long.
func (w *world) jam(d time.Duration) solve.ID {
	w.Helper()
	w.cfg.MaxSolves, w.cfg.Preparing, w.cfg.Tests.Install = 1, 1, installCommand
	w.cfg.Tests.InstallTime = 2 * time.Hour
	w.machine.on(installCommand, sleeps(d))
	w.writer()
	w.start("a")
	id := w.ask()
	w.state(id, solve.StatePreparing)
	return id
}

// effect is one of the solve's, false if nobody wanted it.
func (w *world) effect(id solve.ID, kind solve.EffectKind) (solve.Effect, bool) {
	w.Helper()
	f, err := w.store.Effect(w.Context(), string(id)+"/"+string(kind))
	if err != nil && !errors.Is(err, solve.ErrNotFound) {
		w.Fatal(err)
	}
	return f, err == nil
}

func (w *world) greeted(id solve.ID) {
	w.Helper()
	w.await(2*time.Second, "the greeting of "+string(id), func() bool { return !w.solve(id).Greeted.IsZero() })
	if f, ok := w.effect(id, solve.EffectReact); !ok || f.Text != solve.ReactionSeen {
		w.Errorf("the reaction is %q", f.Text)
	}
}

// TestWaitingIsGreetedAtOnce: all seats are taken, and the trigger is answered
// within the tick; the comment says the place, and moves on with the queue.
func TestWaitingIsGreetedAtOnce(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		first := w.jam(5 * time.Minute)
		if _, ok := w.effect(first, solve.EffectNotice); !ok || w.solve(first).Place != 0 {
			t.Errorf("the solve that was claimed at once was told place %d", w.solve(first).Place)
		}
		var line []solve.ID
		for range 3 {
			id := w.ask()
			w.greeted(id)
			line = append(line, id)
		}
		other := w.ask(in(9, "other")) // its repository has none at work: it goes first
		w.greeted(other)
		places := func() (out []int) {
			for _, id := range append([]solve.ID{other}, line...) {
				out = append(out, w.solve(id).Place)
			}
			return out
		}
		w.await(15*time.Second, "the places", func() bool { return slices.Equal(places(), []int{1, 2, 3, 4}) })
		s := w.solve(line[1])
		text := report.ProgressComment(report.View{Solve: s})
		if !strings.Contains(text, "Waiting in the queue: 3rd of 4.") {
			t.Errorf("the comment says %q", text)
		}
		if _, ok := w.effect(line[1], solve.EffectNotice); !ok {
			t.Error("nobody writes the comment")
		}
		w.state(other, solve.StatePreparing)
		w.await(15*time.Second, "the queue to move up", func() bool { return slices.Equal(places()[1:], []int{1, 2, 3}) })
		for _, id := range append(line, other, first) {
			w.final(id, solve.StateSolved)
			w.toldSlowly(id)
		}
	})
}

// toldSlowly checks that a place was told anew at most every ten seconds.
func (w *world) toldSlowly(id solve.ID) {
	w.Helper()
	list, err := w.store.Events(w.Context(), id, 0)
	w.must(err)
	var last time.Time
	for _, ev := range list {
		if ev.Event != solve.EventGreeted {
			continue
		}
		if d := ev.At.Sub(last); d < 10*time.Second && !last.IsZero() && last.After(w.solve(id).Greeted) {
			w.Errorf("solve %s was told its place again after %s", id, d)
		}
		last = ev.At
	}
}

// TestWaitingEnds: what ends in the queue ends its comment, too.
func TestWaitingEnds(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		first := w.jam(30 * time.Minute)
		cancelled, refused := w.ask(), w.ask()
		for _, id := range []solve.ID{cancelled, refused} {
			w.await(15*time.Second, "a place", func() bool { return w.solve(id).Place > 0 })
		}
		wanted := func(id solve.ID) uint64 { f, _ := w.effect(id, solve.EffectNotice); return f.Wanted }
		before := wanted(cancelled)
		w.cancel(cancelled)
		s := w.final(cancelled, solve.StateCancelled)
		if wanted(cancelled) <= before || !strings.Contains(report.ProgressComment(report.View{Solve: s}), "Stopped by") {
			t.Errorf("version %d of the comment after %d", wanted(cancelled), before)
		}

		// Rights are looked up again at the start, because the wait was long.
		before = wanted(refused)
		w.hub.set(func(h *hub) { h.role, h.write = "read", false })
		w.final(first, solve.StateSolved)
		s = w.final(refused, solve.StateFailed)
		if !s.Refused || !s.Denied || s.Reason != report.RefusedText("ann", "read") || !s.Started.IsZero() {
			t.Errorf("solve %+v", s)
		}
		if wanted(refused) <= before {
			t.Error("the comment goes on saying that it waits")
		}
		w.deniedOnce(refused)
	})
}

// deniedOnce checks the answer to a solve whose actor may not ask.
func (w *world) deniedOnce(id solve.ID) {
	w.Helper()
	s := w.solve(id)
	if _, own := w.effect(id, solve.EffectReply); own {
		w.Error("the solve has a refusal of its own")
	}
	f, err := w.store.Effect(w.Context(), solve.DeniedReplyID(s.Repo, s.Issue.Number, s.Trigger.Actor)+"/react")
	if err != nil || f.Wanted != 1 || f.Text != solve.ReactionRefuse || f.Priority != solve.PriorityDenied {
		w.Errorf("the reaction is %+v: %v", f, err)
	}
	f, err = w.store.Effect(w.Context(), solve.DeniedReplyID(s.Repo, s.Issue.Number, s.Trigger.Actor)+"/reply")
	if err != nil || f.Wanted != 1 || w.replyText(f) != report.RefusedText("ann", "read") {
		w.Errorf("the refusal is %+v: %v", f, err)
	}
}

// replyText is what the writer makes of a reply.
func (w *world) replyText(f solve.Effect) string {
	w.Helper()
	if f.Text != "" {
		return f.Text
	}
	return report.RefusalText(report.View{Solve: w.solve(f.Solve)})
}

// TestDeniedWhileWaiting: who may not ask is told within the tick, with one reaction and one
// reply for all that they ask for on one issue.
func TestDeniedWhileWaiting(t *testing.T) {
	bubble(t, func(w *world) {
		first := w.jam(10 * time.Minute)
		w.hub.set(func(h *hub) { h.role, h.write = "read", false })
		issue := func(s *solve.Solve) { s.Issue.Number = 77 }
		comment := func(s *solve.Solve) { s.Trigger.Kind, s.Trigger.CommentID = solve.TriggerCommand, 5 }
		for _, how := range []func(*solve.Solve){func(*solve.Solve) {}, func(*solve.Solve) {}, comment} {
			began := time.Now()
			id := w.ask(issue, how)
			s := w.final(id, solve.StateFailed)
			if d := s.Ended.Sub(began); d > 2*time.Second {
				t.Errorf("refused after %s", d)
			}
			if _, ok := w.effect(id, solve.EffectNotice); ok {
				t.Error("there is a progress comment")
			}
			w.deniedOnce(id)
		}
		if reply, reaction := w.say(solve.CommandStatus, 77, ""); reaction != "-1" || reply != report.RefusedText("ann", "read") {
			t.Errorf("the command is answered %q with %q", reply, reaction)
		}
		w.hub.set(func(h *hub) { h.write = true })
		w.final(first, solve.StateSolved)
	})
}

// TestWaitingSolveAsksRarely: while GitHub does not answer, a waiting solve asks for the permission once a minute.
func TestWaitingSolveAsksRarely(t *testing.T) {
	bubble(t, func(w *world) {
		first := w.jam(10 * time.Minute)
		w.hub.refuse("permission of eve", fault{passes: true})
		before := w.hub.count("permission")
		second := w.ask(func(s *solve.Solve) { s.Trigger.Actor = "eve" })
		end := time.Now().Add(150 * time.Second)
		w.await(time.Hour, "the time to pass", func() bool { return time.Now().After(end) })
		if n := w.hub.count("permission") - before; n != 3 {
			t.Errorf("GitHub was asked %d times in two and a half minutes, want 3", n)
		}
		w.hub.refuse("permission of eve", nil)
		w.final(first, solve.StateSolved)
		w.final(second, solve.StateSolved)
	})
}

// TestRightsHoldForAMinute: a short wait costs no second look, a long one does.
func TestRightsHoldForAMinute(t *testing.T) {
	require.Daily(t)
	for name, c := range map[string]struct {
		wait  time.Duration
		looks int
	}{"short": {30 * time.Second, 2}, "long": {5 * time.Minute, 3}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				first := w.jam(c.wait)
				second := w.ask()
				w.final(first, solve.StateSolved)
				w.final(second, solve.StateSolved)
				if n := w.hub.count("permission"); n != c.looks {
					t.Errorf("rights were looked up %d times, want %d", n, c.looks)
				}
			})
		})
	}
}
