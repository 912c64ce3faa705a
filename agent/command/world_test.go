package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/hostmachine"
	"github.com/yudai-dev/yudai/test/require"
)

const token = agenttest.Token

// a script is a program of bash. "call" in it is a call to the model, "seen" waits
// until yudai has looked at everything that happened before.
func script(text string) command.Program {
	return command.Program{
		Name: "script", APIs: []string{agent.APIResponses, agent.APIChat},
		Prepare: func(t command.Task) (command.Start, error) {
			return command.Start{
				Files: []agent.File{{Path: "/workspace/agent/script", Data: []byte(`call() { echo >>/workspace/agent/calls; }
looks() { wc -l </workspace/agent/looks 2>/dev/null || echo 0; }
seen() { local n=$(($(looks) + 2)); until [ "$(looks)" -ge $n ]; do sleep 0.02; done; }
echo >>/workspace/agent/starts
` + text)}},
				Argv: []string{"bash", "/workspace/agent/script"},
				Env:  map[string]string{"TOKEN": t.Gateway.Token, "API": t.API},
			}, nil
		},
	}
}

// world is a sandbox, a store and a gateway that outlive owners.
type world struct {
	t       *testing.T
	machine *hostmachine.Machine
	agenttest.Store

	mu      sync.Mutex
	trouble error
}

func setup(t *testing.T) *world {
	t.Helper()
	require.Daily(t)
	return &world{t: t, machine: agenttest.Machine(t)}
}

// lines is how many lines a file of the sandbox has.
func (w *world) lines(path string) int {
	data, err := os.ReadFile(w.machine.Host(path))
	if err != nil {
		return 0
	}
	return bytes.Count(data, []byte("\n"))
}

// usage counts the calls. It also notes that it was asked: each look at a program begins with that.
func (w *world) usage() solve.Usage {
	if f, err := os.OpenFile(w.machine.Host("/workspace/agent/looks"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
		_, _ = f.WriteString("\n")
		_ = f.Close()
	}
	n := w.lines("/workspace/agent/calls")
	return solve.Usage{Calls: n, Input: int64(100 * n), Cost: solve.Money(n)}
}

// job is the run as the next owner gets it.
func (w *world) job() agent.Job {
	j := w.Job("Sum of an empty list\n\nSum([]) panics.", w.machine, "http://127.0.0.1:4141", agent.APIChat, agent.APIResponses)
	j.Gateway.Usage = w.usage
	j.Gateway.LastError = func() error { w.mu.Lock(); defer w.mu.Unlock(); return w.trouble }
	return j
}

func (w *world) run(p command.Program, change func(*agent.Job)) agent.Result {
	w.t.Helper()
	j := w.job()
	if change != nil {
		change(&j)
	}
	res := hasty(p).Run(w.t.Context(), j)
	w.nothingRuns()
	return res
}

// hasty has little patience.
func hasty(p command.Program) *command.Agent {
	return command.Hasty(command.New(p, command.Config{Patience: 200 * time.Millisecond}))
}

func (w *world) nothingRuns() {
	w.t.Helper()
	if on, err := w.machine.Launched(context.Background()); on || err != nil {
		w.t.Error("something still runs", err)
	}
}

// printed is the program's output as the transcript has it.
func (w *world) printed() string {
	w.t.Helper()
	var b strings.Builder
	for _, m := range w.Messages() {
		if m.Role == agent.RoleOutput {
			b.WriteString(m.Content)
		}
	}
	return b.String()
}

// roles are those of the transcript, the program's own messages by their content.
func (w *world) roles() string {
	var out []string
	for _, m := range w.Messages() {
		switch m.Role {
		case agent.RoleOutput:
			if len(out) == 0 || out[len(out)-1] != m.Role {
				out = append(out, m.Role)
			}
		case agent.RoleAssistant:
			out = append(out, m.Content)
		default:
			out = append(out, m.Role)
		}
	}
	return strings.Join(out, " ")
}

func (w *world) want(res agent.Result, exit string) {
	w.t.Helper()
	if res.Exit != exit {
		w.t.Fatalf("exit %q (%s; %v), want %q\n%s", res.Exit, res.Reason, res.Err, exit, w.Lines())
	}
}

// await waits until a file of the sandbox has so many lines.
func (w *world) await(path string, n int) {
	w.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(20 * time.Second)
	for w.lines(path) < n {
		select {
		case <-ticker.C:
		case <-deadline:
			w.t.Fatalf("%s never had %d lines", path, n)
		}
	}
}

var errStopping = errors.New("the process stops")

// faulty is the sandbox as an owner sees it that dies at one of its operations: before
// it is done, or after.
type faulty struct {
	*world
	agenttest.Sandbox
	mu    sync.Mutex
	left  int
	after bool
	die   context.CancelCauseFunc
	names []string
}

// do counts one operation.
func (f *faulty) do(ctx context.Context, name string, op func() error) error {
	f.mu.Lock()
	f.left--
	f.names = append(f.names, name)
	now, dead := f.left == 0, f.left < 0
	f.mu.Unlock()
	if dead || now && !f.after {
		f.die(errStopping)
		return errStopping
	}
	err := op()
	if now {
		f.die(errStopping)
		return errStopping
	}
	return err
}

func (f *faulty) Exec(ctx context.Context, c sandbox.Command) (res sandbox.Result, err error) {
	err = f.do(ctx, "exec", func() (err error) { res, err = f.Sandbox.Exec(ctx, c); return err })
	return res, err
}

func (f *faulty) Put(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	return f.do(ctx, "put "+filepath.Base(path), func() error { return f.Sandbox.Put(ctx, path, r, mode) })
}

func (f *faulty) Get(ctx context.Context, path string) (r io.ReadCloser, err error) {
	err = f.do(ctx, "get", func() (err error) { r, err = f.Sandbox.Get(ctx, path); return err })
	return r, err
}

func (f *faulty) Launch(ctx context.Context, c sandbox.Command) error {
	return f.do(ctx, "launch", func() error { return f.Sandbox.Launch(ctx, c) })
}

func (f *faulty) Launched(ctx context.Context) (on bool, err error) {
	err = f.do(ctx, "launched", func() (err error) { on, err = f.Sandbox.Launched(ctx); return err })
	return on, err
}

func (f *faulty) Halt(ctx context.Context) error {
	return f.do(ctx, "halt", func() error { return f.Sandbox.Halt(ctx) })
}

func (f *faulty) Tree(ctx context.Context) (tree string, err error) {
	err = f.do(ctx, "tree", func() (err error) { tree, err = f.Sandbox.Tree(ctx); return err })
	return tree, err
}

func (f *faulty) save(ctx context.Context, lines []byte, p solve.Progress) error {
	return f.do(ctx, fmt.Sprintf("save %d", bytes.Count(lines, []byte("\n"))), func() error { return f.world.Save(ctx, lines, p) })
}

// dying runs an owner that dies at its nth operation. It returns whether it came so far.
func (w *world) dying(p command.Program, nth int, after bool, change func(*agent.Job)) (bool, []string) {
	ctx, die := context.WithCancelCause(w.t.Context())
	defer die(nil)
	f := &faulty{world: w, Sandbox: w.machine, left: nth, after: after, die: die}
	j := w.job()
	j.Sandbox, j.Tree, j.Save = f, f.Tree, f.save
	if change != nil {
		change(&j)
	}
	hasty(p).Run(ctx, j)
	return f.left <= 0, f.names
}
