package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// What the runner of a [Resident] shares with Mini, so that people meet the same words
// and the same ends whatever the agent.

// TaskText is the whole task of a run as a Resident gets it: the issue in its frame, the
// strategy, the test command, the limits, and how the work is taken.
func TaskText(j Job) (string, error) {
	text, err := newPrompts().render("resident.tmpl", "", j)
	return text + "\n", err
}

// Stopped is what the end of a run's context means for the run. open says that it has
// not ended: the next owner goes on, so nothing of it may be stopped.
func Stopped(ctx context.Context) (r Result, open bool) {
	e := contextEnding(ctx)
	return Result{Exit: e.exit, Reason: e.reason, Err: e.err}, e.open
}

// Outlasting is a context for storing things: it ends half a minute after ctx has ended.
func Outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return outlasting(ctx, saveTime)
}

// ExitMessage is the last line of a transcript: how the run ended.
func ExitMessage(r Result) Message {
	extra := map[string]any{keyExit: r.Exit, keySubmission: r.Submission, keyTime: timestamp()}
	if r.Err != nil {
		extra[keyException] = r.Reason // public; the details are for the log
	}
	return Message{Role: RoleExit, Content: r.Reason, Extra: extra}
}

// Stored reads the lines of a transcript. Lines that are no messages are left out; torn
// says that the last one has no end, so that the next must begin with one.
func Stored(lines []byte) (messages []Message, torn bool) {
	for line := range bytes.Lines(lines) {
		torn = !bytes.HasSuffix(line, []byte("\n"))
		var m Message
		if json.Unmarshal(line, &m) == nil && m.Role != "" {
			messages = append(messages, m)
		}
	}
	return messages, torn
}

// Exited is the end that a transcript holds, if it holds one.
func Exited(messages []Message, p solve.Progress) (Result, bool) {
	if n := len(messages); n > 0 && messages[n-1].Role == RoleExit {
		return exitResult(messages[n-1], p), true
	}
	return Result{}, false
}

// Failed is the end of a run by something of ours that went wrong: [ErrSave], else the sandbox.
func Failed(err error) Result {
	if errors.Is(err, ErrSave) {
		return Result{Exit: ExitStore, Reason: "a step of the run could not be stored", Err: err}
	}
	return Result{Exit: ExitSandbox, Reason: "the sandbox failed", Err: err}
}

func overSteps(l solve.Limits) Result {
	return Result{Exit: ExitLimits, Reason: fmt.Sprintf("the limit of %d steps was reached", l.RunSteps)}
}

func overMoney(l solve.Limits) Result {
	return Result{Exit: ExitLimits, Reason: fmt.Sprintf("the money limit of $%.2f for one run was reached", usd(l.RunMoney))}
}

// OverTime is the end of a run whose time is over.
func OverTime() Result { return Result{Exit: ExitTime, Reason: ErrRunTime.Error()} }

func overOutput(l solve.Limits) Result {
	return Result{Exit: ExitOutput, Reason: fmt.Sprintf("the commands of the run printed more than %d bytes", l.RunOutput)}
}

func overEdits(most int) Result {
	return Result{Exit: ExitEdits, Reason: fmt.Sprintf("all %d edits were used", most)}
}
