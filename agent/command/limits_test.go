package command_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

const endless = "echo on; trap '' TERM HUP INT; while :; do sleep 0.1; done"

func TestContextCauses(t *testing.T) {
	t.Parallel()
	for exit, cause := range map[string]error{
		agent.ExitCancelled: agent.ErrCancelled, agent.ExitTime: agent.ErrRunTime, agent.ExitTime + " of the solve": agent.ErrSolveTime,
	} {
		t.Run(exit, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			var group sync.WaitGroup
			var res agent.Result
			group.Go(func() { res = hasty(script(endless)).Run(ctx, w.job()) })
			w.await("/workspace/agent/output.log", 1)
			stop(cause)
			group.Wait()
			want, _, _ := strings.Cut(exit, " ")
			w.want(res, want)
			w.nothingRuns()
			if res.Reason != cause.Error() || res.Err != nil || w.roles() != "start output exit" {
				t.Errorf("%+v: %s", res, w.roles())
			}
		})
	}
}

// The time of a run goes on while yudai is away.
func TestTimeWithoutOwner(t *testing.T) {
	t.Parallel()
	w := setup(t)
	res := w.run(script("echo 1000 >/workspace/agent/started; "+endless), nil)
	w.want(res, agent.ExitTime)
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	w := setup(t)
	res := w.run(script("while :; do echo 0123456789; done"), func(j *agent.Job) { j.Limits.RunOutput = 100_000 })
	w.want(res, agent.ExitOutput)
	if n := len(w.printed()); n <= 100_000 || n > 102_000 || res.Progress.Output != int64(n) {
		t.Errorf("%d bytes are kept, %d told", n, res.Progress.Output)
	}
}

func TestManyBytesAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.want(w.run(script("head -c 3000000 /dev/zero | tr '\\0' x"), nil), agent.ExitSubmitted)
	if n := len(w.printed()); n != 3_000_000 {
		t.Errorf("%d bytes are kept", n)
	}
}

// A program can make its output look as large as it likes.
func TestOutputOfHoles(t *testing.T) {
	t.Parallel()
	w := setup(t)
	res := w.run(script("truncate -s 50M /workspace/agent/output.log; "+endless), func(j *agent.Job) { j.Limits.RunOutput = 100_000 })
	w.want(res, agent.ExitOutput)
	if n := len(w.printed()); n > 1<<20 {
		t.Errorf("%d bytes are kept", n)
	}
}

// All that a program wrote about itself is kept, however much a look takes of it.
func TestCollectedToTheEnd(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := script("true")
	p.Collect = func(_ context.Context, _ sandbox.Sandbox, at int) ([]agent.Message, int, error) {
		if at == 5 {
			return nil, at, nil
		}
		return []agent.Message{{Role: agent.RoleAssistant, Content: strconv.Itoa(at)}}, at + 1, nil
	}
	w.want(w.run(p, nil), agent.ExitSubmitted)
	if got := w.roles(); got != "start 0 1 2 3 4 exit" {
		t.Error(got)
	}
}

func TestMaxEdits(t *testing.T) {
	t.Parallel()
	w := setup(t)
	res := w.run(script(`for i in 1 2; do echo $i >>work.txt; call; seen; done; `+endless), func(j *agent.Job) { j.MaxEdits = 2 })
	w.want(res, agent.ExitEdits)
	if res.Progress.Edits != 2 || res.Err != nil {
		t.Errorf("%+v", res)
	}
}

// modelError is what the gateway says of a model that failed.
type modelError struct{}

func (modelError) Error() string      { return "401 from the provider, details" }
func (modelError) ExitStatus() string { return "AuthenticationError" }
func (modelError) Public() string     { return "the provider refused the key" }

func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	limits := solve.Limits{RunSteps: 1, RunMoney: 3_000_000}
	for name, c := range map[string]struct {
		script       string
		trouble      error
		exit, reason string
	}{
		"hangs after the limit":    {"call; " + endless, fmt.Errorf("call: %w", agent.ErrLimit), agent.ExitLimits, "the limit of 1 steps was reached"},
		"hangs after the money":    {endless, fmt.Errorf("call: %w", agent.ErrLimit), agent.ExitLimits, "the money limit of $3.00 for one run was reached"},
		"hangs after the budget":   {endless, agent.ErrBudget, agent.ExitBudget, "the budget of the solve was used up"},
		"fails after the budget":   {"exit 1", agent.ErrBudget, agent.ExitBudget, "the budget of the solve was used up"},
		"hides the budget":         {"exit 0", agent.ErrBudget, agent.ExitBudget, "the budget of the solve was used up"},
		"fails as its model fails": {"exit 1", fmt.Errorf("call: %w", modelError{}), "AuthenticationError", "the provider refused the key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.trouble = c.trouble
			res := w.run(script(c.script), func(j *agent.Job) { j.Limits.RunSteps, j.Limits.RunMoney = limits.RunSteps, limits.RunMoney })
			w.want(res, c.exit)
			if res.Reason != c.reason {
				t.Error(res.Reason)
			}
		})
	}
}

// A refusal that passes ends nothing.
func TestTroubleThatPasses(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.trouble = modelError{}
	var group sync.WaitGroup
	var res agent.Result
	group.Go(func() {
		res = hasty(script("until [ -e /workspace/agent/go ]; do sleep 0.02; done; sleep 0.5")).Run(t.Context(), w.job())
	})
	w.await("/workspace/agent/starts", 1)
	w.mu.Lock()
	w.trouble = nil
	w.mu.Unlock()
	if err := (agent.File{Path: "/workspace/agent/go"}).Put(t.Context(), w.machine); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	w.want(res, agent.ExitSubmitted)
}

// A store that fails ends the run, and nothing of it goes on.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	w := setup(t)
	saves := 0
	res := w.run(script(endless), func(j *agent.Job) {
		save := j.Save
		j.Save = func(ctx context.Context, lines []byte, p solve.Progress) error {
			if saves++; saves > 1 {
				return context.DeadlineExceeded
			}
			return save(ctx, lines, p)
		}
	})
	w.want(res, agent.ExitStore)
}

// flaky fails some looks.
type flaky struct {
	agenttest.Sandbox
	bad func() bool
}

func (f flaky) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if f.bad() {
		return sandbox.Result{}, errors.New("the provider hiccups")
	}
	return f.Sandbox.Exec(ctx, c)
}

// A sandbox that cannot be asked for a moment costs nothing; one that stays away ends the run.
func TestLooksThatFail(t *testing.T) {
	t.Parallel()
	for exit, most := range map[string]int{agent.ExitSubmitted: 2, agent.ExitSandbox: 1000} {
		t.Run(exit, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			looks := 0
			res := w.run(script("sleep 0.5; echo x"), func(j *agent.Job) {
				j.Sandbox = flaky{w.machine, func() bool { looks++; return looks > 2 && looks <= 2+most }}
			})
			w.want(res, exit)
		})
	}
}
