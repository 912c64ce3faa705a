package ghapp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// everyRight is what the App asks for.
func everyRight() map[string]string {
	return map[string]string{"metadata": "read", "issues": "write", "pull_requests": "write", "contents": "write", "checks": "write"}
}

// without is what an account granted that has not accepted one right yet.
func without(right string) map[string]string {
	all := everyRight()
	delete(all, right)
	return all
}

// TestMissingRightWaitsToBeAccepted: what needs a right that the account has not
// accepted waits, names it, and is written as soon as it is there. What needs
// others goes on meanwhile.
func TestMissingRightWaitsToBeAccepted(t *testing.T) {
	t.Parallel()
	for right, test := range map[string]struct {
		waits, goes []solve.EffectKind
		needs       string
	}{
		"checks":   {[]solve.EffectKind{solve.EffectCheck}, []solve.EffectKind{solve.EffectReact, solve.EffectNotice, solve.EffectClaim}, "checks=write"},
		"contents": {[]solve.EffectKind{solve.EffectClaim}, []solve.EffectKind{solve.EffectReact, solve.EffectNotice}, "contents="},
	} {
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				in := githubsim.Installation{ID: w.repo.Installation}
				must(t, w.hub.Grant(in, without(right)))
				w.app.Evict(in.ID)
				s := w.newSolve(id1)
				stop := w.write("node-1")
				began := time.Now()
				w.store.put(s, solve.EventClaimed)
				w.await("the others", func() bool {
					return !slices.ContainsFunc(test.goes, func(k solve.EffectKind) bool { return w.store.given(id1, k, 0).State != solve.EffectApplied })
				})
				if d := time.Since(began); d > time.Minute {
					t.Errorf("what needs other rights took %v", d)
				}
				pass(time.Hour)
				for _, kind := range test.waits {
					e := w.store.given(id1, kind, 0)
					if e.State != solve.EffectPending || e.Tries < 5 || e.Tries > 30 || !strings.Contains(e.Error, "needs "+test.needs) {
						t.Errorf("%s is %s after %d tries: %s", kind, e.State, e.Tries, e.Error)
					}
				}
				if !strings.Contains(w.logs.String(), "needs "+test.needs) {
					t.Error("the log does not name the right")
				}
				must(t, w.hub.Grant(in, everyRight()))
				w.app.Evict(in.ID) // the event that tells of it
				accepted := time.Now()
				w.settle()
				stop()
				if d := time.Since(accepted); d > 10*time.Second {
					t.Errorf("the rest was written %v after the right was there", d)
				}
				for _, kind := range append(test.waits, test.goes...) {
					if e := w.store.given(id1, kind, 0); e.State != solve.EffectApplied {
						t.Errorf("%s is %s: %s", kind, e.State, e.Error)
					}
				}
			})
		})
	}
}

// TestRightIsFoundWithoutTheEvent: an event that never came costs minutes only.
func TestRightIsFoundWithoutTheEvent(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		in := githubsim.Installation{ID: w.repo.Installation}
		must(t, w.hub.Grant(in, without("issues")))
		w.app.Evict(in.ID)
		must(t, w.hub.Grant(in, map[string]string{"metadata": "read", "issues": "read"}))
		w.store.want(w.reply("ask-1", "hello"))
		stop := w.write("node-1")
		pass(30 * time.Minute)
		must(t, w.hub.Grant(in, everyRight()))
		accepted := time.Now()
		w.settle()
		stop()
		if e := w.store.given("ask-1", solve.EffectReply, 0); e.State != solve.EffectApplied || time.Since(accepted) > 6*time.Minute {
			t.Errorf("effect is %s after %v: %s", e.State, time.Since(accepted), e.Error)
		}
	})
}

// TestRightThatIsNeverAcceptedEndsTheEffect after hours, not at once and not never.
func TestRightThatIsNeverAcceptedEndsTheEffect(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		must(t, w.hub.Grant(githubsim.Installation{ID: w.repo.Installation}, map[string]string{"metadata": "read", "issues": "read"}))
		w.app.Evict(w.repo.Installation)
		w.store.want(w.reply("ask-1", "hello"))
		began := time.Now()
		w.runUntilSettled()
		e := w.store.given("ask-1", solve.EffectReply, 0)
		if d := time.Since(began); e.State != solve.EffectDead || !strings.Contains(e.Error, "needs issues=write") || d < 4*time.Hour {
			t.Errorf("effect is %s after %v: %s", e.State, d, e.Error)
		}
	})
}

