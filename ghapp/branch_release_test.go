package ghapp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// ends brings a solve that was claimed to an end without a pull request.
func (w *world) ends(s solve.Solve) solve.Solve {
	r := solve.Run{V: 1, Solve: s.ID, N: 1, Repo: w.repo, Experiment: s.Plan.Experiments[0], State: solve.RunFailed, Attempt: 1,
		Started: time.Now(), Ended: time.Now(), Verdict: &solve.Verdict{Outcome: solve.Failed}}
	w.store.putRun(s.ID, r, solve.EventTestsFail)
	s.State, s.Ended, s.Decision = solve.StateUnsolved, time.Now(), &solve.Decision{}
	w.store.put(s, solve.EventNoChampion)
	return s
}

func (w *world) branchGone(s solve.Solve) bool {
	_, err := w.app.Branch(w.t.Context(), w.repo, s.Branch)
	return errors.Is(err, solve.ErrNotFound)
}

func TestBranchOfAnUnsolvedSolveIsReleased(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s, stop := w.progress(id1)
		s = w.ends(s)
		w.settle()
		stop()
		if !w.branchGone(s) {
			t.Error("the branch is there")
		}
		claim := w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA
		for _, external := range []string{"yudai:" + id1, "yudai:" + id1 + "/1", "yudai:" + id1 + "/2"} {
			if got := w.checks(claim, external); len(got) != 1 || got[0].GetStatus() != "completed" {
				t.Errorf("check run %s: %v", external, got)
			}
		}
		check := w.store.given(id1, solve.EffectCheck, 0).Receipt.URL
		if got := w.comments(id1, "result"); len(got) != 1 || check == "" || !strings.Contains(got[0].GetBody(), "("+check+")") {
			t.Errorf("the result does not name %s: %v", check, got)
		}
		writes := w.traffic.writes()
		if last := writes[len(writes)-1]; last.method != http.MethodDelete {
			t.Errorf("the last write is %s %s", last.method, last.path)
		}
	})
}

// TestReleaseWaitsForTheChecks: check runs that GitHub puts off are written before
// the branch that their commit is reached by goes.
func TestReleaseWaitsForTheChecks(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s, stop := w.progress(id1)
		late := w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultServerError, Path: "/check-runs", Count: -1})
		s = w.ends(s)
		w.await("the other effects", func() bool {
			return w.store.given(id1, solve.EffectNotice, 0).State == solve.EffectApplied && w.store.given(id1, solve.EffectDone, 0).State == solve.EffectApplied
		})
		pass(10 * time.Minute)
		if w.branchGone(s) || w.store.given(id1, solve.EffectRelease, 0).Tries != 0 {
			t.Error("the branch went before its check runs were written")
		}
		late.Remove()
		w.settle()
		stop()
		if !w.branchGone(s) {
			t.Error("the branch is there")
		}
	})
}

func TestReleaseLeavesTheBranchOfOthersAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(w *world, s *solve.Solve)
		gone bool
	}{
		"somebody's commit": {func(w *world, s *solve.Solve) {
			_, err := w.hub.CommitFiles("octo/hello", s.Branch, "mine", map[string]string{"x": "y"})
			must(w.t, err)
		}, false},
		"gone already": {func(w *world, s *solve.Solve) {
			_, err := w.api().Git.DeleteRef(w.t.Context(), "octo", "hello", "heads/"+s.Branch)
			must(w.t, err)
		}, true},
		"another solve's": {func(_ *world, s *solve.Solve) { s.Branch = "main" }, false},
		"no branch":       {func(_ *world, s *solve.Solve) { s.Branch = "" }, true},
		"moved while it is deleted": {func(w *world, s *solve.Solve) {
			w.app = w.newApp(&before{next: w.traffic, method: "GET", path: "/git/commits/" + w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA, do: func() {
				_, err := w.hub.CommitFiles("octo/hello", s.Branch, "mine", map[string]string{"x": "y"})
				must(w.t, err)
			}})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				s, stop := w.progress(id1)
				stop()
				test.do(w, &s)
				s = w.ends(s)
				w.runUntilSettled()
				if e := w.store.given(id1, solve.EffectRelease, 0); e.State != solve.EffectApplied {
					t.Errorf("release is %s: %s", e.State, e.Error)
				}
				if s.Branch != "" && w.branchGone(s) != test.gone {
					t.Errorf("the branch is gone: %v", !test.gone)
				}
				if n := w.hub.Requests("DELETE", "/git/refs"); n != 0 && name != "gone already" {
					t.Errorf("%d deletions", n)
				}
			})
		})
	}
}

func TestSolvesOnAnOpenPullReleaseNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		first := w.solvedPull()
		s := w.follow(first, solve.FollowRetry)
		stop := w.write("node-2")
		w.store.put(s, solve.EventClaimed)
		w.settle()
		w.ends(s)
		e := w.store.given(id2, solve.EffectRelease, 0)
		w.settle()
		stop()
		if e.Key != "" || w.branchGone(first) {
			t.Errorf("release is %+v, the branch is gone: %v", e, w.branchGone(first))
		}
		w.checkNoSecrets()
	})
}

func TestEveryFaultOfTheReleaseEndsWithoutTheBranch(t *testing.T) {
	t.Parallel()
	for _, kind := range []githubsim.FaultKind{
		githubsim.FaultServerError, githubsim.FaultLostAnswer, githubsim.FaultCutBefore, githubsim.FaultCutAfter, githubsim.FaultHangBefore,
		githubsim.FaultHangAfter, githubsim.FaultSecondary, githubsim.FaultPrimary429, githubsim.FaultUnauthorized, githubsim.FaultNotFound,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				s, stop := w.progress(id1)
				stop()
				var injected []*githubsim.Injection
				for _, route := range []struct{ method, path string }{{"GET", "/git/ref/"}, {"GET", "/git/commits/"}, {"DELETE", "/git/refs/"}} {
					injected = append(injected, w.hub.Inject(githubsim.Fault{Kind: kind, Method: route.method, Path: route.path}))
				}
				s = w.ends(s)
				w.runUntilSettled()
				for i, in := range injected {
					if in.Hits() == 0 {
						t.Errorf("fault %d was not met", i)
					}
					in.Remove()
				}
				if e := w.store.given(id1, solve.EffectRelease, 0); e.State != solve.EffectApplied || !w.branchGone(s) {
					t.Errorf("release is %s: %s, the branch is gone: %v", e.State, e.Error, w.branchGone(s))
				}
			})
		})
	}
}

func TestKilledReleaseIsResumed(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"before the effect": false, "after the effect": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				s := w.newSolve(id1)
				over := w.killing(done)
				w.store.put(s, solve.EventClaimed)
				pass(time.Minute)
				s = w.ends(s)
				w.settle()
				over()
				if e := w.store.given(id1, solve.EffectRelease, 0); e.State != solve.EffectApplied || !w.branchGone(s) {
					t.Errorf("release is %s: %s, the branch is gone: %v", e.State, e.Error, w.branchGone(s))
				}
				if n := w.hub.Requests("DELETE", "/git/refs/heads/"+s.Branch); n != 1 {
					t.Errorf("%d deletions", n)
				}
			})
		})
	}
}

// TestForbiddenDeletionIsExplained: the branch stays, and the reason names the rule.
func TestForbiddenDeletionIsExplained(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s, stop := w.progress(id1)
		stop()
		must(t, w.hub.SetRules("octo/hello", s.Branch, map[string]any{
			"type": "deletion", "ruleset_source_type": "Repository", "ruleset_source": "octo/hello", "ruleset_id": 42}))
		w.app = w.newApp(refuse{w.traffic, "DELETE", s.Branch, 422, `{"message":"Repository rule violations found\n\nCannot delete this branch"}`})
		w.ends(s)
		w.runUntilSettled()
		if e := w.store.given(id1, solve.EffectRelease, 0); e.State != solve.EffectDead || !strings.Contains(e.Error, "rule deletion") {
			t.Errorf("release is %s: %s", e.State, e.Error)
		}
	})
}
