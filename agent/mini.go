package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// ModeSetter is what a Model may also be: it has to know how commands are given,
// because the request declares the tool. Mini asks it once, before the first call.
type ModeSetter interface {
	// InMode returns the model for [ModeTools] or [ModeText].
	InMode(mode string) Model
}

// Mini is the loop of mini-SWE-agent: the model answers with commands, each
// runs in the sandbox, its output is cut and returned, a marker submits.
// History is append-only and every message is stored as soon as it exists, so
// that another process can go on after a crash. Safe for concurrent use.
type Mini struct {
	// Queried is told of every model call; nil is nobody.
	Queried func(model string, used solve.Usage, err error)

	cfg Config
}

var _ Agent = (*Mini)(nil)

// NewMini returns the agent. The config is taken as valid.
func NewMini(cfg Config) *Mini { return &Mini{cfg: cfg} }

// Trajectory is [Trajectory] with this agent's configuration.
func (m *Mini) Trajectory(lines []byte, meta Meta) ([]byte, error) {
	return Trajectory(m.cfg, lines, meta)
}

// A run is one Job being worked on.
type run struct {
	mini         *Mini
	job          Job
	model        Model
	started      time.Time
	history      []Message
	unsaved      []Message
	openLine     bool // the stored transcript ends inside a line
	progress     solve.Progress
	formatErrors int
	tree         string
}

// Run works until the model submits, a limit is met, or the context ends.
//
// The causes [ErrRunTime], [ErrSolveTime] and [ErrCancelled] (and a plain
// deadline) end the run for good. Any other end of the context returns
// ExitCancelled with Err set and leaves the transcript open for the next owner.
func (m *Mini) Run(ctx context.Context, j Job) Result {
	r := &run{mini: m, job: j, model: j.Model, started: time.Now(), progress: j.Progress}
	if moder, ok := j.Model.(ModeSetter); ok {
		r.model = moder.InMode(m.cfg.Mode)
	}
	end := r.restoreHistory(ctx)
	if n := len(r.history); end == nil && r.history[n-1].Role == RoleExit {
		return exitResult(r.history[n-1], r.progress)
	}
	for end == nil {
		if end = r.limit(ctx); end == nil {
			end = r.step(ctx)
		}
	}
	return r.end(ctx, *end)
}

// step is one model call and the commands of its reply.
func (r *run) step(ctx context.Context) *Result {
	r.progress.Steps++
	reply, err := r.model.Query(ctx, r.history)
	if r.mini.Queried != nil {
		r.mini.Queried(r.model.Name(), reply.Usage, err)
	}
	if err != nil {
		r.countUsage(reply.Usage) // tries that were given up are paid for
		if ctx.Err() != nil {
			return new(ContextEnd(ctx))
		}
		return new(modelFailure(err))
	}
	reply.Usage.Calls = 1
	r.countUsage(reply.Usage)
	r.normalize(&reply)
	actions, bad := parseReply(r.mini.cfg.Mode, reply)
	if bad != nil {
		return r.reject(ctx, reply, bad)
	}
	reply.Message.Extra = map[string]any{
		keyActions: actions, keyResponse: reply.Raw, keyCost: usd(reply.Usage.Cost), keyTime: timestamp(),
	}
	r.append(reply.Message)
	// It is stored before anything runs: after a crash the call is not paid for again,
	// and the model is told that its command may have run.
	if end := r.save(ctx); end != nil {
		return end
	}
	if end := r.execute(ctx, actions); end != nil {
		return end
	}
	r.formatErrors = 0
	return nil
}

// countUsage counts what a call used, also if its reply is of no use.
func (r *run) countUsage(u solve.Usage) {
	r.progress.Usage.Add(u)
	if r.job.AddCost != nil {
		r.job.AddCost(u.Cost)
	}
}

// normalize makes a reply fit for the history: calls that cannot be answered are
// dropped, and every call has an id of its own (some local servers send none).
func (r *run) normalize(reply *Reply) {
	reply.Message.Role = RoleAssistant
	if r.mini.cfg.Mode == ModeText {
		reply.Message.ToolCalls = nil
	}
	seen := map[string]bool{}
	for i := range reply.Message.ToolCalls {
		c := &reply.Message.ToolCalls[i]
		if c.ID == "" || seen[c.ID] {
			c.ID = fmt.Sprintf("call_%d_%d", r.progress.Steps, i+1)
		}
		seen[c.ID] = true
	}
}

