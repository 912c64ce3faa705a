package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// saveTime is how long a save may go on after the run's context has ended: a
// transcript is never cut by a cancel. While the run lives a save may take its time.
const saveTime = 30 * time.Second

// Moder is what a Model may also be: it has to know how commands are given,
// because the request declares the tool. Mini asks it once, before the first call.
type Moder interface {
	// InMode returns the model for [ModeTools] or [ModeText].
	InMode(mode string) Model
}

// Mini is the loop of mini-SWE-agent: the model answers with commands, each
// runs in the sandbox, its output is cut and returned, a marker submits.
// History is append-only and every message is stored as soon as it exists, so
// that another process can go on after a crash. Safe for concurrent use.
type Mini struct {
	cfg     Config
	parser  parser
	prompts prompts
}

var _ Agent = (*Mini)(nil)

// NewMini returns the agent. The config is taken as valid.
func NewMini(cfg Config) *Mini {
	return &Mini{cfg: cfg, parser: newParser(cfg.Mode), prompts: newPrompts()}
}

// Trajectory is [Trajectory] with this agent's configuration.
func (m *Mini) Trajectory(lines []byte, meta Meta) ([]byte, error) {
	return Trajectory(m.cfg, lines, meta)
}

// A run is one Job being worked on.
type run struct {
	*Mini
	job          Job
	model        Model
	started      time.Time
	history      []Message
	unsaved      []Message
	torn         bool // the stored transcript ends inside a line
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
	r := &run{Mini: m, job: j, model: j.Model, started: time.Now(), progress: j.Progress}
	if moder, ok := j.Model.(Moder); ok {
		r.model = moder.InMode(m.cfg.Mode)
	}
	end := r.open(ctx)
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
func (r *run) step(ctx context.Context) *ending {
	r.progress.Steps++
	reply, err := r.model.Query(ctx, r.history)
	if ctx.Err() != nil && err != nil {
		return contextEnding(ctx)
	}
	if err != nil {
		return modelEnding(err)
	}
	r.charge(reply.Usage)
	r.tidy(&reply)
	actions, bad := r.parser.actions(reply)
	if bad != nil {
		return r.reject(ctx, reply, bad)
	}
	reply.Message.Extra = map[string]any{
		keyActions: actions, keyResponse: reply.Raw, keyCost: usd(reply.Usage.Cost), keyTime: timestamp(),
	}
	r.append(reply.Message)
	// Stored before anything runs: after a crash the call is not paid for again,
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

// charge books one call, whatever its reply is worth.
func (r *run) charge(u solve.Usage) {
	p := &r.progress.Usage
	p.Calls++
	p.Input += u.Input
	p.CachedRead += u.CachedRead
	p.Output += u.Output
	p.Cost += u.Cost
	if r.job.Spent != nil {
		r.job.Spent(u.Cost)
	}
}

// tidy makes a reply fit for the history: calls that cannot be answered are
// dropped, and every call has an id of its own (some local servers send none).
func (r *run) tidy(reply *Reply) {
	reply.Message.Role = RoleAssistant
	if r.cfg.Mode == ModeText {
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
func (r *run) reject(ctx context.Context, reply Reply, bad *formatError) *ending {
	extra := map[string]any{
		keyInterrupt: formatInterrupt, keyCost: usd(reply.Usage.Cost), keyResponse: reply.Raw, keyTime: timestamp(),
	}
	if r.cfg.Mode == ModeText {
		extra["n_actions"] = bad.actions
		extra["model_response"] = reply.Message.Content
	}
	r.append(Message{Role: RoleUser, Content: bad.text(r.cfg.Mode), Extra: extra})
	r.formatErrors++
	if limit := r.cfg.MaxFormatErrors; limit > 0 && r.formatErrors >= limit {
		return &ending{exit: ExitFormat, reason: fmt.Sprintf("the model answered %d times in a row outside the format", r.formatErrors)}
	}
	return r.save(ctx)
}

// execute runs the actions of a turn in order. A submission ends it at once;
// the calls from there on are answered all the same, because a provider takes no
// history with an open call.
func (r *run) execute(ctx context.Context, actions []action) *ending {
	for i, a := range actions {
		if i > 0 && r.outputFull() {
			r.skip(actions[i:])
			break
		}
		output, res, err := r.job.runCommand(ctx, a.Command)
		if err != nil {
			return r.sandboxEnding(ctx, "run command", err)
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
	if end := r.look(ctx); end != nil {
		return end
	}
	return r.save(ctx)
}

func (r *run) submit(ctx context.Context, left []action, submission string) *ending {
	if r.cfg.Mode == ModeTools {
		r.skip(left)
	}
	r.look(ctx) // a tree that cannot be read any more takes nothing from the submission
	return &ending{exit: ExitSubmitted, reason: "the agent submitted its work", submission: submission}
}

// look counts the step as an edit if it changed the tree.
func (r *run) look(ctx context.Context) *ending {
	tree, err := r.job.Tree(ctx)
	if err != nil {
		return r.sandboxEnding(ctx, "read work tree", err)
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

func (r *run) skip(actions []action) {
	for _, a := range actions {
		r.answer(a, notExecuted())
	}
}

// answer appends the observation of an action, in the form its call asks for.
func (r *run) answer(a action, o observation) {
	m := Message{Role: RoleTool, ToolCallID: a.CallID, Content: o.render(ModeTools), Extra: o.extra(r.cfg.KeepOutput)}
	if a.CallID == "" {
		m.Role, m.Content = RoleUser, o.render(ModeText)
	}
	r.append(m)
}

func (r *run) append(m Message) {
	r.history = append(r.history, m)
	r.unsaved = append(r.unsaved, m)
}

// save makes what was appended durable.
func (r *run) save(ctx context.Context) *ending {
	if r.job.Save == nil || len(r.unsaved) == 0 {
		r.unsaved = nil
		return nil
	}
	fail := func(err error) *ending {
		e := ended(Failed(fmt.Errorf("%w: %w", ErrSave, err)))
		e.open = true
		return e
	}
	lines, err := encodeLines(r.unsaved)
	if err != nil {
		return fail(err)
	}
	if r.torn {
		lines = append([]byte("\n"), lines...)
	}
	ctx, cancel := outlasting(ctx, saveTime)
	defer cancel()
	r.progress.At = time.Now()
	if err := r.job.Save(ctx, lines, r.progress); err != nil {
		return fail(err)
	}
	r.unsaved, r.torn = nil, false
	return nil
}

// outlasting is a context that ends some time after ctx has ended.
func outlasting(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() { stop(); cancel() }
}

func (r *run) sandboxEnding(ctx context.Context, what string, err error) *ending {
	if ctx.Err() != nil {
		return contextEnding(ctx)
	}
	return ended(Failed(fmt.Errorf("%s: %w", what, err)))
}

// end stores the exit message, unless the transcript is to stay open, and returns the result.
func (r *run) end(ctx context.Context, e ending) Result {
	if !e.open {
		r.append(ExitMessage(Result{Exit: e.exit, Reason: e.reason, Submission: e.submission, Err: e.err}))
	}
	if e.exit != ExitStore { // what failed once is not written a second time
		if failed := r.save(ctx); failed != nil {
			e.err = errors.Join(e.err, failed.err)
		}
	}
	r.progress.At = time.Now()
	return Result{Exit: e.exit, Reason: e.reason, Submission: e.submission, Progress: r.progress, Err: e.err}
}
