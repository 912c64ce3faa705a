package sandboxes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// crowded has no capacity until a time.
type crowded struct {
	sandbox.Driver
	until time.Time
}

func (c crowded) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if time.Now().Before(c.until) {
		return nil, sandbox.ErrCapacity
	}
	return c.Driver.Open(ctx, spec)
}

func TestOpenWaitsForCapacity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy, deadline time.Duration // deadline 0 is none
		phase          string
		opens          bool
	}{
		"free":                               {0, 0, sandboxes.PhaseWork, true},
		"free after a while":                 {5 * time.Minute, 0, sandboxes.PhaseWork, true},
		"full for too long":                  {time.Hour, 0, sandboxes.PhaseWork, false},
		"full until the solve's end":         {5 * time.Minute, time.Minute, sandboxes.PhaseWork, false},
		"a verdict outlives the solve's end": {5 * time.Minute, time.Minute, sandboxes.PhaseJudge, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := crowded{fakesandbox.New(nil), time.Now().Add(c.busy)}
			var s solve.Solve
			if c.deadline != 0 {
				s.Deadline = time.Now().Add(c.deadline)
			}
			used := sandboxes.NewRecorder(nil)
			sb, err := used.Open(t.Context(), d, sandbox.Spec{Name: "y-1", Labels: map[string]string{"phase": c.phase}}, s)
			if !c.opens {
				if !errors.Is(err, sandbox.ErrCapacity) || len(used.Used()) != 0 {
					t.Errorf("%s: %v, recorded %+v", name, err, used.Used())
				}
				return
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			opened := time.Now()
			<-time.After(time.Minute)
			sandboxes.Close(t.Context(), sb)
			used.Closed()
			if u := used.Used(); len(u) != 1 || u[0].Phase != c.phase || !u[0].Opened.Equal(opened) || u[0].Closed.Sub(opened) != time.Minute {
				t.Errorf("%s: recorded %+v", name, u)
			}
		})
	}
}

func TestDriverThatIsNotConfiguredAnyMore(t *testing.T) {
	t.Parallel()
	all := fakesandbox.Only{Driver: fakesandbox.New(nil)}
	if _, err := sandboxes.DriverOf(all, solve.Solve{}); err != nil {
		t.Errorf("the default: %v", err)
	}
	_, err := sandboxes.DriverOf(all, solve.Solve{Plan: solve.Plan{Sandbox: "moon"}})
	if !errors.As(err, &fault.Refusal{}) || !fault.Hopeless(err) {
		t.Errorf("%v, want a final refusal", err)
	}
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	if d := sandboxes.Lifetime(time.Hour, time.Minute); d != 61*time.Minute {
		t.Errorf("lifetime %s", d)
	}
	if d := sandboxes.Lifetime(time.Hour, 0); d != 0 {
		t.Errorf("lifetime %s with a part that has no limit", d)
	}
}
