package solve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

func keys(effects []solve.Effect) string {
	var out []string
	for _, e := range effects {
		key := strings.TrimPrefix(e.Key, "s1/")
		if e.Text != "" {
			key += "=" + e.Text
		}
		out = append(out, key)
	}
	return strings.Join(out, " ")
}

func TestEffectsOfSolve(t *testing.T) {
	t.Parallel()
	began := time.Unix(100, 0)
	plan := solve.Plan{Experiments: make([]solve.Experiment, 14)}
	for name, c := range map[string]struct {
		s    solve.Solve
		ev   solve.EventName
		want string
	}{
		"greeted":              {solve.Solve{State: solve.StateQueued}, solve.EventGreeted, "react=eyes"},
		"greeted, and waiting": {solve.Solve{State: solve.StateQueued, Place: 3}, solve.EventGreeted, "react=eyes comment"},
		"claimed":              {solve.Solve{State: solve.StatePreparing, Started: began}, solve.EventClaimed, "react=eyes claim comment check"},
		"base":                 {solve.Solve{State: solve.StateRunning, Started: began}, solve.EventBaseReady, "comment check"},
		"ended":                {solve.Solve{State: solve.StateReducing, Started: began}, solve.EventRunsEnded, "comment check"},
		"champion": {
			solve.Solve{State: solve.StatePublishing, Started: began, Decision: &solve.Decision{Champion: 1}},
			solve.EventChampion, "pull comment check",
		},
		"solved": {
			solve.Solve{State: solve.StateSolved, Started: began, Plan: plan, Decision: &solve.Decision{Champion: 1}},
			solve.EventPublished,
			"result outcome=hooray comment check run_check/1 run_check/2 run_check/3 run_check/4 run_check/5 run_check/6 " +
				"run_check/7 run_check/8 run_check/9 run_check/10 run_check/11 run_check/12",
		},
		"unsolved": {
			solve.Solve{
				State: solve.StateUnsolved, Started: began, Decision: &solve.Decision{},
				Plan: solve.Plan{Experiments: make([]solve.Experiment, 1)},
			}, solve.EventNoChampion, "result outcome=confused release comment check run_check/1",
		},
		"expired":             {solve.Solve{State: solve.StateExpired, Started: began}, solve.EventExpired, "result outcome=confused release comment check"},
		"cancelled":           {solve.Solve{State: solve.StateCancelled, Started: began}, solve.EventCancelled, "result outcome=confused release comment check"},
		"failed":              {solve.Solve{State: solve.StateFailed, Started: began}, solve.EventFailed, "result outcome=confused release comment check"},
		"failed, never begun": {solve.Solve{State: solve.StateFailed}, solve.EventFailed, "result outcome=confused"},
		"refused": {
			solve.Solve{State: solve.StateFailed, Refused: true, Reason: "no rights, @octocat"},
			solve.EventFailed, "react=-1 reply",
		},
		"refused after the eyes": {
			solve.Solve{State: solve.StateFailed, Refused: true, Reason: "it is closed", Greeted: began},
			solve.EventFailed, "outcome=-1 reply",
		},
		"refused after a crash in preparing": {
			solve.Solve{State: solve.StateFailed, Refused: true, Started: began}, solve.EventFailed, "result outcome=confused release comment check",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.s.ID = "s1"
			if got := keys(solve.EffectsOf(c.s, nil, c.ev)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestEffectsOfRun(t *testing.T) {
	t.Parallel()
	for ev, want := range map[solve.EventName]string{
		solve.EventAdmitted: "", solve.EventAdopted: "", solve.EventAgentEnded: "",
		solve.EventStarted: "comment check run_check/3", solve.EventHarvested: "comment check run_check/3",
		solve.EventRequeued: "comment check run_check/3", solve.EventLost: "comment check run_check/3",
		solve.EventEmpty: "comment check run_check/3", solve.EventTimedOut: "comment check run_check/3",
		solve.EventPassed: "comment check run_check/3", solve.EventTestsFail: "comment check run_check/3",
		solve.EventNoVerdict: "comment check run_check/3", solve.EventCancelled: "comment check run_check/3",
		solve.EventFailed: "comment check run_check/3",
	} {
		if got := keys(solve.EffectsOf(solve.Solve{ID: "s1"}, &solve.Run{N: 3}, ev)); got != want {
			t.Errorf("%s: got %q, want %q", ev, got, want)
		}
	}
	many := solve.EffectsOf(solve.Solve{ID: "s1"}, &solve.Run{N: solve.MaxRunChecks + 1}, solve.EventStarted)
	if got := keys(many); got != "comment check" {
		t.Errorf("run beyond the limit: %q", got)
	}
}

// An effect carries all that the writer needs to find its target again.
func TestEffectFields(t *testing.T) {
	t.Parallel()
	s := solve.Solve{
		ID: "s1", State: solve.StatePreparing, Started: time.Unix(1, 0), Repo: solve.Repo{Installation: 5, ID: 6, Owner: "o", Name: "n"},
		Issue: solve.Issue{Number: 7}, Trigger: solve.Trigger{CommentID: 99},
	}
	got := solve.EffectsOf(s, nil, solve.EventClaimed)
	want := solve.Effect{
		V: 1, Key: "s1/react", Kind: solve.EffectReact, Repo: s.Repo, Issue: 7, Solve: "s1", Priority: 5, CommentID: 99,
		Text: "eyes", State: solve.EffectPending, Wanted: 1,
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	check := solve.EffectsOf(s, &solve.Run{N: 2}, solve.EventStarted)[2]
	want = solve.Effect{
		V: 1, Key: "s1/run_check/2", Kind: solve.EffectRun, Repo: s.Repo, Issue: 7, Solve: "s1", Run: 2, Priority: 40,
		State: solve.EffectPending, Wanted: 1,
	}
	if diff := cmp.Diff(want, check); diff != "" {
		t.Error(diff)
	}
}

// Only the kinds whose text changes with the solve may be asked for again.
func TestLevelKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[solve.EffectKind]bool{
		solve.EffectNotice: true, solve.EffectCheck: true, solve.EffectRun: true,
		solve.EffectReact: false, solve.EffectClaim: false, solve.EffectPull: false, solve.EffectFinal: false,
		solve.EffectReply: false, solve.EffectDone: false, solve.EffectRelease: false,
	} {
		if kind.Level() != want {
			t.Errorf("%s: %v", kind, kind.Level())
		}
	}
}

// The table and the effects together: whatever is written at the end of a
// solve that was begun, its comment and check are brought up to date.
func TestEveryEndUpdatesCommentAndCheck(t *testing.T) {
	t.Parallel()
	for _, step := range solve.SolveSteps() {
		if step.On == solve.EventGreeted {
			continue // there is neither yet
		}
		s := solve.Solve{ID: "s1", State: step.To, Started: time.Unix(1, 0)}
		got := keys(solve.EffectsOf(s, nil, step.On))
		if !strings.Contains(got, "comment check") {
			t.Errorf("%v: %s", step, got)
		}
		if step.To.Final() != strings.Contains(got, "result outcome=") {
			t.Errorf("%v: %s", step, got)
		}
	}
}

// TestDeniedIsToldOnceAndLast: somebody without rights gets one reaction and one reply for each
// issue, however often they ask, after everything else; and nothing where too many were told.
func TestDeniedIsToldOnceAndLast(t *testing.T) {
	t.Parallel()
	s := solve.Solve{
		State: solve.StateFailed, Refused: true, Denied: true, Repo: solve.Repo{ID: 6}, Issue: solve.Issue{Number: 7},
		Trigger: solve.Trigger{Actor: "mallory", CommentID: 99},
	}
	first, second := s, s
	first.ID, second.ID = "s1", "s2"
	one, two := solve.EffectsOf(first, nil, solve.EventFailed), solve.EffectsOf(second, nil, solve.EventFailed)
	if len(one) != 2 || keys(one) != keys(two) || one[0].Kind != solve.EffectReact || one[0].Text != "-1" {
		t.Fatalf("%+v, then %+v", one, two)
	}
	for _, e := range one {
		for _, kind := range []solve.EffectKind{solve.EffectReact, solve.EffectNotice, solve.EffectRelease, solve.EffectFinal} {
			if e.Priority <= solve.Priority(kind) {
				t.Errorf("%s goes before a %s", e.Key, kind)
			}
		}
	}
	s.Silent = true
	if got := solve.EffectsOf(s, nil, solve.EventFailed); len(got) != 0 {
		t.Errorf("told all the same: %+v", got)
	}
}
