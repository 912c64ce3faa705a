package command

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
)

// Files of ours beside those of program.go.
const (
	supervisorFile = agent.RunDir + "/supervise"
	decisionFile   = agent.RunDir + "/decision.json"
)

//go:embed supervise.sh
var supervisor string

// grace is how much longer than its run a program may live if nobody stops it.
const grace = time.Minute

// A startError is a program that could not be started: nothing of ours failed.
type startError struct{ error }

func (e startError) Unwrap() error { return e.error }

// launch starts the program. It stores the task first, so that the next owner looks for the
// program.
func (r *run) launch(ctx context.Context) error {
	text, err := agent.TaskText(r.rec.Job)
	if err != nil {
		return err
	}
	gateway := *r.rec.Job.Gateway
	task := Task{
		Text: text, Gateway: gateway, API: r.api(), Steps: r.rec.Job.Limits.RunSteps,
		Edits: r.rec.Job.MaxEdits, CommandTime: r.rec.Job.Limits.CommandTime,
	}
	if task.API == "" {
		return startError{fmt.Errorf("the agent speaks %s, the model offers %s",
			strings.Join(r.agent.program.APIs, ", "), strings.Join(gateway.APIs, ", "))}
	}
	start, err := r.agent.program.Prepare(task)
	if err == nil && len(start.Argv) == 0 {
		err = errors.New("there is no command")
	}
	if err != nil {
		return startError{fmt.Errorf("prepare %s: %w", r.agent.program.Name, err)}
	}
	files := append([]agent.File{
		{Path: TaskFile, Data: []byte(text)}, {Path: supervisorFile, Data: []byte(supervisor)},
	}, start.Files...)
	for _, f := range files {
		if err := f.Put(ctx, r.rec.Job.Sandbox); err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	if err := r.recordTask(ctx); err != nil {
		return err
	}
	argv := append([]string{"bash", supervisorFile, strconv.FormatInt(r.rec.Job.Limits.RunOutput, 10)}, start.Argv...)
	err = r.launcher.Launch(ctx, sandbox.Command{
		Argv: argv, Env: start.Env, Path: slices.Concat(start.Path, sandbox.ToolPath()), Timeout: r.timeout(ctx),
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", r.agent.program.Name, err)
	}
	return nil
}

// api is the program's first API that the model offers.
func (r *run) api() string {
	for _, a := range r.agent.program.APIs {
		if slices.Contains(r.rec.Job.Gateway.APIs, a) {
			return a
		}
	}
	return ""
}

// timeout ends the program if yudai never comes back; 0 is none.
func (r *run) timeout(ctx context.Context) time.Duration {
	var left time.Duration
	if l := r.rec.Job.Limits.RunTime; l > 0 {
		left = max(l-r.rec.Job.Elapsed, 0) + grace
	}
	if end, ok := ctx.Deadline(); ok && (left == 0 || time.Until(end)+grace < left) {
		left = max(time.Until(end), 0) + grace
	}
	return left
}

// recordTask begins the transcript with the task, once.
func (r *run) recordTask(ctx context.Context) error {
	if r.begun {
		return nil
	}
	task, err := r.rec.TaskMessage(ctx)
	if err != nil {
		return err
	}
	return r.write(ctx, task)
}
