package sweagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/swerex"
)

// A run is one job being worked on.
type run struct {
	agent  *Agent
	rec    *agent.Recorder
	dir    string
	secret string // of the endpoint
	seen   int    // steps that are in the transcript
}

// run opens the endpoint, runs the program to its end, and closes the endpoint, which ends
// everything that the program started in the sandbox.
func (r *run) run(ctx context.Context) agent.Result {
	task, err := r.rec.TaskMessage(ctx)
	if err == nil {
		err = r.rec.Append(ctx, task)
	}
	if err != nil {
		return r.failed(ctx, err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return r.failed(ctx, fmt.Errorf("listen for the agent: %w", err))
	}
	endpoint := swerex.New(r.rec.Job.Sandbox, r.secret)
	web := &http.Server{Handler: endpoint, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = web.Serve(l) // ends with Close
	}()
	res := r.runProgram(ctx, l.Addr().(*net.TCPAddr).Port, endpoint)
	closing, cancel := agent.SaveContext(ctx)
	defer cancel()
	closed := endpoint.Close(closing)
	_ = web.Close() // its handlers have ended
	<-served
	if closed != nil {
		res.Err = errors.Join(res.Err, closed)
	}
	return r.end(ctx, res)
}

// runProgram starts the program and follows it.
func (r *run) runProgram(ctx context.Context, port int, endpoint *swerex.Server) agent.Result {
	if err := r.write(port); err != nil {
		return agent.Result{Exit: agent.ExitProgram, Reason: "the agent's files could not be written", Err: err}
	}
	p := startProcess(r.argv(), r.environ(), r.dir)
	defer p.stop()
	tick := time.NewTicker(r.agent.interval)
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
			p.stop()
			res := agent.ContextEnd(ctx)
			if !res.Open {
				res.Err = errors.Join(res.Err, r.collect(ctx))
			}
			res.Trajectory = r.trajectory()
			return res
		}
		if err := r.collect(ctx); err != nil {
			p.stop()
			return agent.FailureResult(ctx, err)
		}
		if ended {
			return r.result(p, endpoint.Failure())
		}
		if res, over := r.rec.LimitReached(r.agent.patience, 0); over {
			p.stop()
			res.Trajectory = r.trajectory()
			return res
		}
	}
}

func (r *run) failed(ctx context.Context, err error) agent.Result {
	return r.end(ctx, agent.FailureResult(ctx, err))
}

// end stores the end, unless the run stays open.
func (r *run) end(ctx context.Context, res agent.Result) agent.Result {
	if !res.Open {
		res.Err = errors.Join(res.Err, r.rec.Append(ctx, agent.ExitMessage(res)))
	}
	return r.rec.Result(res)
}
