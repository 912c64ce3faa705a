package ghapp_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

const id2 = "d0000000000000000002"

// solvedPull is a solve whose pull request is open; the writer is stopped.
func (w *world) solvedPull() solve.Solve {
	stop := w.write("node-1")
	s := w.solveAll(id1, w.settle)
	w.settle()
	stop()
	return s
}

// follow is a solve that goes on with the pull request of another.
func (w *world) follow(of solve.Solve, kind solve.FollowKind) solve.Solve {
	s := w.newSolve(id2)
	pull := *of.Pull
	s.Branch, s.Follows = of.Branch, &solve.Follow{Kind: kind, Of: of.ID, Pull: &pull}
	if kind == solve.FollowRevise {
		s.Base.SHA = pull.Commit
	}
	return s
}

// another is the commit of another candidate.
func (w *world) another(base string) solve.Commit {
	return solve.Commit{
		Message: "fix: say hello differently\n\nFor #1.\n", BaseSHA: base,
		Files: []solve.CommitFile{{Path: "hello.go", Mode: "100644", Data: []byte(strings.ReplaceAll(helloGo, "hullo", "hello there"))}},
	}
}

// publish brings a solve that was claimed to its end and returns it.
func (w *world) publish(s solve.Solve, between func()) solve.Solve {
	w.store.put(s, solve.EventClaimed)
	between()
	s.State, s.Decision = solve.StatePublishing, &solve.Decision{Champion: 2, Ranking: []int{2, 1}}
	w.store.mu.Lock()
	w.store.runs[s.ID] = w.store.runs[id1]
	w.store.mu.Unlock()
	w.store.put(s, solve.EventChampion)
	between()
	e := w.store.given(s.ID, solve.EffectPull, 0)
	w.await("pull request of "+string(s.ID), func() bool {
		e = w.store.given(s.ID, solve.EffectPull, 0)
		return e.State == solve.EffectApplied || e.State == solve.EffectDead
	})
	s.State, s.Ended = solve.StateFailed, time.Now()
	if e.State == solve.EffectApplied {
		s.State = solve.StateSolved
		s.Pull = &solve.Pull{Number: e.Receipt.Number, URL: e.Receipt.URL, Commit: e.Receipt.SHA}
	}
	w.store.put(s, solve.EventPublished)
	w.settle()
	return s
}

func (w *world) commit(sha string) *github.Commit {
	w.t.Helper()
	c, _, err := w.api().Git.GetCommit(w.t.Context(), "octo", "hello", sha)
	must(w.t, err)
	return c
}

// checkTarget fails the test unless there is one pull request, with the solve's
// champion on it, its text and its completed check runs.
func (w *world) checkTarget(first, s solve.Solve) {
	w.t.Helper()
	got := w.pulls(first)
	if len(got) != 1 || got[0].GetNumber() != first.Pull.Number || s.Pull == nil || s.Pull.Number != first.Pull.Number {
		w.t.Fatalf("pull requests %v, solve's %+v: %s", got, s.Pull, w.store.given(s.ID, solve.EffectPull, 0).Error)
	}
	if head := got[0].GetHead().GetSHA(); head != s.Pull.Commit {
		w.t.Errorf("the branch is at %s, the receipt says %s", head, s.Pull.Commit)
	}
	if marker, _, _ := solve.FindMarker(got[0].GetBody()); marker != string(s.ID) {
		w.t.Errorf("the body is of %q", marker)
	}
	if claim := w.store.given(s.ID, solve.EffectClaim, 0); claim.Receipt.SHA != first.Pull.Commit {
		w.t.Errorf("the claim is %s: %s", claim.Receipt.SHA, claim.Error)
	}
	want := map[string]string{"yudai:" + string(s.ID): first.Pull.Commit, "yudai:" + string(s.ID) + "/1": first.Pull.Commit}
	if s.Pull.Commit != first.Pull.Commit {
		want["yudai:"+string(s.ID)+"/head"] = s.Pull.Commit
	}
	for external, sha := range want {
		if got := w.checks(sha, external); len(got) != 1 || got[0].GetStatus() != "completed" || got[0].GetConclusion() != "success" {
			w.t.Errorf("check run %s on %s: %v", external, sha, got)
		}
	}
	if n := w.hub.Requests("POST", "/pulls") + w.hub.Requests("POST", "/git/refs"); n != 2 {
		w.t.Errorf("%d branches and pull requests were made, want the first solve's", n)
	}
}

