package crosscheck_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/crosscheck"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/prepare"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// shelf is a store of artifacts.
type shelf map[string][]byte

func (s shelf) PutArtifact(_ context.Context, _ solve.ID, name string, data []byte) error {
	s[name] = data
	return nil
}

func (s shelf) Artifact(_ context.Context, _ solve.ID, name string) ([]byte, error) {
	if data, ok := s[name]; ok {
		return data, nil
	}
	return nil, solve.ErrNotFound
}

const newTest = "diff --git a/a_test.py b/a_test.py\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/a_test.py\n@@ -0,0 +1 @@\n+x\n"

// broken opens no sandbox, and counts how often it was asked to.
type broken struct{ asked int }

func (b *broken) Open(context.Context, solve.Solve, sandbox.Spec, *sandboxes.Recorder) (sandbox.Sandbox, error) {
	b.asked++
	return nil, sandbox.ErrUnavailable
}

func (*broken) Of(string) (sandbox.Driver, bool) { return nil, false }
func (*broken) Names() []string                  { return nil }
func (*broken) All() []sandbox.Driver            { return nil }

func passed(n, proofs int, patch string) solve.Run {
	return solve.Run{
		N: n, State: solve.RunPassed,
		Verdict:   &solve.Verdict{Outcome: solve.Passed, Proofs: proofs, ProofTests: slices.Repeat([]string{"TestNew"}, proofs)},
		Candidate: &solve.Candidate{SHA256: patch, Artifact: "patch"},
	}
}

// TestSandboxesAreOpenedOnlyToChoose: without a pair, without time, for a person's pick and a
// second time nothing is opened; a sandbox that fails changes no solve.
func TestSandboxesAreOpenedOnlyToChoose(t *testing.T) {
	t.Parallel()
	report, err := judge.Report{Tests: map[string]judge.Status{"TestOld": judge.Pass}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	settings := solve.Settings{CrossRuns: 9, CrossTime: time.Minute}
	two := []solve.Run{passed(1, 1, "a"), passed(2, 0, "b")}
	for name, c := range map[string]struct {
		settings solve.Settings
		runs     []solve.Run
		solve    solve.Solve
		asked    int
	}{
		"a pair":         {settings, two, solve.Solve{}, 1},
		"no proof":       {settings, []solve.Run{passed(1, 0, "a"), passed(2, 0, "b")}, solve.Solve{}, 0},
		"one patch":      {settings, []solve.Run{passed(1, 1, "a"), passed(2, 1, "a")}, solve.Solve{}, 0},
		"turned off":     {solve.Settings{CrossTime: time.Minute}, two, solve.Solve{}, 0},
		"no time":        {solve.Settings{CrossRuns: 9}, two, solve.Solve{}, 0},
		"hardly time":    {settings, two, solve.Solve{Deadline: time.Now().Add(20 * time.Second)}, 0},
		"a person picks": {settings, two, solve.Solve{Follows: &solve.Follow{Kind: solve.FollowPick}}, 0},
	} {
		store, b := shelf{"patch": []byte(newTest), prepare.BaseReport: report}, &broken{}
		checker := crosscheck.Checker{Store: store, Bases: b, Drivers: b, Settings: c.settings}
		for range 2 {
			if out, err := checker.Test(t.Context(), c.solve, c.runs); err != nil || len(out.Results) > 0 {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
		}
		if b.asked != c.asked {
			t.Errorf("%s: %d sandboxes asked for, want %d", name, b.asked, c.asked)
		}
	}
}

// TestCancelEndsTheTests with the cause, and stores nothing.
func TestCancelEndsTheTests(t *testing.T) {
	t.Parallel()
	cause := errors.New("cancelled by alice")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	report, err := judge.Report{Tests: map[string]judge.Status{"TestOld": judge.Pass}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	store, b := shelf{"patch": []byte(newTest), prepare.BaseReport: report}, &broken{}
	checker := crosscheck.Checker{Store: store, Bases: b, Drivers: b, Settings: solve.Settings{CrossRuns: 9, CrossTime: time.Minute}}
	if _, err := checker.Test(ctx, solve.Solve{}, []solve.Run{passed(1, 1, "a"), passed(2, 0, "b")}); !errors.Is(err, cause) || len(store) != 2 {
		t.Errorf("%v, %d artifacts", err, len(store))
	}
}

// TestStoredOutcomeStands: after a crash the decision is made of the tests that ran, whatever time is left.
func TestStoredOutcomeStands(t *testing.T) {
	t.Parallel()
	store := shelf{crosscheck.OutcomeArtifact: []byte(`{"results":[{"author":1,"run":2,"passed":["TestNew"]}]}`)}
	checker := crosscheck.Checker{Store: store, Settings: solve.Settings{CrossRuns: 9, CrossTime: time.Minute}}
	over := solve.Solve{Deadline: time.Now().Add(-time.Hour)}
	out, err := checker.Test(t.Context(), over, []solve.Run{passed(1, 1, "a"), passed(2, 0, "b")})
	if err != nil || len(out.Results) != 1 || out.Results[0].Run != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}
