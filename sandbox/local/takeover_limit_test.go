package local

import (
	"errors"
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
