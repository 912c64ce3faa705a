package local

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
)

// told is a control group that remembers what was put into it, and may refuse.
type told struct {
	pids    []int
	refuses error
}

func (g *told) add(pid int) error {
	g.pids = append(g.pids, pid)
	return g.refuses
}
func (*told) ooms() int64   { return 0 }
func (*told) remove() error { return nil }

// TestNothingRunsWithoutItsLimits: where the control group takes no process, none is left
// that a later call would go on with.
func TestNothingRunsWithoutItsLimits(t *testing.T) {
	t.Parallel()
	b := opened(t)
	refuses := errors.New("refused")
	b.group = &told{refuses: refuses}
	if err := b.killInside(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-b.helper.left
	if _, err := b.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, refuses) {
		t.Errorf("exec: %v", err)
	}
	held, err := holdMarked(b.marker())
	if err != nil || len(held) > 0 {
		t.Errorf("processes left: %v, %v", held, err)
	}
	b.group = &told{}
	if res, err := b.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil || res.ExitCode != 0 {
		t.Errorf("exec with limits: %+v, %v", res, err)
	}
}

// TestTakeOverLimits: whoever takes a sandbox over sees to it that the first process inside
// is in the control group.
func TestTakeOverLimits(t *testing.T) {
	t.Parallel()
	b := opened(t)
	group := &told{}
	b.group = group
	if err := b.takeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(group.pids) != 1 {
		t.Fatalf("in the group: %v", group.pids)
	}
	pid := strconv.Itoa(group.pids[0])
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil || !strings.Contains(string(status), "\nNSpid:\t"+pid+"\t1\n") {
		t.Errorf("not the first process: %s, %v", status, err)
	}
}

// TestLeastProcesses: the fewest processes that config.yml may allow are enough for a program
// that was launched, two commands and a file, since ours do not count.
func TestLeastProcesses(t *testing.T) {
	t.Parallel()
	d := opened(t).driver
	sb, err := d.Open(t.Context(), sandbox.Spec{
		Name: "least", Launch: true, Network: sandbox.Network{Allow: []string{"allowed.test"}}, Limits: sandbox.Limits{Processes: leastProcesses},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Argv: []string{"sleep", "300"}}); err != nil {
		t.Fatal(err)
	}
	up, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = sb.Exec(ctx, sandbox.Command{Shell: "echo up; exec sleep 300", Stdout: w})
	}()
	if _, err := up.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := sb.Put(t.Context(), "/tmp/f", strings.NewReader("text"), 0o644); err != nil {
			t.Error(err)
		}
		if out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "cat /tmp/f"}); err != nil || res.ExitCode != 0 || out != "text" {
			t.Errorf("%q, %+v, %v", out, res, err)
		}
	}
	cancel()
	<-ended
}