// TestSuspensionThatEndsIsNotedAtOnce: the wait ends with the event, not with the
// time to the next try.
func TestSuspensionThatEndsIsNotedAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		in := githubsim.Installation{ID: w.repo.Installation}
		must(t, w.hub.Suspend(in))
		w.store.want(w.reply("ask-1", "hello"), w.reply("ask-2", "hello"))
		stop := w.write("node-1")
		pass(time.Hour)
		if e := w.store.given("ask-1", solve.EffectReply, 0); e.State != solve.EffectPending || !strings.Contains(e.Error, "suspended") {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
		must(t, w.hub.Unsuspend(in))
		w.app.Evict(in.ID)
		ended := time.Now()
		w.settle()
		stop()
		if d := time.Since(ended); d > 10*time.Second {
			t.Errorf("written %v after the suspension", d)
		}
		for _, id := range []solve.ID{"ask-1", "ask-2"} {
			if e := w.store.given(id, solve.EffectReply, 0); e.State != solve.EffectApplied {
				t.Errorf("%s is %s: %s", id, e.State, e.Error)
			}
		}
	})
}

// TestGoneInstallationEndsTheEffects: at once, with a reason that people understand.
func TestGoneInstallationEndsTheEffects(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *world) error{
		"uninstalled": func(w *world) error { return w.hub.Uninstall(githubsim.Installation{ID: w.repo.Installation}) },
		"repository taken out": func(w *world) error {
			if err := w.hub.Uninstall(githubsim.Installation{ID: w.repo.Installation}); err != nil {
				return err
			}
			if _, err := w.hub.CreateRepo("octo", "other", map[string]string{"a": "a"}); err != nil {
				return err
			}
			in, err := w.hub.Install(githubsim.App{ID: w.secrets.AppID}, "octo", "hello", "other")
			if err != nil {
				return err
			}
			w.repo.Installation = in.ID
			return w.hub.RemoveRepos(in, "hello")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				must(t, lose(w))
				w.app.Evict(w.repo.Installation)
				w.store.want(w.reply("ask-1", "hello"))
				began := time.Now()
				w.runUntilSettled()
				e := w.store.given("ask-1", solve.EffectReply, 0)
				if e.State != solve.EffectDead || e.Error != "yudai is not installed on this repository" || time.Since(began) > time.Minute {
					t.Errorf("effect is %s after %v: %s", e.State, time.Since(began), e.Error)
				}
			})
		})
	}
}

// TestRevokedTokenIsReplaced: every token dies while a solve is written.
func TestRevokedTokenIsReplaced(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]githubsim.TokenShape{"classic": githubsim.TokenClassic, "stateless": githubsim.TokenStateless} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{Tokens: shape}, func(t *testing.T, w *world) {
				stop := w.write("node-1")
				s := w.solveAll(id1, func() {
					w.settle()
					w.hub.ExpireTokens()
				})
				w.settle()
				stop()
				w.checkOnce(s)
				if w.store.retries != 0 {
					t.Errorf("%d tries failed", w.store.retries)
				}
			})
		})
	}
}

// TestLockedIssueStillGetsItsPull: people who locked the conversation get no
// comment, and the champion all the same.
func TestLockedIssueStillGetsItsPull(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		must(t, w.hub.LockIssue("octo/hello", w.issue, true))
		stop := w.write("node-1")
		s := w.solveAll(id1, w.settle)
		w.settle()
		stop()
		for kind, want := range map[solve.EffectKind]solve.EffectState{
			solve.EffectNotice: solve.EffectDead, solve.EffectFinal: solve.EffectDead,
			solve.EffectPull: solve.EffectApplied, solve.EffectCheck: solve.EffectApplied,
		} {
			if e := w.store.given(id1, kind, 0); e.State != want {
				t.Errorf("%s is %s: %s", kind, e.State, e.Error)
			}
		}
		if n := len(w.pulls(s)); n != 1 {
			t.Errorf("%d pull requests", n)
		}
	})
}
