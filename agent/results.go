package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// What Mini and the runners of a [CLIAgent] share, so that people read the same words for
// the same ends.

// saveTime is how long a save may go on after the run's context has ended, so that a
// cancelled run keeps its whole transcript.
const saveTime = 30 * time.Second

// SaveContext is a context for storing things: it ends half a minute after ctx has ended.
func SaveContext(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(saveTime, cancel)
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() { stop(); cancel() }
}

// TaskText is the whole task of a CLIAgent: the issue in its frame, the strategy, the
// test command, the limits, and how the result is collected.
func TaskText(j Job) (string, error) {
	text, err := renderPrompt("cli_agent.tmpl", "", j)
	return text + "\n", err
}

// ContextEnd is what the end of a run's context means for the run. If the result is
// open, nothing of the run may be stopped.
func ContextEnd(ctx context.Context) Result {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrRunTime), errors.Is(cause, context.DeadlineExceeded):
		return TimeExceeded()
	case errors.Is(cause, ErrSolveTime):
		return Result{Exit: ExitTime, Reason: ErrSolveTime.Error()}
	case errors.Is(cause, ErrCancelled):
		return Result{Exit: ExitCancelled, Reason: ErrCancelled.Error()}
	}
	return Result{Exit: ExitCancelled, Reason: "the worker of the run stopped", Err: cause, Open: true}
}

// modelFailure is how a run ends when its model call failed for good.
func modelFailure(err error) Result {
	if me, ok := errors.AsType[ModelError](err); ok {
		return Result{Exit: me.ExitStatus(), Reason: me.Public(), Err: err}
	}
	return Result{Exit: ExitModel, Reason: "the model call failed", Err: err}
}

// ExitMessage is the last line of a transcript: how the run ended.
func ExitMessage(r Result) Message {
	extra := map[string]any{keyExit: r.Exit, keySubmission: r.Submission, keyTime: timestamp()}
	if r.Err != nil {
		extra[keyException] = r.Reason // public; the details are for the log
	}
	return Message{Role: RoleExit, Content: r.Reason, Extra: extra}
}

// ReadTranscript returns the messages of a stored transcript and leaves damaged lines out:
// an owner that died while writing leaves such a line. openLine says that the last line
// has no line end, so that the next one must begin with it.
func ReadTranscript(lines []byte) (messages []Message, openLine bool) {
	for line := range bytes.Lines(lines) {
		openLine = !bytes.HasSuffix(line, []byte("\n"))
		var m Message
		if json.Unmarshal(line, &m) == nil && m.Role != "" {
			messages = append(messages, m)
		}
	}
	return messages, openLine
}

// StoredExit is the end that a transcript holds, if it holds one.
func StoredExit(messages []Message, p solve.Progress) (Result, bool) {
	if n := len(messages); n > 0 && messages[n-1].Role == RoleExit {
		return exitResult(messages[n-1], p), true
	}
	return Result{}, false
}

// FailureResult is the end of a run by a failure that is not the agent's: [ErrSave], the end
// of the context, else the sandbox.
func FailureResult(ctx context.Context, err error) Result {
	switch {
	case errors.Is(err, ErrSave):
		return Result{Exit: ExitStore, Reason: "a step of the run could not be stored", Err: err, Open: true}
	case ctx.Err() != nil:
		return ContextEnd(ctx)
	}
	return Result{Exit: ExitSandbox, Reason: "the sandbox failed", Err: err}
}

const budgetUsed = "the budget of the solve was used up"

func stepLimitReached(l solve.Limits) Result {
	return Result{Exit: ExitLimits, Reason: fmt.Sprintf("the limit of %d steps was reached", l.RunSteps)}
}

func moneyLimitReached(l solve.Limits) Result {
	return Result{Exit: ExitLimits, Reason: fmt.Sprintf("the money limit of $%.2f for one run was reached", usd(l.RunMoney))}
}

// TimeExceeded is the end of a run that reached its time limit.
func TimeExceeded() Result { return Result{Exit: ExitTime, Reason: ErrRunTime.Error()} }

func outputLimitReached(l solve.Limits) Result {
	return Result{Exit: ExitOutput, Reason: fmt.Sprintf("the commands of the run printed more than %d bytes", l.RunOutput)}
}

func editsUsed(most int) Result {
	return Result{Exit: ExitEdits, Reason: fmt.Sprintf("all %d edits were used", most)}
}
