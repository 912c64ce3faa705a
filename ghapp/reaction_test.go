package ghapp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// distant is a GitHub that takes a while for each answer.
type distant struct {
	next http.RoundTripper
	away time.Duration
}

func (d distant) RoundTrip(req *http.Request) (*http.Response, error) {
	pass(d.away)
	return d.next.RoundTrip(req)
}

// triggers are n issues with a label each, as solves that were greeted.
func (w *world) triggers(n int) []solve.Solve {
	var out []solve.Solve
	for i := range n {
		issue, err := w.hub.OpenIssue("octo/hello", "ada", fmt.Sprintf("Bug %d", i), "")
		must(w.t, err)
		s := w.newSolve(solve.ID(fmt.Sprintf("e%019d", i)))
		s.State, s.Started, s.Issue.Number = solve.StateQueued, time.Time{}, issue
		out = append(out, s)
	}
	return out
}

// TestEyesWithinTwoSeconds: ten people who ask at the same time are all answered
// by a reaction within two seconds, at the default pace, however busy the
// installation's line is.
func TestEyesWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	answers := func(n int) func(w *world) {
		return func(w *world) {
			for i := range n {
				w.store.want(w.reply(fmt.Sprintf("ask-%d", i), "hello"))
			}
		}
	}
	for name, test := range map[string]struct {
		busy  func(w *world)
		since time.Duration // how long before people ask
	}{
		"idle":                              {func(*world) {}, 0},
		"with answers waiting":              {answers(20), 5 * time.Second},
		"with answers waiting for the hour": {answers(60), 110 * time.Second},
		"with progress waiting for the hour": {func(w *world) {
			for i := range 4 {
				s := w.newSolve(solve.ID(fmt.Sprintf("f%019d", i)))
				w.store.put(s, solve.EventClaimed)
				for n := range 12 {
					w.store.putRun(s.ID, solve.Run{V: 1, Solve: s.ID, N: n + 1, State: solve.RunWorking}, solve.EventStarted)
				}
			}
		}, 3 * time.Minute},
		"with a pull request of many blobs": {func(w *world) {
			for i := range 30 {
				f := w.content.commit.Files[1]
				f.Path = fmt.Sprintf("bin/%d", i)
				w.content.commit.Files = append(w.content.commit.Files, f)
			}
			w.publishing()
		}, 2300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				solves := w.triggers(10)
				w.app = w.newApp(distant{w.traffic, 100 * time.Millisecond})
				test.busy(w)
				w.write("node-2")
				pass(test.since)
				asked := time.Now()
				for _, s := range solves {
					w.store.put(s, solve.EventGreeted)
				}
				w.await("all eyes", func() bool { return w.eyes(solves) == len(solves) })
				if d := time.Since(asked); d > 2*time.Second {
					t.Errorf("the last of %d was answered after %v", len(solves), d)
				}
			})
		})
	}
}

// eyes counts the solves whose reaction is on GitHub.
func (w *world) eyes(solves []solve.Solve) int {
	n := 0
	for _, s := range solves {
		if w.hub.Requests("POST", fmt.Sprintf("/issues/%d/reactions", s.Issue.Number)) > 0 {
			n++
		}
	}
	return n
}

// TestEyesCountForTheHour: reactions skip the distance, not the hour.
func TestEyesCountForTheHour(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{WritesPerHour: 40}, func(t *testing.T, w *world) {
		w.cfg.Write.PerHour = 40
		solves := w.triggers(48)
		stop := w.write("node-1")
		for _, s := range solves {
			w.store.put(s, solve.EventGreeted)
		}
		w.settle()
		stop()
		w.checkHours(40)
		if w.eyes(solves) != len(solves) || w.refused() != 0 {
			t.Errorf("%d reactions, %d refused", w.eyes(solves), w.refused())
		}
	})
}

// refused counts the writes that GitHub refused for a while or for good.
func (w *world) refused() int {
	n := 0
	for _, r := range w.hub.History() {
		if r.Kind == "request" && (r.Status == http.StatusForbidden || r.Status == http.StatusTooManyRequests) {
			n++
		}
	}
	return n
}

// checkHours fails the test if the emulator was asked to make or change more in any
// hour: everything counts but the tokens, which the App and not an installation asks for.
func (w *world) checkHours(most int) (busiest int) {
	w.t.Helper()
	var at []time.Time
	for _, r := range w.hub.History() {
		if r.Kind == "request" && strings.HasPrefix(r.Actor, "installation") {
			at = append(at, r.Time)
		}
	}
	from := 0
	for to := range at {
		for at[to].Sub(at[from]) >= time.Hour {
			from++
		}
		busiest = max(busiest, to-from+1)
	}
	if busiest > most {
		w.t.Errorf("%d writes in one hour, allowed are %d", busiest, most)
	}
	return busiest
}

// TestReactionToWhatIsGone: a reaction to a deleted comment is given up at once. For people
// without rights it is asked only once; their answers come after what others wait for.
func TestReactionToWhatIsGone(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		began := time.Now()
		for n, priority := range []int{solve.Priority(solve.EffectReact), solve.PriorityDenied} {
			w.store.want(solve.Effect{
				Key: fmt.Sprintf("ask-%d/react", n), Kind: solve.EffectReact, Repo: w.repo, Issue: w.issue, CommentID: 987654,
				Text: "eyes", Priority: priority,
			})
		}
		stop := w.write("node-1")
		w.settle()
		stop()
		for n := range 2 {
			if e := w.store.given(solve.ID(fmt.Sprintf("ask-%d", n)), solve.EffectReact, 0); e.State != solve.EffectDead || e.Tries != 1 {
				t.Errorf("%s is %s after %d tries: %s", e.Key, e.State, e.Tries, e.Error)
			}
		}
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("given up after %v", d)
		}
	})
}

// TestDeniedComeLast: answers to people without rights leave three quarters of what may be
// written at once to everybody else.
func TestDeniedComeLast(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		for n := range 60 {
			e := w.reply(fmt.Sprintf("refusal-%d", n), "you may not")
			e.Priority = solve.PriorityDenied
			w.store.want(e)
		}
		stop := w.write("node-1")
		defer stop()
		pass(5 * time.Minute)
		asked := time.Now()
		for n := range 20 {
			w.store.want(solve.Effect{
				Key: fmt.Sprintf("ask-%d/react", n), Kind: solve.EffectReact, Repo: w.repo, Issue: w.issue, Text: "eyes",
				Priority: solve.Priority(solve.EffectReact),
			})
		}
		w.await("all eyes", func() bool {
			for n := range 20 {
				if w.store.given(solve.ID(fmt.Sprintf("ask-%d", n)), solve.EffectReact, 0).State != solve.EffectApplied {
					return false
				}
			}
			return true
		})
		if d := time.Since(asked); d > 5*time.Second {
			t.Errorf("eyes came after %v", d)
		}
	})
}
