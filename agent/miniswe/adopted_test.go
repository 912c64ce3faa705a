package miniswe_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/hostmachine"
	"github.com/yudai-dev/yudai/test/require"
)

// gated are the commands of a run that waits twice until it is told to go on.
var gated = []string{
	"echo one",
	"until [ -e ../agent/go-1 ]; do sleep 0.02; done; echo two",
	"until [ -e ../agent/go-2 ]; do sleep 0.02; done; echo three >sum.txt",
	"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat sum.txt",
}

// life is one run of the real program, with a store, a machine and a model that outlive
// its owners.
type life struct {
	t *testing.T
	agenttest.Store
	machine         *hostmachine.Machine
	url             string
	called          chan struct{} // one for each call
	calls, launches atomic.Int64
}

func begin(t *testing.T) *life {
	t.Helper()
	play := "plays:\n  - steps:\n"
	for _, c := range gated {
		play += "      - run: '" + c + "'\n"
	}
	l := &life{t: t, machine: agenttest.With(t, installed(t)), called: make(chan struct{}, 100)}
	model := agenttest.Played(t, play)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.calls.Add(1)
		model.ServeHTTP(w, r)
		l.called <- struct{}{}
	}))
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

// counting is the machine, and counts how often the program is started.
type counting struct {
	agenttest.Sandbox
	launches *atomic.Int64
}

func (c counting) Launch(ctx context.Context, p sandbox.Command) error {
	c.launches.Add(1)
	return c.Sandbox.Launch(ctx, p)
}

// own has the next owner follow the run. It tells when a line with the text is stored,
// and how the run ended.
func (l *life) own(ctx context.Context, text string) (<-chan struct{}, <-chan agent.Result) {
	stored, ended := make(chan struct{}), make(chan agent.Result, 1)
	tell := sync.OnceFunc(func() { close(stored) })
	j := l.Job("Count.", counting{l.machine, &l.launches}, l.url, agent.APIChat)
	j.Limits.RunTime = 5 * time.Minute
	j.Gateway.Usage = func() solve.Usage { return solve.Usage{Calls: int(l.calls.Load())} }
	j.Save = func(ctx context.Context, lines []byte, p solve.Progress) error {
		err := l.Save(ctx, lines, p)
		if err == nil && bytes.Contains(lines, []byte(text)) {
			tell()
		}
		return err
	}
	go func() { ended <- command.New(miniswe.Program(), command.DefaultConfig()).Run(ctx, j) }()
	return stored, ended
}

// await fails where the owner's run ends before that; nil is no owner.
func (l *life) await(what string, is <-chan struct{}, ended <-chan agent.Result) {
	l.t.Helper()
	select {
	case <-is:
	case res := <-ended:
		l.t.Fatalf("before %s: %+v\n%s", what, res, printed(l.t, l.machine.Get))
	case <-time.After(2 * time.Minute):
		l.t.Fatalf("there never was %s\n%s", what, printed(l.t, l.machine.Get))
	}
}

// open lets the program through one of its gates.
func (l *life) open(gate string) {
	l.t.Helper()
	if err := (agent.File{Path: agent.RunDir + "/" + gate}).Put(l.t.Context(), l.machine); err != nil {
		l.t.Fatal(err)
	}
}

// TestAdopted: yudai stops in the middle of a run. The real program works on, and the
// next process follows it to its end, with every step in the transcript once.
func TestAdopted(t *testing.T) {
	t.Parallel()
	require.Long(t)
	l := begin(t)
	stopping := errors.New("the process stops")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	stored, ended := l.own(ctx, `"raw_output":"one\n"`)
	l.await("the first step in the transcript", stored, ended)
	l.await("the first call", l.called, ended)
	l.await("the second call", l.called, ended)
	stop(stopping)
	if res := <-ended; !errors.Is(res.Err, stopping) {
		t.Fatalf("the first owner: %+v", res)
	}
	if on, err := l.machine.Launched(t.Context()); !on || err != nil {
		t.Fatal("the program did not go on", err)
	}
	l.open("go-1")
	l.await("the third call, with nobody there", l.called, nil)
	stored, ended = l.own(t.Context(), `"raw_output":"two\n"`)
	l.await("the second step in the transcript", stored, ended)
	l.open("go-2")
	l.check(<-ended)
}

// check compares with the program's own trajectory file, and with what was asked of it.
func (l *life) check(res agent.Result) {
	t, whole := l.t, l.Lines()
	t.Helper()
	if res.Exit != agent.ExitSubmitted || res.Err != nil || res.Submission != "three\n" {
		t.Fatalf("%+v\n%s\n%s", res, whole, printed(t, l.machine.Get))
	}
	if n := l.launches.Load(); n != 1 || int(l.calls.Load()) != len(gated) || res.Progress.Steps != len(gated) || res.Progress.Edits != 1 {
		t.Errorf("started %d times, %d calls, %+v", n, l.calls.Load(), res.Progress)
	}
	want := decode(t, res.Trajectory)
	if diff := cmp.Diff(gated, want.Commands); diff != "" {
		t.Errorf("-asked +ran:\n%s", diff)
	}
	first, exit := bytes.IndexByte(whole, '\n')+1, bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1
	if diff := cmp.Diff(want, decodeLines(t, res.Trajectory, whole[first:exit])); diff != "" {
		t.Errorf("-file +transcript:\n%s", diff)
	}
}
