package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// counting prints and works step by step.
const counting = `for i in 1 2 3; do call; echo "step $i"; echo $i >>work.txt; sleep 0.03; done`

const counted = "step 1\nstep 2\nstep 3\n"

// noting has messages of its own.
func noting() command.Program {
	p := script(`for i in 1 2 3 4; do call; echo '{"role":"assistant","content":"m'$i'"}' >>/workspace/agent/notes; echo $i >>work.txt; sleep 0.03; done`)
	p.Collect = func(ctx context.Context, m sandbox.Sandbox, at int) ([]agent.Message, int, error) {
		f, err := m.Get(ctx, "/workspace/agent/notes")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, at, nil
		}
		if err != nil {
			return nil, at, err
		}
		defer f.Close()
		all, err := io.ReadAll(f)
		if err != nil {
			return nil, at, err
		}
		to := bytes.LastIndexByte(all, '\n') + 1
		messages, _ := agent.ReadTranscript(all[at:to])
		return messages, to, nil
	}
	return p
}

// An owner dies at each of its operations in turn, before or after it is done. The next
// one ends the run as if nothing had been.
func TestOwnerDiesAtEveryStep(t *testing.T) {
	t.Parallel()
	// It is ended at the first look after its call: by then its output must have left the pipe, and the edit be made.
	hanging := script("echo on; until [ -s /workspace/agent/output.log ]; do sleep 0.02; done; echo 1 >work.txt; call; exec sleep 300")
	for name, c := range map[string]struct {
		program command.Program
		change  func(*agent.Job)
		exit    string
		check   func(w *world) bool
	}{
		"output": {script(counting), nil, agent.ExitSubmitted, func(w *world) bool { return w.printed() == counted && w.roles() == "start output exit" }},
		"notes":  {noting(), nil, agent.ExitSubmitted, func(w *world) bool { return w.roles() == "start m1 m2 m3 m4 exit" }},
		"edits": {hanging, func(j *agent.Job) { j.MaxEdits = 1 }, agent.ExitEdits, func(w *world) bool {
			return w.printed() == "on\n" && w.roles() == "start output exit"
		}},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s after %v", name, after), func(t *testing.T) {
				t.Parallel()
				for nth := 1; ; nth++ {
					w := setup(t)
					met, did := w.dying(c.program, nth, after, c.change)
					res := w.run(c.program, c.change)
					if res.Exit != c.exit || !c.check(w) || w.lines("/workspace/agent/starts") != 1 {
						t.Fatalf("died at %d of %v: %q, %v, started %d times, %q\n%s", nth, did, res.Exit, res.Err, w.lines("/workspace/agent/starts"), w.printed(), w.Lines())
					}
					if !met {
						return
					}
				}
			})
		}
	}
}

// A transcript is cut anywhere: what is missing is written again, and nothing twice.
func TestTornTranscript(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.want(w.run(noting(), nil), agent.ExitSubmitted)
	whole := w.Lines()
	first := bytes.IndexByte(whole, '\n') + 1
	exit := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := first; cut < len(whole); cut += max((len(whole)-first)/40, 1) {
		w.Replace(whole[:cut])
		w.want(w.run(noting(), nil), agent.ExitSubmitted)
		if got := w.roles(); got != "start m1 m2 m3 m4 exit" {
			t.Fatalf("cut at %d (exit at %d): %s\n%s", cut, exit, got, w.Lines())
		}
	}
}

// A batch of several lines may be stored in part.
func TestTornBatch(t *testing.T) {
	t.Parallel()
	p := noting()
	collect := p.Collect
	p.Collect = func(ctx context.Context, m sandbox.Sandbox, at int) ([]agent.Message, int, error) {
		messages, next, err := collect(ctx, m, at)
		if len(messages) < 4 { // all at once, or nothing
			return nil, at, err
		}
		return messages, next, err
	}
	w := setup(t)
	w.want(w.run(p, nil), agent.ExitSubmitted)
	whole := w.Lines()
	for i := range whole {
		if whole[i] != '\n' || i < bytes.IndexByte(whole, '\n') || i == len(whole)-1 {
			continue
		}
		w.Replace(whole[:i+1])
		w.want(w.run(p, nil), agent.ExitSubmitted)
		if got := w.roles(); got != "start m1 m2 m3 m4 exit" {
			t.Fatalf("cut at %d: %s\n%s", i, got, w.Lines())
		}
	}
}

