package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// ErrSave says that a step could not be stored; the error of [Job.Save] is wrapped beside it.
var ErrSave = errors.New("save step")

// Ledger is what the runner of a [Resident] keeps of one job: the progress, and the lines
// of the transcript as they become durable. It is for one goroutine.
type Ledger struct {
	Job      Job
	Progress solve.Progress
	// Tree is the fingerprint of the work tree when it was last looked at; "" is unknown.
	Tree string
	// Printed is how many bytes the program has printed, as far as that was seen.
	Printed int64

	start   solve.Progress // when this owner came
	torn    bool           // the stored transcript ends inside a line
	secrets []string
	trouble time.Time // since when the door's last word is no
}

// OpenLedger begins to keep a job, and returns what the transcript already has. The token
// of the job's door and the secrets are kept out of what is stored.
func OpenLedger(j Job, secrets ...string) (*Ledger, []Message) {
	messages, torn := Stored(j.Resume)
	if j.Door != nil {
		secrets = append(secrets, j.Door.Token)
	}
	return &Ledger{Job: j, Progress: j.Progress, start: j.Progress, torn: torn, secrets: secrets}, messages
}

// Introduce is the first message of a transcript: the task. Edits are counted from the
// work tree as it is then.
func (l *Ledger) Introduce(ctx context.Context) (Message, error) {
	if err := l.Compare(ctx); err != nil {
		return Message{}, err
	}
	text, err := TaskText(l.Job)
	return Message{Role: RoleStart, Content: text}, err
}

// Compare looks at the work tree, and counts an edit if it has changed.
func (l *Ledger) Compare(ctx context.Context) error {
	tree, err := l.Job.Tree(ctx)
	if err != nil {
		return fmt.Errorf("read work tree: %w", err)
	}
	if l.Tree != "" && tree != l.Tree {
		l.Progress.Edits++
	}
	l.Tree = tree
	return nil
}

// Count takes over what the gateway has booked.
func (l *Ledger) Count() {
	l.Progress.Usage = l.Job.Door.Usage()
	l.Progress.Steps = l.start.Steps + l.Progress.Usage.Calls - l.start.Usage.Calls
	l.Progress.Output = max(l.Progress.Output, l.Printed)
}

// Clean takes the run's secrets out of a text: they open nothing once the run is over, and
// nobody has to wonder about them.
func (l *Ledger) Clean(text []byte) []byte {
	for _, secret := range l.secrets {
		if secret != "" {
			text = bytes.ReplaceAll(text, []byte(secret), []byte("[run token]"))
		}
	}
	return text
}

// Write stores messages and the progress.
func (l *Ledger) Write(ctx context.Context, messages ...Message) error {
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
	return l.Save(ctx, lines)
}

// Save makes lines and the progress durable. Its error is [ErrSave].
func (l *Ledger) Save(ctx context.Context, lines []byte) error {
	l.Count()
	l.Progress.At = time.Now()
	if l.Job.Save == nil {
		return nil
	}
	lines = l.Clean(lines)
	if l.torn && len(lines) > 0 {
		lines = append([]byte("\n"), lines...)
	}
	ctx, cancel := Outlasting(ctx)
	defer cancel()
	if err := l.Job.Save(ctx, lines, l.Progress); err != nil {
		return fmt.Errorf("%w: %w", ErrSave, err)
	}
	l.torn = l.torn && len(lines) == 0
	return nil
}

// Over is the end of a run that has used its edits or its output, or goes on although its
// door says no: for longer than patience where it says so for good, for longer than failing
// where that may pass. With failing 0 the latter is for the program to judge. It is false
// for a run that may go on.
func (l *Ledger) Over(patience, failing time.Duration) (Result, bool) {
	switch most := l.Job.Limits.RunOutput; {
	case l.Job.MaxEdits > 0 && l.Progress.Edits >= l.Job.MaxEdits:
		return overEdits(l.Job.MaxEdits), true
	case most > 0 && l.Printed > most:
		return overOutput(l.Job.Limits), true
	}
	return l.refused(patience, failing)
}

func (l *Ledger) refused(patience, failing time.Duration) (Result, bool) {
	trouble := l.Job.Door.Trouble()
	closed := errors.Is(trouble, ErrBudget) || errors.Is(trouble, ErrLimit)
	if trouble == nil || !closed && failing == 0 {
		l.trouble = time.Time{}
		return Result{}, false
	}
	if l.trouble.IsZero() {
		l.trouble = time.Now()
	}
	if !closed {
		patience = failing
	}
	if time.Since(l.trouble) < patience {
		return Result{}, false
	}
	return l.Trouble(trouble), true
}

// Trouble is the end of a run whose last call was refused or failed: what [Door].Trouble says.
func (l *Ledger) Trouble(err error) Result {
	l.Count()
	switch limits := l.Job.Limits; {
	case errors.Is(err, ErrBudget):
		return Result{Exit: ExitBudget, Reason: overBudget}
	case errors.Is(err, ErrLimit) && limits.RunSteps > 0 && l.Progress.Steps >= limits.RunSteps:
		return overSteps(limits)
	case errors.Is(err, ErrLimit):
		return overMoney(limits)
	}
	e := modelEnding(err)
	return Result{Exit: e.exit, Reason: e.reason, Err: e.err}
}

// Result puts the progress to what is returned.
func (l *Ledger) Result(r Result) Result {
	l.Count()
	r.Progress = l.Progress
	r.Progress.At = time.Now()
	return r
}
