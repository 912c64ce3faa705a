package ghapp_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

const id1 = "d0000000000000000001"

// publishing is a solve whose claim and progress are written and whose pull
// request is wanted; the writer is stopped.
func (w *world) publishing() solve.Solve {
	s, stop := w.progress(id1)
	stop()
	s.State, s.Decision = solve.StatePublishing, &solve.Decision{Champion: 1, Ranking: []int{1}}
	w.store.mu.Lock()
	w.store.runs[s.ID] = []solve.Run{{V: 1, Solve: s.ID, N: 1, State: solve.RunPassed, Experiment: s.Plan.Experiments[0],
		Candidate: &solve.Candidate{}, Verdict: &solve.Verdict{Outcome: solve.Passed}}}
	w.store.mu.Unlock()
	w.store.put(s, solve.EventChampion)
	return s
}

func (w *world) runUntilSettled() {
	stop := w.write("node-2")
	w.settle()
	stop()
}

func (w *world) openPull(s solve.Solve) *github.PullRequest {
	p, _, err := w.api().PullRequests.Create(w.t.Context(), "octo", "hello", &github.NewPullRequest{
		Title: github.String("by hand"), Head: &s.Branch, Base: github.String("main")})
	must(w.t, err)
	return p
}

func TestPullIsAdoptedWhateverItsState(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world, n int){
		"open":   func(*world, int) {},
		"closed": func(w *world, n int) { must(w.t, w.hub.CloseIssue("octo/hello", n, "ada")) },
		"merged": func(w *world, n int) { must(w.t, w.hub.MergePull("octo/hello", n, "ada")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				// The first writer opens it and dies before that is stored.
				s := w.publishing()
				w.store.finishing = func(e solve.Effect) error {
					if e.Kind == solve.EffectPull {
						return errors.New("killed")
					}
					return nil
				}
				stop := w.write("node-1")
				w.await("pull request", func() bool { return len(w.pulls(s)) == 1 })
				stop()
				w.store.finishing = nil
				first := w.pulls(s)[0]
				change(w, first.GetNumber())
				w.runUntilSettled()
				e := w.store.given(id1, solve.EffectPull, 0)
				if e.State != solve.EffectApplied || e.Receipt.Number != first.GetNumber() || e.Receipt.SHA != first.GetHead().GetSHA() {
					t.Errorf("effect is %s with %+v: %s", e.State, e.Receipt, e.Error)
				}
				if n := len(w.pulls(s)); n != 1 {
					t.Errorf("%d pull requests", n)
				}
			})
		})
	}
}

func TestPullByHandGetsTheChampion(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		byHand := w.openPull(s)
		w.runUntilSettled()
		e := w.store.given(id1, solve.EffectPull, 0)
		got := w.pulls(s)
		if len(got) != 1 || e.Receipt.Number != byHand.GetNumber() || got[0].GetHead().GetSHA() != e.Receipt.SHA ||
			e.Receipt.SHA == byHand.GetHead().GetSHA() {
			t.Errorf("receipt %+v, pull requests %v", e.Receipt, got)
		}
	})
}

func TestPullOfAMovedBranchEndsIt(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		moved, err := w.hub.CommitFiles("octo/hello", s.Branch, "mine now", map[string]string{"x": "y"})
		must(t, err)
		w.runUntilSettled()
		e := w.store.given(id1, solve.EffectPull, 0)
		if e.State != solve.EffectDead || !strings.Contains(e.Error, "was moved by somebody else") {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
		if got, err := w.app.Branch(t.Context(), w.repo, s.Branch); err != nil || got != moved {
			t.Errorf("the branch is at %s, %v", got, err)
		}
	})
}

func TestPullOfADeletedBranchMakesItAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		_, err := w.api().Git.DeleteRef(t.Context(), "octo", "hello", "heads/"+s.Branch)
		must(t, err)
		w.runUntilSettled()
		if got := w.pulls(s); len(got) != 1 {
			t.Errorf("pull requests: %v", got)
		}
	})
}