// A batch that was torn may come in other pieces to the next owner.
func TestTornBatchInPieces(t *testing.T) {
	t.Parallel()
	const all = 5
	most := all
	p := script("true")
	p.Collect = func(_ context.Context, _ sandbox.Sandbox, at int) ([]agent.Message, int, error) {
		to := min(at+most, all)
		var messages []agent.Message
		for n := at; n < to; n++ {
			messages = append(messages, agent.Message{Role: agent.RoleAssistant, Content: fmt.Sprintf("m%d", n)})
		}
		return messages, to, nil
	}
	w := setup(t)
	w.want(w.run(p, nil), agent.ExitSubmitted)
	whole := w.Lines()
	for most = range all {
		most++
		for i := range whole {
			if whole[i] != '\n' {
				continue
			}
			w.Replace(whole[:i+1])
			w.want(w.run(p, nil), agent.ExitSubmitted)
			if got := w.roles(); got != "start m0 m1 m2 m3 m4 exit" {
				t.Fatalf("cut at %d, %d at once: %s\n%s", i, most, got, w.Lines())
			}
		}
	}
}

// The program goes on while nobody watches, and ends by itself.
func TestProgramOutlivesItsOwner(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := script(`echo one; until [ -e /workspace/agent/go ]; do sleep 0.02; done; call; echo two; echo x >fix.txt`)
	ctx, stop := context.WithCancelCause(t.Context())
	var group sync.WaitGroup
	var res agent.Result
	group.Go(func() { res = hasty(p).Run(ctx, w.job()) })
	w.await("/workspace/agent/output.log", 1)
	stop(errStopping)
	group.Wait()
	if !errors.Is(res.Err, errStopping) {
		t.Fatal(res.Err)
	}
	if on, err := w.machine.Launched(t.Context()); !on || err != nil {
		t.Fatal("the program did not go on", err)
	}
	if err := (agent.File{Path: "/workspace/agent/go"}).Put(t.Context(), w.machine); err != nil {
		t.Fatal(err)
	}
	w.await("/workspace/agent/exit", 1)
	res = w.run(p, nil)
	w.want(res, agent.ExitSubmitted)
	if w.printed() != "one\ntwo\n" || res.Progress.Steps != 1 || res.Progress.Edits != 1 {
		t.Errorf("%q, %+v", w.printed(), res.Progress)
	}
}

// A program that went with its machine cannot go on: the run begins anew.
func TestLostProgram(t *testing.T) {
	t.Parallel()
	p := script("call; echo on; exec sleep 300")
	for name, lose := range map[string]func(w *world, stop func(error)){
		"while it is watched":   func(w *world, _ func(error)) { w.machine.Halt(context.Background()) },
		"while nobody is there": func(w *world, stop func(error)) { stop(errStopping) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			ctx, stop := context.WithCancelCause(t.Context())
			var group sync.WaitGroup
			var res agent.Result
			group.Go(func() { res = hasty(p).Run(ctx, w.job()) })
			w.await("/workspace/agent/output.log", 1)
			lose(w, stop)
			group.Wait()
			if ctx.Err() != nil {
				w.machine.Halt(t.Context())
				res = w.run(p, nil)
			}
			if !errors.Is(res.Err, agent.ErrProgramLost) || w.lines("/workspace/agent/starts") != 1 {
				t.Errorf("%+v", res)
			}
			if strings.Contains(w.roles(), "exit") {
				t.Error("the transcript has an end")
			}
		})
	}
}

// Two owners at the same run: the old one notices that it lost it, and stops nothing.
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := script(`for i in 1 2 3 4 5 6 7 8 9; do call; echo $i; echo $i >>work.txt; sleep 0.05; done; until [ -e /workspace/agent/go ]; do sleep 0.02; done; echo end`)
	var mu sync.Mutex
	lost := false
	old := w.job()
	old.MaxEdits = 4
	old.Save = func(ctx context.Context, lines []byte, progress solve.Progress) error {
		mu.Lock()
		defer mu.Unlock()
		if lost {
			return fmt.Errorf("step: %w", solve.ErrLeaseLost)
		}
		return w.Save(ctx, lines, progress)
	}
	var group sync.WaitGroup
	var first, second agent.Result
	group.Go(func() { first = hasty(p).Run(t.Context(), old) })
	w.await("/workspace/agent/output.log", 2)
	mu.Lock()
	lost = true
	mu.Unlock()
	next := w.job()
	group.Go(func() { second = hasty(p).Run(t.Context(), next) })
	w.await("/workspace/agent/output.log", 9)
	if err := (agent.File{Path: "/workspace/agent/go"}).Put(t.Context(), w.machine); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if !errors.Is(first.Err, solve.ErrLeaseLost) {
		t.Errorf("the old owner: %+v", first)
	}
	w.want(second, agent.ExitSubmitted)
	if w.printed() != "1\n2\n3\n4\n5\n6\n7\n8\n9\nend\n" || strings.Count(w.roles(), "start") != 1 {
		t.Errorf("%q %s", w.printed(), w.roles())
	}
}
