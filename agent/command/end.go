package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// stopped is the exit code of a program that did not end by itself.
	stopped = -1
	// lastOutput is how much output [End] has.
	lastOutput = 64 << 10
	// mostSubmission is how much of what a program submits is kept.
	mostSubmission = 256 << 10
)

// interrupted is the end of the context. The program goes on where the run does.
func (r *run) interrupted(ctx context.Context) agent.Result {
	res := agent.ContextEnd(ctx)
	if res.Open {
		return r.rec.Result(res)
	}
	return r.stop(ctx, res)
}

// stop ends a program early. It first stores the decision in the sandbox: if this owner
// dies now, the next one finds a program that ended without an exit status.
func (r *run) stop(ctx context.Context, res agent.Result) agent.Result {
	ctx, cancel := agent.SaveContext(ctx)
	defer cancel()
	if err := r.rec.Save(ctx, nil); isLost(err) {
		return r.fail(ctx, err)
	}
	data, err := json.Marshal(decision{res.Exit, res.Reason})
	if err == nil {
		err = agent.File{Path: decisionFile, Data: data}.Put(ctx, r.rec.Job.Sandbox)
	}
	res.Err = errors.Join(res.Err, err)
	return r.conclude(ctx, res, stopped)
}

// decision is why a program was stopped.
type decision struct {
	Exit   string `json:"exit"`
	Reason string `json:"reason"`
}

// storedDecision is the decision of an owner that died while it stopped the program.
func (r *run) storedDecision(ctx context.Context) (agent.Result, bool) {
	f, err := r.rec.Job.Sandbox.Get(ctx, decisionFile)
	if err != nil {
		return agent.Result{}, false
	}
	defer f.Close()
	var d decision
	err = json.NewDecoder(io.LimitReader(f, lastOutput)).Decode(&d)
	// The program can write there, too.
	return agent.Result{Exit: agent.OneLine(d.Exit), Reason: agent.OneLine(string(r.rec.Redact([]byte(d.Reason))))}, err == nil && d.Exit != ""
}

// finish is the end of a program that ended by itself.
func (r *run) finish(ctx context.Context, code int) agent.Result {
	ctx, cancel := agent.SaveContext(ctx)
	defer cancel()
	return r.conclude(ctx, agent.Result{}, code)
}

// conclude makes sure that nothing runs any more, takes the last lines, and stores the end.
func (r *run) conclude(ctx context.Context, res agent.Result, code int) agent.Result {
	err := r.halt(ctx)
	last := r.collectRest(ctx)
	if isLost(last) {
		return r.fail(ctx, last)
	}
	err = errors.Join(err, last)
	o := r.outcome(ctx, code)
	if res.Exit == "" {
		res = r.exit(o, code)
	}
	res.Trajectory = r.rec.Redact(o.Trajectory)
	res.Err = errors.Join(res.Err, err)
	if err := r.write(ctx, agent.ExitMessage(res)); err != nil {
		res.Err = errors.Join(res.Err, err)
	}
	return r.rec.Result(res)
}

// halt kills what still runs.
func (r *run) halt(ctx context.Context) error {
	ctx, cancel := agent.SaveContext(ctx)
	defer cancel()
	if err := r.launcher.Halt(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", r.agent.program.Name, err)
	}
	return nil
}

// collectRest collects what a program that has ended left to collect.
func (r *run) collectRest(ctx context.Context) error {
	if r.rec.Job.Gateway.Usage().Calls != r.calls || r.timing.dirty {
		if err := r.rec.CheckTree(ctx); err != nil {
			return err
		}
	}
	for {
		s, err := r.poll(ctx, 0)
		if err != nil {
			return err
		}
		r.rec.Printed, s.ended = s.printed, true
		if r.agent.program.Collect != nil {
			at := r.position.At
			if err := r.collect(ctx); err != nil || r.position.At == at {
				return err
			}
			continue
		}
		if err := r.storeOutput(ctx, s); err != nil || s.printed <= r.taken() || r.overOutputLimit(r.taken()) {
			return err
		}
	}
}