func TestChampionGoesOntoTheOpenPull(t *testing.T) {
	t.Parallel()
	for kind, parent := range map[solve.FollowKind]func(w *world, first solve.Solve) string{
		solve.FollowRetry:  func(w *world, _ solve.Solve) string { return w.base },
		solve.FollowPick:   func(w *world, _ solve.Solve) string { return w.base },
		solve.FollowRevise: func(_ *world, first solve.Solve) string { return first.Pull.Commit },
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				first := w.solvedPull()
				_, _, err := w.api().PullRequests.Edit(t.Context(), "octo", "hello", first.Pull.Number, &github.PullRequest{Title: github.String("by hand")})
				must(t, err)
				s := w.follow(first, kind)
				w.content.commit = w.another(s.Base.SHA)
				stop := w.write("node-2")
				s = w.publish(s, w.settle)
				stop()
				w.checkTarget(first, s)
				c := w.commit(s.Pull.Commit)
				if len(c.Parents) != 1 || c.Parents[0].GetSHA() != parent(w, first) || !c.GetVerification().GetVerified() {
					t.Errorf("parents %v, verified %v", c.Parents, c.GetVerification().GetVerified())
				}
				if !strings.HasSuffix(c.GetMessage(), "Yudai-Solve: "+id2) {
					t.Errorf("message %q", c.GetMessage())
				}
				if got := w.pulls(first)[0].GetTitle(); got != "by hand" {
					t.Errorf("the title is %q", got)
				}
				for _, on := range []string{first.Pull.Commit, s.Pull.Commit} {
					for _, bad := range []string{"failure", "timed_out", "action_required"} {
						all, _, err := w.api().Checks.ListCheckRunsForRef(t.Context(), "octo", "hello", on, nil)
						must(t, err)
						if slices.ContainsFunc(all.CheckRuns, func(c *github.CheckRun) bool { return c.GetConclusion() == bad }) {
							t.Errorf("a check run of %s is a %s", on, bad)
						}
					}
				}
			})
		})
	}
}

func TestChampionThatStaysMakesNoCommit(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		first := w.solvedPull()
		before := w.hub.Requests("POST", "/git/commits") + w.hub.Requests("PATCH", "/git/refs")
		stop := w.write("node-2")
		s := w.publish(w.follow(first, solve.FollowRetry), w.settle)
		stop()
		w.checkTarget(first, s)
		if n := w.hub.Requests("POST", "/git/commits") + w.hub.Requests("PATCH", "/git/refs") - before; n != 0 || s.Pull.Commit != first.Pull.Commit {
			t.Errorf("%d commits and moves, the branch went from %s to %s", n, first.Pull.Commit, s.Pull.Commit)
		}
	})
}

func TestTextOfAPersonStays(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		first := w.solvedPull()
		_, _, err := w.api().PullRequests.Edit(t.Context(), "octo", "hello", first.Pull.Number, &github.PullRequest{Body: github.String("My own words.")})
		must(t, err)
		s := w.follow(first, solve.FollowPick)
		w.content.commit = w.another(w.base)
		stop := w.write("node-2")
		s = w.publish(s, w.settle)
		stop()
		if got := w.pulls(first)[0]; got.GetBody() != "My own words." || got.GetHead().GetSHA() != s.Pull.Commit {
			t.Errorf("body %q, head %s", got.GetBody(), got.GetHead().GetSHA())
		}
	})
}

