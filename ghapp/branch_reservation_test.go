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

func TestClaimIsAnEmptyCommitOnTheBase(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s, stop := w.progress(id1)
		stop()
		sha, err := w.app.Branch(t.Context(), w.repo, s.Branch)
		must(t, err)
		if got := w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA; got != sha {
			t.Errorf("receipt is %s, the branch is at %s", got, sha)
		}
		api := w.api()
		claim, _, err := api.Git.GetCommit(t.Context(), "octo", "hello", sha)
		must(t, err)
		base, _, err := api.Git.GetCommit(t.Context(), "octo", "hello", w.base)
		must(t, err)
		if claim.GetTree().GetSHA() != base.GetTree().GetSHA() || len(claim.Parents) != 1 || claim.Parents[0].GetSHA() != w.base {
			t.Errorf("the claim is %v", claim)
		}
		if !strings.HasPrefix(claim.GetMessage(), "yudai: claim for #1\n") || !claim.GetVerification().GetVerified() {
			t.Errorf("message %q, verified %v", claim.GetMessage(), claim.GetVerification().GetVerified())
		}
		for _, c := range w.checks(w.base, "yudai:"+id1) {
			t.Errorf("a check run colours the default branch: %v", c)
		}
	})
}

func TestClaimOfAForeignBranchEndsIt(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.newSolve(id1)
		_, err := w.hub.CommitFiles("octo/hello", s.Branch, "mine", map[string]string{"x": "y"})
		must(t, err)
		w.store.put(s, solve.EventClaimed)
		w.runUntilSettled()
		e := w.store.given(id1, solve.EffectClaim, 0)
		if e.State != solve.EffectDead || !strings.HasPrefix(e.Error, "branch exists") {
			t.Errorf("claim is %s: %s", e.State, e.Error)
		}
		if e := w.store.given(id1, solve.EffectCheck, 0); e.State != solve.EffectDead || !strings.Contains(e.Error, "branch exists") {
			t.Errorf("check is %s: %s", e.State, e.Error)
		}
		if e := w.store.given(id1, solve.EffectNotice, 0); e.State != solve.EffectApplied {
			t.Errorf("the comment is %s: %s", e.State, e.Error)
		}
	})
}

// refuse answers one method and path itself, as often as it is asked.
type refuse struct {
	next         http.RoundTripper
	method, path string
	status       int
	body         string
}

func (r refuse) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == r.method && strings.HasSuffix(req.URL.Path, r.path) {
		return respond(req, r.status, r.body), nil
	}
	return r.next.RoundTrip(req)
}

func TestBlockedCreationIsExplained(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.newSolve(id1)
		must(t, w.hub.SetRules("octo/hello", s.Branch, map[string]any{
			"type": "creation", "ruleset_source_type": "Repository", "ruleset_source": "octo/hello", "ruleset_id": 42}))
		w.app = w.newApp(refuse{w.traffic, "POST", "/git/refs", 422,
			`{"message":"Repository rule violations found\n\nCannot create ref due to creations being restricted.\n\n"}`})
		w.store.put(s, solve.EventClaimed)
		w.runUntilSettled()
		e := w.store.given(id1, solve.EffectClaim, 0)
		if e.State != solve.EffectDead || !strings.HasPrefix(e.Error, "creation blocked: ") {
			t.Errorf("claim is %s: %s", e.State, e.Error)
		}
	})
}

func TestEndedSolveMakesNoBranch(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*solve.Solve){
		"cancelled": func(s *solve.Solve) { s.State = solve.StateCancelled },
		"no base":   func(s *solve.Solve) { s.State, s.Base.SHA = solve.StateFailed, "" },
		"restored":  func(s *solve.Solve) { s.State = solve.StateCancelled },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				s := w.newSolve(id1)
				effects := solve.EffectsOf(s, nil, solve.EventClaimed)
				if name == "restored" { // nobody knows whether it was made
					for i := range effects {
						effects[i].SentAt = time.Now()
					}
				}
				w.store.want(effects...)
				change(&s)
				w.store.put(s, solve.EventCancelled)
				w.runUntilSettled()
				if e := w.store.given(id1, solve.EffectClaim, 0); e.State != solve.EffectDead {
					t.Errorf("claim is %s", e.State)
				}
				if _, err := w.app.Branch(t.Context(), w.repo, s.Branch); !errors.Is(err, solve.ErrNotFound) {
					t.Errorf("the branch is there: %v", err)
				}
			})
		})
	}
}

func TestClaimWaitsForTheBase(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.newSolve(id1)
		s.Base.SHA = ""
		w.store.put(s, solve.EventClaimed)
		stop := w.write("node-1")
		pass(time.Minute)
		if e := w.store.given(id1, solve.EffectClaim, 0); e.State != solve.EffectPending || e.Tries != 0 {
			t.Errorf("claim is %s after %d tries", e.State, e.Tries)
		}
		if e := w.store.given(id1, solve.EffectCheck, 0); e.State != solve.EffectPending || e.Tries != 0 {
			t.Errorf("check is %s after %d tries", e.State, e.Tries)
		}
		s.Base.SHA = w.base
		w.store.put(s, solve.EventBaseReady)
		w.settle()
		stop()
		if e := w.store.given(id1, solve.EffectCheck, 0); e.State != solve.EffectApplied {
			t.Errorf("check is %s: %s", e.State, e.Error)
		}
	})
}