// TestSecondScorecardIsSuperseded: a scorecard that was made again because it was
// not listed for longer than the writer allows for.
func TestSecondScorecardIsSuperseded(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		_, _, err := w.api().PullRequests.Create(t.Context(), "octo", "hello", &github.NewPullRequest{
			Title: github.String("by hand"), Head: &s.Branch, Base: github.String("main")})
		must(t, err)
		pass(2 * time.Minute) // it is listed
		w.hub.SetLag(w.cfg.Write.ListLag + 20*time.Second)
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: "/check-runs$"})
		before := w.hub.Requests("POST", "/check-runs")
		stop := w.write("node-2")
		w.settle()
		pass(2 * time.Minute)
		stop()
		got := w.checks(w.store.given(id1, solve.EffectPull, 0).Receipt.SHA, "yudai:"+id1+"/head")
		if n := w.hub.Requests("POST", "/check-runs") - before; n != 2 || len(got) != 2 {
			t.Fatalf("%d creations, %d check runs: the test does not make what it is about", n, len(got))
		}
		superseded := 0
		for _, c := range got {
			if c.GetOutput().GetTitle() == "superseded" {
				superseded++
			}
		}
		if superseded != 1 {
			t.Errorf("%d of 2 check runs are superseded", superseded)
		}
	})
}

// TestPullWhenTheBranchIsNotSeen: a branch that GitHub does not show for a moment
// is not taken for one that belongs to somebody else.
func TestPullWhenTheBranchIsNotSeen(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		unseen := w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultNotFound, Method: "GET", Path: "/git/ref/"})
		w.runUntilSettled()
		if e := w.store.given(id1, solve.EffectPull, 0); len(w.pulls(s)) != 1 || unseen.Hits() != 1 {
			t.Errorf("%d pull requests, %d misses, effect is %s: %s", len(w.pulls(s)), unseen.Hits(), e.State, e.Error)
		}
	})
}

// noForce refuses to move a branch by force, as a rule of the repository does.
type noForce struct{ next http.RoundTripper }

func (f noForce) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == "PATCH" && strings.Contains(req.URL.Path, "/git/refs/") {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(body), `"force":true`) {
			return respond(req, 422, `{"message":"Repository rule violations found\n\nCannot force-push to this branch"}`), nil
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	return f.next.RoundTrip(req)
}

func TestChampionGoesOnTopOfTheClaimWhereForceIsForbidden(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		w.app = w.newApp(noForce{w.traffic})
		w.runUntilSettled()
		e := w.store.given(id1, solve.EffectPull, 0)
		if e.State != solve.EffectApplied {
			t.Fatalf("effect is %s: %s", e.State, e.Error)
		}
		commit, _, err := w.api().Git.GetCommit(t.Context(), "octo", "hello", e.Receipt.SHA)
		must(t, err)
		claim := w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA
		if len(commit.Parents) != 1 || commit.Parents[0].GetSHA() != claim || len(w.pulls(s)) != 1 {
			t.Errorf("parents %v, claim %s", commit.Parents, claim)
		}
	})
}

func TestChampionWithoutFilesEndsThePull(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.publishing()
		w.content.commit.Files = nil
		w.runUntilSettled()
		if e := w.store.given(id1, solve.EffectPull, 0); e.State != solve.EffectDead {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
	})
}

// TestAnotherTreeIsNotPublished: the files must come to the tree that was judged.
func TestAnotherTreeIsNotPublished(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		w.content.commit.Tree = strings.Repeat("0", 40)
		w.runUntilSettled()
		e := w.store.given(id1, solve.EffectPull, 0)
		if e.State != solve.EffectDead || !strings.Contains(e.Error, "which was judged") || len(w.pulls(s)) != 0 {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
	})
}

func TestPullRefusalsAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want string
	}{
		"no commits": {`{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"No commits between main and x"}]}`,
			"the champion changes nothing against main"},
		"base gone": {`{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"base","code":"invalid"}]}`,
			"the base branch main is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				w.publishing()
				w.app = w.newApp(refuse{w.traffic, "POST", "/pulls", 422, test.body})
				w.runUntilSettled()
				if e := w.store.given(id1, solve.EffectPull, 0); e.State != solve.EffectDead || e.Error != test.want {
					t.Errorf("effect is %s: %s", e.State, e.Error)
				}
			})
		})
	}
}

func TestPullThatIsNotListedYetIsFoundByItsRefusal(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		w.hub.SetLag(time.Minute) // above settle
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: "/pulls$"})
		w.runUntilSettled()
		pass(time.Minute)
		got := w.pulls(s)
		if e := w.store.given(id1, solve.EffectPull, 0); len(got) != 1 || e.Receipt.Number != got[0].GetNumber() {
			t.Errorf("pull requests %v, receipt %+v, %s", got, e.Receipt, e.Error)
		}
	})
}

