package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Causes with which an owner ends a run's context, see [context.WithCancelCause].
// Each becomes a stored end of the run. A context that ends for any other
// reason (the process stops, the lease is lost) leaves the transcript open, so
// that the next owner can go on.
var (
	// ErrRunTime says that the time of the run is over.
	ErrRunTime = errors.New("the time limit of the run was reached")
	// ErrSolveTime says that the time of the whole solve is over.
	ErrSolveTime = errors.New("the time budget of the solve was used up")
	// ErrCancelled says that a person stopped the run, or that it can no longer win.
	ErrCancelled = errors.New("the run was cancelled")
)

// Exit statuses of runs that ended by a failure beside the model's.
const (
	ExitSandbox    = "SandboxError"    // a command could not be run at all
	ExitStore      = "StoreError"      // a step could not be stored
	ExitTranscript = "TranscriptError" // the stored transcript cannot be gone on with
	ExitModel      = "ModelError"      // a model failure without a name of its own
	ExitProgram    = "ProgramError"    // a CLIAgent's program could not be started, or failed
)

// An ending is why a run stops.
type ending struct {
	exit, reason, submission string
	err                      error
	// open leaves the transcript without an exit message.
	open bool
}

// limit is the one place where limits are looked at: before each model call. A
// limit never cuts a call or a command short, so money and output may overshoot by one step.
func (r *run) limit(ctx context.Context) *ending {
	l, p := r.job.Limits, r.progress
	if ctx.Err() != nil {
		return contextEnding(ctx)
	}
	switch elapsed := r.job.Elapsed + time.Since(r.started); {
	case l.RunSteps > 0 && p.Steps >= l.RunSteps:
		return ended(stepLimitReached(l))
	case l.RunMoney > 0 && p.Usage.Cost >= l.RunMoney:
		return ended(moneyLimitReached(l))
	case l.RunTime > 0 && elapsed >= l.RunTime:
		return &ending{exit: ExitTime, reason: ErrRunTime.Error()}
	case r.job.MaxEdits > 0 && p.Edits >= r.job.MaxEdits:
		return ended(editsUsed(r.job.MaxEdits))
	case r.outputFull():
		return ended(outputLimitReached(l))
	}
	return r.checkBudget()
}

// ended is a result that another agent's runner could have, too.
func ended(r Result) *ending { return &ending{exit: r.Exit, reason: r.Reason, err: r.Err} }

func (r *run) checkBudget() *ending {
	if r.job.CheckBudget == nil {
		return nil
	}
	err := r.job.CheckBudget()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrBudget):
		return &ending{exit: ExitBudget, reason: budgetUsed}
	}
	return &ending{exit: ExitBudget, reason: "the budget of the solve could not be checked", err: fmt.Errorf("check budget: %w", err)}
}

func (r *run) outputFull() bool {
	return r.job.Limits.RunOutput > 0 && r.progress.Output >= r.job.Limits.RunOutput
}

// contextEnding is what the end of the context means for the run.
func contextEnding(ctx context.Context) *ending {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrRunTime), errors.Is(cause, context.DeadlineExceeded):
		return &ending{exit: ExitTime, reason: ErrRunTime.Error()}
	case errors.Is(cause, ErrSolveTime):
		return &ending{exit: ExitTime, reason: ErrSolveTime.Error()}
	case errors.Is(cause, ErrCancelled):
		return &ending{exit: ExitCancelled, reason: ErrCancelled.Error()}
	}
	return &ending{exit: ExitCancelled, reason: "the worker of the run stopped", err: cause, open: true}
}

// modelEnding is how a run ends when its model call failed for good.
func modelEnding(err error) *ending {
	if me, ok := errors.AsType[ModelError](err); ok {
		return &ending{exit: me.ExitStatus(), reason: me.Public(), err: err}
	}
	return &ending{exit: ExitModel, reason: "the model call failed", err: err}
}

func usd(m solve.Money) float64 { return float64(m) / 1e6 }
func fromUSD(d float64) solve.Money {
	return solve.Money(math.Round(min(max(d, 0), maxCost/1e6) * 1e6))
}
