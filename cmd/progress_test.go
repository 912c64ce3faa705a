package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestProgressTellsOfAFailingModelServer: at once, each time that it is tried again, and when it works again.
func TestProgressTellsOfAFailingModelServer(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	began := time.Unix(0, 0)
	p := newProgress(&out, began)
	r := solve.Run{N: 1, State: solve.RunWorking, Experiment: solve.Experiment{Model: "m"}}
	for i, waiting := range []string{"", "m: down; try 1", "m: down; try 1", "m: down; try 2", ""} {
		r.Progress.Waiting, r.Progress.Last = waiting, "$ make"
		p.show(report.View{Solve: solve.Solve{State: solve.StateRunning}, Runs: []solve.Run{r}}, began.Add(time.Duration(i)*time.Second))
	}
	want := `   0.0s  solve running
   0.0s  run 1 m: working  $ make
   1.0s  run 1 m: working  waits for its model server (m: down; try 1)
   3.0s  run 1 m: working  waits for its model server (m: down; try 2)
   4.0s  run 1 m: working  $ make
`
	if got := strings.ReplaceAll(out.String(), "  \n", "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestFollowStoppedAtTheEnd: what is done is done, even if somebody stops it then.
func TestFollowStoppedAtTheEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	if err := follow(ctx, func() (bool, error) { stop(); return true, nil }); err != nil {
		t.Error(err)
	}
}