// reject tells the model what was wrong. Its reply itself is kept only in the extra.
func (r *run) reject(ctx context.Context, reply Reply, bad *formatError) *Result {
	extra := map[string]any{
		keyInterrupt: formatInterrupt, keyCost: usd(reply.Usage.Cost), keyResponse: reply.Raw, keyTime: timestamp(),
	}
	if r.mini.cfg.Mode == ModeText {
		extra["n_actions"] = bad.actions
		extra["model_response"] = reply.Message.Content
	}
	r.append(Message{Role: RoleUser, Content: bad.text(r.mini.cfg.Mode), Extra: extra})
	r.formatErrors++
	if limit := r.mini.cfg.MaxFormatErrors; limit > 0 && r.formatErrors >= limit {
		return &Result{Exit: ExitFormat, Reason: fmt.Sprintf("the model answered %d times in a row outside the format", r.formatErrors)}
	}
	return r.save(ctx)
}

// execute runs the actions of a turn in order. A submission ends it at once;
// the calls from there on are answered all the same, because a provider takes no
// history with an open call.
func (r *run) execute(ctx context.Context, actions []action) *Result {
	for i, a := range actions {
		if i > 0 && r.outputFull() {
			r.answerNotExecuted(actions[i:])
			break
		}
		output, res, err := r.job.runCommand(ctx, a.Command)
		if err != nil {
			return new(FailureResult(ctx, fmt.Errorf("run command: %w", err)))
		}
		r.progress.Output += int64(len(output))
		o := observe(output, res, r.job.Limits.CommandTime)
		if submission, ok := o.submission(); ok {
			return r.submit(ctx, actions[i:], submission)
		}
		r.answer(a, o)
		if i == len(actions)-1 {
			break // saved together with the tree's fingerprint
		}
		if end := r.save(ctx); end != nil {
			return end
		}
	}
	if end := r.checkTree(ctx); end != nil {
		return end
	}
	return r.save(ctx)
}

func (r *run) submit(ctx context.Context, left []action, submission string) *Result {
	if r.mini.cfg.Mode == ModeTools {
		r.answerNotExecuted(left)
	}
	r.checkTree(ctx) // the submission counts even if the tree cannot be read
	return &Result{Exit: ExitSubmitted, Reason: "the agent submitted its work", Submission: submission}
}

// checkTree counts the step as an edit if it changed the tree.
func (r *run) checkTree(ctx context.Context) *Result {
	tree, err := r.job.Tree(ctx)
	if err != nil {
		return new(FailureResult(ctx, fmt.Errorf("read work tree: %w", err)))
	}
	if tree != r.tree {
		r.progress.Edits++
		r.tree = tree
	}
	if n := len(r.unsaved); n > 0 {
		r.unsaved[n-1].Extra[keyTree] = tree
	}
	return nil
}

func (r *run) answerNotExecuted(actions []action) {
	for _, a := range actions {
		r.answer(a, notExecuted())
	}
}

// answer appends the observation of an action, in the form its call asks for.
func (r *run) answer(a action, o observation) {
	m := Message{Role: RoleTool, ToolCallID: a.CallID, Content: o.json(), Extra: o.extra(r.mini.cfg.KeepOutput)}
	if a.CallID == "" {
		m.Role, m.Content = RoleUser, o.tags()
	}
	r.append(m)
}

func (r *run) append(m Message) {
	r.history = append(r.history, m)
	r.unsaved = append(r.unsaved, m)
}

// save makes what was appended durable.
func (r *run) save(ctx context.Context) *Result {
	if len(r.unsaved) == 0 {
		return nil
	}
	lines, err := encodeLines(r.unsaved)
	if err == nil {
		err = r.job.store(ctx, lines, &r.openLine, &r.progress)
	}
	if err != nil {
		return new(FailureResult(ctx, err))
	}
	r.unsaved = nil
	return nil
}

// end stores the exit message, unless the transcript is to stay open, and returns the result.
func (r *run) end(ctx context.Context, res Result) Result {
	if !res.Open {
		r.append(ExitMessage(res))
	}
	if res.Exit != ExitStore { // what failed once is not written a second time
		if failed := r.save(ctx); failed != nil {
			res.Err = errors.Join(res.Err, failed.Err)
		}
	}
	r.progress.At = time.Now()
	res.Progress = r.progress
	return res
}