// outcome asks the program what its end means.
func (r *run) outcome(ctx context.Context, code int) Outcome {
	if r.agent.program.Ended == nil {
		return byExitCode(code)
	}
	e := End{ExitCode: code}
	ran, err := sandbox.Capture(ctx, r.rec.Job.Sandbox, sandbox.Command{
		Argv: []string{"tail", "-c", strconv.Itoa(lastOutput), OutputFile}, Timeout: pollTimeout, MaxOutput: lastOutput,
	})
	if err == nil {
		e.Output = ran.Stdout
	}
	return r.agent.program.Ended(ctx, r.rec.Job.Sandbox, e)
}

// byExitCode judges by the exit code alone.
func byExitCode(code int) Outcome {
	o := Outcome{Exit: agent.ExitProgram}
	o.Reason = fmt.Sprintf("the agent's program ended with exit status %d; the transcript has its output", code)
	switch code {
	case 0:
		o = Outcome{Exit: agent.ExitSubmitted, Reason: "the agent ended its work"}
	case 126, 127:
		o.Reason = fmt.Sprintf("the agent's program could not be run in the sandbox (exit status %d): "+
			"see its command and install in section agents", code)
	case stopped:
		o.Reason = "the agent's program ended without an exit status"
	}
	return o
}

// exit is the result of a program that ended by itself. If its calls were refused, that is the
// reason, unless it says that it had finished.
func (r *run) exit(o Outcome, code int) agent.Result {
	o.Submission = solve.CutText(string(r.rec.Redact([]byte(o.Submission))), mostSubmission)
	done := o.Exit == agent.ExitSubmitted && r.agent.program.Ended != nil
	if trouble := r.rec.Job.Gateway.LastError(); trouble != nil && !done {
		res := r.rec.CallFailure(trouble)
		res.Submission = o.Submission
		return res
	}
	if o.Exit == "" {
		o = byExitCode(code)
	}
	return agent.Result{Exit: o.Exit, Reason: string(r.rec.Redact([]byte(o.Reason))), Submission: o.Submission, Err: o.Err}
}

// fail is the end of a run by an error. It stops nothing if the run belongs to another owner.
func (r *run) fail(ctx context.Context, err error) agent.Result {
	res := agent.FailureResult(ctx, err)
	switch {
	case isLost(err):
		return r.rec.Result(res)
	case ctx.Err() != nil:
		return r.interrupted(ctx)
	case errors.Is(err, agent.ErrProgramLost):
		return r.lost(ctx, err)
	case errors.As(err, new(startError)):
		reason := "the agent could not be started: " + string(r.rec.Redact([]byte(err.Error())))
		res = agent.Result{Exit: agent.ExitProgram, Reason: reason, Err: err}
	}
	res.Err = errors.Join(res.Err, r.halt(ctx))
	if !res.Open {
		ctx, cancel := agent.SaveContext(ctx)
		defer cancel()
		res.Err = errors.Join(res.Err, r.write(ctx, agent.ExitMessage(res)))
	}
	return r.rec.Result(res)
}

// lost is the end of a program that is gone without an exit status: stopped by an owner
// that died then, ended by its own time limit, or gone with the machine.
func (r *run) lost(ctx context.Context, err error) agent.Result {
	if res, ok := r.storedDecision(ctx); ok {
		return r.stop(ctx, res)
	}
	if s, pollErr := r.poll(ctx, 0); pollErr == nil {
		if res, over := r.limit(s); over {
			return r.stop(ctx, res)
		}
	}
	return r.rec.Result(agent.Result{Exit: agent.ExitSandbox, Reason: "the agent's program was lost", Err: errors.Join(err, r.halt(ctx))})
}

// isLost says that the run belongs to another owner.
func isLost(err error) bool {
	return errors.Is(err, agent.ErrSave) && errors.Is(err, solve.ErrLeaseLost)
}
