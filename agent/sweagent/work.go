package sweagent

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/swerex"
	"github.com/yudai-dev/yudai/solve"
)

// A run is one job being worked on.
type run struct {
	*Agent
	job      agent.Job
	dir      string
	secret   string // of the endpoint
	start    solve.Progress
	progress solve.Progress

	seen    int       // steps that are in the transcript
	tree    string    // fingerprint after the last of them
	trouble time.Time // since when the door's last word is no
}

// A saveError says that something could not be stored.
type saveError struct{ error }

func (e saveError) Unwrap() error { return e.error }

// work opens the endpoint, runs the program to its end, and closes the endpoint: then
// nothing of the run is left in the sandbox.
func (r *run) work(ctx context.Context) agent.Result {
	if err := r.introduce(ctx); err != nil {
		return r.failed(ctx, err)
	}
	r.secret = rand.Text()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return r.failed(ctx, fmt.Errorf("listen for the agent: %w", err))
	}
	endpoint := swerex.New(r.job.Machine, r.secret, swerex.Options{Paths: places()})
	web := &http.Server{Handler: endpoint, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = web.Serve(l) // ends with Close
	}()
	res := r.drive(ctx, l.Addr().(*net.TCPAddr).Port, endpoint)
	closing, cancel := agent.Outlasting(ctx)
	defer cancel()
	closed := endpoint.Close(closing)
	_ = web.Close() // its handlers have ended
	<-served
	if closed != nil {
		res.Err = errors.Join(res.Err, closed)
	}
	return r.end(ctx, res)
}

// drive starts the program and follows it.
func (r *run) drive(ctx context.Context, port int, endpoint *swerex.Server) agent.Result {
	if err := r.write(port); err != nil {
		return agent.Result{Exit: agent.ExitProgram, Reason: "the agent's files could not be written", Err: err}
	}
	p := startProcess(r.argv(), r.environ(), r.dir)
	defer p.kill()
	tick := time.NewTicker(r.look)
	defer tick.Stop()
	for {
		ended := false
		select {
		case <-ctx.Done():
		case <-p.done:
			ended = true
		case <-tick.C:
		}
		if ctx.Err() != nil {
			p.kill()
			res, open := agent.Stopped(ctx)
			if !open {
				res.Err = errors.Join(res.Err, r.collect(ctx))
			}
			res.Trajectory = r.trajectory()
			return res
		}
		if err := r.collect(ctx); err != nil {
			p.kill()
			return r.failure(ctx, err)
		}
		if ended {
			return r.judge(p, endpoint.Failure())
		}
		if res, over := r.limit(); over {
			p.kill()
			res.Trajectory = r.trajectory()
			return res
		}
	}
}

// limit is the one place where limits are looked at. The door holds steps and money,
// the context time.
func (r *run) limit() (agent.Result, bool) {
	switch l := r.job.Limits; {
	case r.job.MaxEdits > 0 && r.progress.Edits >= r.job.MaxEdits:
		return agent.OverEdits(r.job.MaxEdits), true
	case l.RunOutput > 0 && r.progress.Output > l.RunOutput:
		return agent.OverOutput(l), true
	}
	trouble := r.job.Door.Trouble()
	if !errors.Is(trouble, agent.ErrBudget) && !errors.Is(trouble, agent.ErrLimit) {
		r.trouble = time.Time{} // what may pass is for the program to try again
		return agent.Result{}, false
	}
	if r.trouble.IsZero() {
		r.trouble = time.Now()
	}
	if time.Since(r.trouble) < r.patience {
		return agent.Result{}, false
	}
	r.count()
	return agent.Refused(trouble, r.job.Limits, r.progress), true
}

// introduce begins the transcript with the task.
func (r *run) introduce(ctx context.Context) error {
	tree, err := r.job.Machine.Tree(ctx)
	if err != nil {
		return fmt.Errorf("read work tree: %w", err)
	}
	text, err := agent.TaskText(r.job)
	if err != nil {
		return err
	}
	r.tree = tree
	return r.save(ctx, []agent.Message{{Role: agent.RoleStart, Content: text}})
}

// save stores messages and the progress.
func (r *run) save(ctx context.Context, messages []agent.Message) error {
	lines, err := agent.EncodeLines(messages)
	if err != nil || r.job.Save == nil {
		return err
	}
	ctx, cancel := agent.Outlasting(ctx)
	defer cancel()
	r.count()
	r.progress.At = time.Now()
	if err := r.job.Save(ctx, r.clean(lines), r.progress); err != nil {
		return saveError{fmt.Errorf("save step: %w", err)}
	}
	return nil
}

// clean takes the run's secrets out of what is kept.
func (r *run) clean(b []byte) []byte {
	for _, secret := range []string{r.job.Door.Token, r.secret} {
		if secret != "" {
			b = bytes.ReplaceAll(b, []byte(secret), []byte("[run token]"))
		}
	}
	return b
}

// count takes over what the gateway has booked.
func (r *run) count() {
	r.progress.Usage = r.job.Door.Usage()
	r.progress.Steps = r.start.Steps + r.progress.Usage.Calls - r.start.Usage.Calls
}

// failure is the end by something of ours that went wrong.
func (r *run) failure(ctx context.Context, err error) agent.Result {
	if _, ok := errors.AsType[saveError](err); ok {
		return agent.Result{Exit: agent.ExitStore, Reason: "a step of the run could not be stored", Err: err}
	}
	if ctx.Err() != nil {
		res, _ := agent.Stopped(ctx)
		return res
	}
	return agent.Result{Exit: agent.ExitSandbox, Reason: "the sandbox failed", Err: err}
}

func (r *run) failed(ctx context.Context, err error) agent.Result {
	return r.end(ctx, r.failure(ctx, err))
}

// end stores the end, unless the run stays open for the next owner or storing failed.
func (r *run) end(ctx context.Context, res agent.Result) agent.Result {
	open := false
	if ctx.Err() != nil {
		_, open = agent.Stopped(ctx)
	}
	if !open && res.Exit != agent.ExitStore {
		res.Err = errors.Join(res.Err, r.save(ctx, []agent.Message{agent.ExitMessage(res)}))
	}
	return r.result(res)
}

// result puts the progress to what is returned.
func (r *run) result(res agent.Result) agent.Result {
	r.count()
	res.Progress = r.progress
	res.Progress.At = time.Now()
	return res
}