func TestUnreadableCommitIsTriedAgainAndGivenUp(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		w.content.set(errors.New("disk is full"))
		stop := w.write("node-2")
		w.await("two tries", func() bool { return w.store.given(id1, solve.EffectPull, 0).Tries == 2 })
		w.content.set(nil)
		w.settle()
		stop()
		if n := len(w.pulls(s)); n != 1 {
			t.Errorf("%d pull requests", n)
		}
	})
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.publishing()
		w.content.set(errors.New("disk is full"))
		w.runUntilSettled()
		if e := w.store.given(id1, solve.EffectPull, 0); e.State != solve.EffectDead || !strings.Contains(e.Error, "disk is full") {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
	})
}

// TestPullWaitsForItsCommit: the solver may need a clone for the commit, which GitHub's
// limit refuses for hours. That is no reason to give up, but the end of the solve is.
func TestPullWaitsForItsCommit(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		w.content.set(solve.ErrNotFound)
		stop := w.write("node-2")
		pass(4 * time.Hour)
		w.await("a try that has ended", func() bool { return w.store.given(id1, solve.EffectPull, 0).State != solve.EffectSending })
		if e := w.store.given(id1, solve.EffectPull, 0); e.State != solve.EffectPending || e.Tries < 100 {
			t.Errorf("effect is %s after %d tries: %s", e.State, e.Tries, e.Error)
		}
		w.content.set(nil)
		w.settle()
		stop()
		if n := len(w.pulls(s)); n != 1 {
			t.Errorf("%d pull requests", n)
		}
	})
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		w.content.set(solve.ErrNotFound)
		stop := w.write("node-2")
		w.await("a try", func() bool { return w.store.given(id1, solve.EffectPull, 0).Tries > 0 })
		s.State = solve.StateFailed
		w.store.put(s, solve.EventFailed)
		w.settle()
		stop()
		if e := w.store.given(id1, solve.EffectPull, 0); e.State != solve.EffectDead || !strings.Contains(e.Error, "not stored") {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
	})
}

func TestRefusedScorecardDoesNotCostThePull(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.publishing()
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultForbidden, Method: "POST", Path: "check-runs$", Count: -1})
		w.runUntilSettled()
		if e := w.store.given(id1, solve.EffectPull, 0); e.State != solve.EffectApplied || len(w.pulls(s)) != 1 {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
	})
}

// TestSuspendedInstallationIsWaitedFor: a suspension delays what is to be
// written, whether the token is older than it or not, and ends it only after hours.
func TestSuspendedInstallationIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, evict := range map[string]bool{"no token": true, "an old token": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				in := githubsim.Installation{ID: w.repo.Installation}
				w.store.want(w.reply("ask-0", "hello"))
				w.runUntilSettled()
				if evict {
					w.app.Evict(w.repo.Installation)
				}
				must(t, w.hub.Suspend(in))
				w.store.want(w.reply("ask-1", "hello"))
				stop := w.write("node-2")
				w.await("tries", func() bool { return w.store.given("ask-1", solve.EffectReply, 0).Tries > 5 })
				_, _, err := w.app.Permission(t.Context(), w.repo, "alice")
				var passing interface {
					Temporary() bool
					Public() string
				}
				if !errors.As(err, &passing) || !passing.Temporary() || !strings.Contains(passing.Public(), "suspended") {
					t.Errorf("reading: %v", err)
				}
				must(t, w.hub.Unsuspend(in))
				w.settle()
				stop()
				if e := w.store.given("ask-1", solve.EffectReply, 0); e.State != solve.EffectApplied {
					t.Errorf("effect is %s: %s", e.State, e.Error)
				}
				must(t, w.hub.Suspend(in))
				w.store.want(w.reply("ask-2", "hello"))
				began := time.Now()
				w.runUntilSettled()
				if e := w.store.given("ask-2", solve.EffectReply, 0); e.State != solve.EffectDead || time.Since(began) < 4*time.Hour {
					t.Errorf("effect is %s after %s: %s", e.State, time.Since(began), e.Error)
				}
			})
		})
	}
}