// TestTargetThatSomebodyMovedIsLeftAlone: before the claim, after it, and while
// the commit is being made, right before the branch would be moved.
func TestTargetThatSomebodyMovedIsLeftAlone(t *testing.T) {
	t.Parallel()
	push := func(w *world, s solve.Solve) string {
		sha, err := w.hub.CommitFiles("octo/hello", s.Branch, "mine", map[string]string{"x": "y"})
		must(w.t, err)
		return sha
	}
	for name, test := range map[string]struct {
		kind solve.FollowKind
		when string
		want string
	}{
		"before the claim":                 {solve.FollowPick, "claim", "nothing was changed"},
		"after the claim":                  {solve.FollowPick, "pull", "/yudai pick 2"},
		"after the claim, of a revision":   {solve.FollowRevise, "pull", "/yudai pick 2"},
		"before the move":                  {solve.FollowRetry, "move", "/yudai pick 2"},
		"before the move, of a revision":   {solve.FollowRevise, "move", "/yudai pick 2"},
		"at the move, behind GitHub's ear": {solve.FollowRevise, "late", "/yudai pick 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				first := w.solvedPull()
				s := w.follow(first, test.kind)
				w.content.commit = w.another(s.Base.SHA)
				var theirs string
				interrupt := &before{next: w.traffic, do: func() { theirs = push(w, s) }}
				switch test.when {
				case "claim":
					theirs = push(w, s)
				case "move":
					interrupt.method, interrupt.path = "POST", "/git/commits"
				case "late":
					interrupt.method, interrupt.path = "PATCH", "/git/refs/heads/"+s.Branch
				}
				w.app = w.newApp(interrupt)
				stop := w.write("node-2")
				s = w.publish(s, func() {
					w.settle()
					if test.when == "pull" && theirs == "" {
						theirs = push(w, s)
					}
				})
				stop()
				e := w.store.given(id2, solve.EffectPull, 0)
				if e.State != solve.EffectDead || !strings.Contains(e.Error, "moved by somebody else since") || !strings.Contains(e.Error, test.want) {
					t.Errorf("effect is %s: %s", e.State, e.Error)
				}
				if got, err := w.app.Branch(t.Context(), w.repo, s.Branch); err != nil || got != theirs {
					t.Errorf("the branch is at %s, want %s: %v", got, theirs, err)
				}
				if marker, _, _ := solve.FindMarker(w.pulls(first)[0].GetBody()); marker != id1 {
					t.Errorf("the body is of %q", marker)
				}
			})
		})
	}
}

// before does something right before the first request of a kind.
type before struct {
	next         http.RoundTripper
	method, path string
	do           func()
	once         sync.Once
}

func (b *before) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == b.method && strings.HasSuffix(req.URL.Path, b.path) {
		b.once.Do(b.do)
	}
	return b.next.RoundTrip(req)
}

func TestTargetThatWasClosedIsLeftAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		first := w.solvedPull()
		s := w.follow(first, solve.FollowPick)
		w.content.commit = w.another(w.base)
		must(t, w.hub.CloseIssue("octo/hello", first.Pull.Number, "ada"))
		stop := w.write("node-2")
		s = w.publish(s, w.settle)
		stop()
		if e := w.store.given(id2, solve.EffectPull, 0); e.State != solve.EffectDead || !strings.Contains(e.Error, "was closed") {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
		if got, err := w.app.Branch(t.Context(), w.repo, s.Branch); err != nil || got != first.Pull.Commit {
			t.Errorf("the branch is at %s: %v", got, err)
		}
	})
}

func TestTargetWhoseBranchIsGoneEndsTheClaim(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		first := w.solvedPull()
		_, err := w.api().Git.DeleteRef(t.Context(), "octo", "hello", "heads/"+first.Branch)
		must(t, err)
		s := w.follow(first, solve.FollowPick)
		stop := w.write("node-2")
		w.publish(s, w.settle)
		stop()
		for _, kind := range []solve.EffectKind{solve.EffectClaim, solve.EffectCheck, solve.EffectPull} {
			if e := w.store.given(id2, kind, 0); e.State != solve.EffectDead || !strings.Contains(e.Error, "is gone; nothing was changed") {
				t.Errorf("%s is %s: %s", kind, e.State, e.Error)
			}
		}
	})
}

func TestChampionReplacesNothingWhereForceIsForbidden(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		first := w.solvedPull()
		s := w.follow(first, solve.FollowPick)
		w.content.commit = w.another(w.base)
		w.app = w.newApp(noForce{w.traffic})
		stop := w.write("node-2")
		s = w.publish(s, w.settle)
		stop()
		w.checkTarget(first, s)
		c := w.commit(s.Pull.Commit)
		tree, _, err := w.api().Git.GetTree(t.Context(), "octo", "hello", c.GetTree().GetSHA(), true)
		must(t, err)
		var paths []string
		for _, e := range tree.Entries {
			paths = append(paths, e.GetPath())
		}
		if c.Parents[0].GetSHA() != first.Pull.Commit || strings.Join(paths, " ") != "hello.go old.txt run.sh" {
			t.Errorf("parents %v, files %v", c.Parents, paths)
		}
	})
}

