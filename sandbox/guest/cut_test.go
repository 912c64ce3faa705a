package guest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// open returns a sandbox on a machine of its own.
func open(t *testing.T, p *provider, name string) sandbox.Sandbox {
	t.Helper()
	sb, err := p.Open(t.Context(), sandbox.Spec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return sb
}

// executes reports whether a process is the call that starts a command, or shows it again.
func executes(p guest.Process) bool { return len(p.Argv) > 1 && p.Argv[1] == "exec" }

// TestCutAtEveryChunk loses the view of a command after each of its chunks, again
// and again: it runs once, and every byte arrives once and in order.
func TestCutAtEveryChunk(t *testing.T) {
	t.Parallel()
	const lines = 12
	text := fmt.Sprintf(`echo run >>/tmp/runs; for i in $(seq %d); do echo "out $i"; echo "err $i" >&2; sleep 0.02; done; exit 7`, lines)
	var wantOut, wantErr strings.Builder
	for i := 1; i <= lines; i++ {
		fmt.Fprintln(&wantOut, "out", i)
		fmt.Fprintln(&wantErr, "err", i)
	}
	for _, after := range []int{0, 1, 2, 3, 5} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			var cuts atomic.Int64
			p.cut = func(_ context.Context, q guest.Process, chunk int) error {
				if executes(q) && chunk == after && cuts.Add(1) <= 8 {
					return guest.ErrCut
				}
				return nil
			}
			sb := open(t, p, "cut")
			var out, errs bytes.Buffer
			res, err := sb.Exec(t.Context(), sandbox.Command{Shell: text, Stdout: &out, Stderr: &errs})
			if err != nil || res.ExitCode != 7 || res.Truncated {
				t.Fatalf("%+v, %v", res, err)
			}
			if out.String() != wantOut.String() || errs.String() != wantErr.String() {
				t.Errorf("after cuts stdout is %q and stderr %q", out.String(), errs.String())
			}
			runs, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "cat /tmp/runs"})
			if err != nil || runs != "run\n" {
				t.Errorf("it ran %q, %v", runs, err)
			}
			if cuts.Load() == 0 {
				t.Error("nothing was cut")
			}
		})
	}
}

// TestStalledViewHoldsNothingUp: nobody reads what the command prints, and it
// goes on to its end all the same.
func TestStalledViewHoldsNothingUp(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	stalled, release := make(chan struct{}, 1), make(chan struct{})
	var once atomic.Bool
	p.cut = func(ctx context.Context, q guest.Process, chunk int) error {
		if executes(q) && chunk == 1 && once.CompareAndSwap(false, true) {
			stalled <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return guest.ErrCut
		}
		return nil
	}
	sb := open(t, p, "stall")
	type end struct {
		n   int
		err error
	}
	ended := make(chan end, 1)
	go func() {
		var out bytes.Buffer
		_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "head -c 3000000 /dev/zero; touch /tmp/done", Stdout: &out})
		ended <- end{out.Len(), err}
	}()
	<-stalled
	_, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "until [ -e /tmp/done ]; do sleep 0.02; done", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	if e := <-ended; e.err != nil || e.n != 3_000_000 {
		t.Errorf("%d bytes arrived, %v", e.n, e.err)
	}
}

// TestGoneWhileCut: a machine that ends while the view is lost is gone, at once.
func TestGoneWhileCut(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.cut = func(_ context.Context, q guest.Process, chunk int) error {
		if executes(q) && chunk == 1 {
			_ = p.drop("gone")
			return guest.ErrCut
		}
		return nil
	}
	sb := open(t, p, "gone")
	_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo up; sleep 100", Stdout: &bytes.Buffer{}})
	if !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("error %v, want ErrGone", err)
	}
}

// TestSupervisorKilled: where somebody kills a command's supervisor, it is said, and nothing waits for it.
func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	sb := open(t, newProvider(t), "supervisor")
	_, err := sb.Exec(t.Context(), sandbox.Command{
		Shell: "kill -KILL $PPID; sleep 1", Stdout: &bytes.Buffer{},
	})
	if !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	if out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "echo fine"}); err != nil || out != "fine\n" {
		t.Errorf("the next command: %q, %v", out, err)
	}
}

// TestOldOwnerIsRefused: a handle that lost its sandbox can start nothing in it.
func TestOldOwnerIsRefused(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	old := open(t, p, "owned")
	if _, err := p.Attach(t.Context(), "owned"); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the old owner's command: %v, want ErrGone", err)
	}
}

// TestShortCommands: a command that is over before anybody looks at it has its output
// and its end.
func TestShortCommands(t *testing.T) {
	t.Parallel()
	sb := open(t, newProvider(t), "short")
	for i := range 200 {
		out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Argv: []string{"echo", "hi"}})
		if err != nil || out != "hi\n" {
			t.Fatalf("command %d: %q, %v", i, out, err)
		}
	}
}

// TestEndlessOutput: a command that never stops printing ends by its timeout.
func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	sb := open(t, newProvider(t), "endless")
	began := time.Now()
	c := sandbox.Command{Shell: "yes & yes >&2 & exec yes", Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, MaxOutput: 1000, Timeout: time.Second}
	if res, err := sb.Exec(t.Context(), c); err != nil || !res.TimedOut || !res.Truncated || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %+v, %v", time.Since(began), res, err)
	}
}
