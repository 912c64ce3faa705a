package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Recorder keeps the transcript and the progress of one job of a [CLIAgent]. It is for
// one goroutine.
type Recorder struct {
	Job      Job
	Progress solve.Progress
	// Tree is the last known fingerprint of the work tree; "" is unknown.
	Tree string
	// Printed is how many bytes the program is known to have printed.
	Printed int64

	start    solve.Progress // when this owner took the job over
	openLine bool           // the stored transcript ends inside a line
	secrets  []string
	failing  time.Time // since when the model calls fail; zero if they do not
}

// NewRecorder returns a recorder and the messages that are already stored. It keeps the
// token of the gateway and the secrets out of everything that it stores.
func NewRecorder(j Job, secrets ...string) (*Recorder, []Message) {
	messages, openLine := ReadTranscript(j.Resume)
	if j.Gateway != nil {
		secrets = append(secrets, j.Gateway.Token)
	}
	return &Recorder{Job: j, Progress: j.Progress, start: j.Progress, openLine: openLine, secrets: secrets}, messages
}

// TaskMessage is the first message of a transcript. Edits are counted from the work tree
// as it is at this moment.
func (r *Recorder) TaskMessage(ctx context.Context) (Message, error) {
	if err := r.CheckTree(ctx); err != nil {
		return Message{}, err
	}
	text, err := TaskText(r.Job)
	return Message{Role: RoleStart, Content: text}, err
}

// CheckTree counts an edit if the work tree has changed since the last check.
func (r *Recorder) CheckTree(ctx context.Context) error {
	tree, err := r.Job.Tree(ctx)
	if err != nil {
		return fmt.Errorf("read work tree: %w", err)
	}
	if r.Tree != "" && tree != r.Tree {
		r.Progress.Edits++
	}
	r.Tree = tree
	return nil
}

// countUsage takes over what the gateway has counted.
func (r *Recorder) countUsage() {
	r.Progress.Usage = r.Job.Gateway.Usage()
	r.Progress.Steps = r.start.Steps + r.Progress.Usage.Calls - r.start.Usage.Calls
	r.Progress.Output = max(r.Progress.Output, r.Printed)
}

// Redact removes the run's secrets from a text.
func (r *Recorder) Redact(text []byte) []byte {
	for _, secret := range r.secrets {
		if secret != "" {
			text = bytes.ReplaceAll(text, []byte(secret), []byte("[run token]"))
		}
	}
	return text
}

// Append stores messages and the progress.
func (r *Recorder) Append(ctx context.Context, messages ...Message) error {
	for i := range messages {
		if messages[i].Extra == nil {
			messages[i].Extra = map[string]any{}
		}
		if messages[i].Extra[keyTime] == nil {
			messages[i].Extra[keyTime] = timestamp()
		}
	}
	lines, err := encodeLines(messages)
	if err != nil {
		return err
	}
	return r.Save(ctx, lines)
}

// Save makes lines and the progress durable. Its error is [ErrSave].
func (r *Recorder) Save(ctx context.Context, lines []byte) error {
	r.countUsage()
	return r.Job.store(ctx, r.Redact(lines), &r.openLine, &r.Progress)
}

// LimitReached returns the end of a run that has used all its edits or its output, or that
// goes on although its model calls fail. A run may go on for patience after a limit or
// the budget was refused, and for failing after any other failure; with failing 0 the
// program itself decides when to give up. It returns false for a run that may go on.
func (r *Recorder) LimitReached(patience, failing time.Duration) (Result, bool) {
	switch most := r.Job.Limits.RunOutput; {
	case r.Job.MaxEdits > 0 && r.Progress.Edits >= r.Job.MaxEdits:
		return editsUsed(r.Job.MaxEdits), true
	case most > 0 && r.Printed > most:
		return outputLimitReached(r.Job.Limits), true
	}
	err := r.Job.Gateway.LastError()
	final := errors.Is(err, ErrBudget) || errors.Is(err, ErrLimit)
	if err == nil || !final && failing == 0 {
		r.failing = time.Time{}
		return Result{}, false
	}
	if r.failing.IsZero() {
		r.failing = time.Now()
	}
	if !final {
		patience = failing
	}
	if time.Since(r.failing) < patience {
		return Result{}, false
	}
	return r.CallFailure(err), true
}

// CallFailure is the end of a run whose last call failed with err, the gateway's LastError.
func (r *Recorder) CallFailure(err error) Result {
	r.countUsage()
	switch limits := r.Job.Limits; {
	case errors.Is(err, ErrBudget):
		return Result{Exit: ExitBudget, Reason: budgetUsed}
	case errors.Is(err, ErrLimit) && limits.RunSteps > 0 && r.Progress.Steps >= limits.RunSteps:
		return stepLimitReached(limits)
	case errors.Is(err, ErrLimit):
		return moneyLimitReached(limits)
	}
	return modelFailure(err)
}

// Result adds the progress to what the agent returns.
func (r *Recorder) Result(res Result) Result {
	r.countUsage()
	res.Progress = r.Progress
	res.Progress.At = time.Now()
	return res
}
