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

// limit checks all limits, before each model call. A limit never cuts a call or a command
// short, so money and output may exceed it by one step.
func (r *run) limit(ctx context.Context) *Result {
	l, p := r.job.Limits, r.progress
	if ctx.Err() != nil {
		return new(ContextEnd(ctx))
	}
	switch elapsed := r.job.Elapsed + time.Since(r.started); {
	case l.RunSteps > 0 && p.Steps >= l.RunSteps:
		return new(stepLimitReached(l))
	case l.RunMoney > 0 && p.Usage.Cost >= l.RunMoney:
		return new(moneyLimitReached(l))
	case l.RunTime > 0 && elapsed >= l.RunTime:
		return new(TimeExceeded())
	case r.job.MaxEdits > 0 && p.Edits >= r.job.MaxEdits:
		return new(editsUsed(r.job.MaxEdits))
	case r.outputFull():
		return new(outputLimitReached(l))
	}
	return r.checkBudget()
}

func (r *run) checkBudget() *Result {
	if r.job.CheckBudget == nil {
		return nil
	}
	err := r.job.CheckBudget()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrBudget):
		return &Result{Exit: ExitBudget, Reason: budgetUsed}
	}
	return &Result{Exit: ExitBudget, Reason: "the budget of the solve could not be checked", Err: fmt.Errorf("check budget: %w", err)}
}

func (r *run) outputFull() bool {
	return r.job.Limits.RunOutput > 0 && r.progress.Output >= r.job.Limits.RunOutput
}

func usd(m solve.Money) float64 { return float64(m) / 1e6 }
func fromUSD(d float64) solve.Money {
	return solve.Money(math.Round(min(max(d, 0), maxCost/1e6) * 1e6))
}
