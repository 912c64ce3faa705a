package ghapp_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// TestTextsOfWorkAreRenewed: while runs work, no comment and no check run is older than write.progress_every and its turn, also where
// the hour's writes have to last; a result does not wait for them. What nobody works on is left alone.
func TestTextsOfWorkAreRenewed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		perHour int
		turn    time.Duration // of one text
	}{
		"room":    {1_000_000, 2 * time.Second},
		"default": {400, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				w.cfg.Write.PerHour = c.perHour
				stop := w.write("node-1")
				s := w.newSolve("d0000000000000000001")
				w.store.put(s, solve.EventClaimed)
				s.State = solve.StateRunning
				w.store.put(s, solve.EventBaseReady)
				runs := make([]solve.Run, 2)
				for i := range runs {
					runs[i] = solve.Run{V: 1, Solve: s.ID, N: i + 1, Repo: w.repo, Experiment: s.Plan.Experiments[i], State: solve.RunWorking, Attempt: 1, Started: time.Now()}
					w.store.putRun(s.ID, runs[i], solve.EventStarted)
				}
				w.settle()
				// With the time between two looks, and what is written while one waits.
				const texts = 4
				most := w.cfg.Write.ProgressEvery + texts*(c.turn+time.Second)
				for second := range 1800 {
					runs[0].Progress.Steps, runs[0].Progress.Last = second, "$ make all"
					w.store.mu.Lock()
					w.store.runs[s.ID][0] = runs[0]
					w.store.mu.Unlock()
					pass(time.Second)
					synctest.Wait()
					w.young(s.ID, most)
				}
				body := w.comments(string(s.ID), "comment")[0].GetBody()
				for _, want := range []string{". Last action: `$ make all`", "As of "} {
					if !strings.Contains(body, want) {
						t.Errorf("%q is not in\n%s", want, body)
					}
				}
				asked := time.Now()
				w.store.want(w.reply("ask-1", "hello"))
				w.await("reply", func() bool { return w.store.given("ask-1", solve.EffectReply, 0).State == solve.EffectApplied })
				if d := time.Since(asked); d > 5*time.Second {
					t.Errorf("the reply took %v", d)
				}
				asked = time.Now()
				for i := range 15 { // as many as a pull request takes
					w.store.want(w.reply(fmt.Sprintf("result-%d", i), "hello"))
				}
				w.await("results", func() bool { return w.store.given("result-14", solve.EffectReply, 0).State == solve.EffectApplied })
				if d := time.Since(asked); d > 45*time.Second {
					t.Errorf("15 results took %v after half an hour of renewals", d)
				}
				s.State = solve.StateReducing
				w.store.put(s, solve.EventRunsEnded)
				w.settle()
				before := len(w.traffic.writes())
				pass(10 * time.Minute)
				if n := len(w.traffic.writes()); n != before {
					t.Errorf("%d writes about a solve whose runs have ended", n-before)
				}
				stop()
			})
		})
	}
}

// young fails the test if a text of the solve is older than that.
func (w *world) young(id solve.ID, most time.Duration) {
	w.t.Helper()
	for _, e := range []solve.Effect{
		w.store.given(id, solve.EffectNotice, 0), w.store.given(id, solve.EffectCheck, 0),
		w.store.given(id, solve.EffectRun, 1), w.store.given(id, solve.EffectRun, 2),
	} {
		if age := time.Since(e.Done); age > most {
			w.t.Fatalf("%s is %v old, more than %v", e.Key, age, most)
		}
	}
}