// TestEveryFaultOnTheOpenPullLeavesOneOfEach makes each write that a solve on an
// open pull request needs go wrong.
func TestEveryFaultOnTheOpenPullLeavesOneOfEach(t *testing.T) {
	t.Parallel()
	for _, kind := range []solve.FollowKind{solve.FollowRetry, solve.FollowRevise} {
		for _, fault := range []githubsim.FaultKind{
			githubsim.FaultServerError, githubsim.FaultLostAnswer, githubsim.FaultCutBefore, githubsim.FaultCutAfter,
			githubsim.FaultHangAfter, githubsim.FaultSecondary429, githubsim.FaultUnauthorized, githubsim.FaultNotFound,
		} {
			t.Run(string(kind)+" "+string(fault), func(t *testing.T) {
				t.Parallel()
				inWorld(t, githubsim.Options{Tokens: githubsim.TokenAlternate}, func(t *testing.T, w *world) {
					first := w.solvedPull()
					w.hub.SetLag(2 * time.Second)
					var injected []*githubsim.Injection
					for _, route := range []struct{ method, path string }{
						{"GET", `/pulls/\d+$`}, {"GET", `/git/ref/`}, {"GET", `/git/commits/`},
						{"POST", `/git/commits$`}, {"POST", `/git/trees$`}, {"PATCH", `/git/refs/`},
						{"PATCH", `/pulls/\d+$`}, {"POST", `/check-runs$`}, {"PATCH", `/check-runs/\d+$`},
					} {
						injected = append(injected, w.hub.Inject(githubsim.Fault{Kind: fault, Method: route.method, Path: route.path}))
					}
					s := w.follow(first, kind)
					w.content.commit = w.another(s.Base.SHA)
					stop := w.write("node-2")
					s = w.publish(s, w.settle)
					stop()
					pass(time.Minute)
					for i, in := range injected {
						if in.Hits() == 0 {
							t.Errorf("fault %d was not met", i)
						}
						in.Remove()
					}
					w.checkTarget(first, s)
				})
			})
		}
	}
}

// TestKilledOnTheOpenPullIsResumedWithoutADouble ends a writer at each of its
// effects, before the first call or after GitHub did as asked.
func TestKilledOnTheOpenPullIsResumedWithoutADouble(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"before the effect": false, "after the effect": true} {
		for _, kind := range []solve.FollowKind{solve.FollowRetry, solve.FollowRevise} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
					first := w.solvedPull()
					s := w.follow(first, kind)
					w.content.commit = w.another(s.Base.SHA)
					over := w.killing(done)
					s = w.publish(s, func() { pass(7 * time.Second) })
					if n := over(); n < 5 {
						t.Errorf("only %d writers were killed", n)
					}
					w.checkTarget(first, s)
				})
			})
		}
	}
}

// killing runs writers of which each is killed at its first effect that nobody was
// killed at, and followed by another. over ends the last and counts the killed.
func (w *world) killing(done bool) (over func() int) {
	k := &killer{seen: map[string]bool{}, wake: make(chan struct{})}
	if done {
		w.store.finishing = k.finishing
	} else {
		w.store.sending = k.sending
	}
	var processes sync.WaitGroup
	var stops []context.CancelFunc
	spawn := func() {
		ctx, cancel := context.WithCancel(zerolog.New(w.logs).WithContext(context.Background()))
		stops = append(stops, cancel)
		processes.Go(func() { _ = w.newWriter("node").Run(ctx) })
	}
	k.killed = func() { // its successor starts at once
		stops[len(stops)-1]()
		spawn()
	}
	spawn()
	return func() int {
		close(k.wake)
		for _, stop := range stops {
			stop()
		}
		processes.Wait()
		pass(time.Minute)
		return k.count()
	}
}
