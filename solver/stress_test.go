package solver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// dice is a source of faults that many goroutines ask.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) one(in int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(in) == 0
}

// TestManySolvesWithFaults: thirty solves of six runs in five repositories, on
// three nodes of which one dies, with sandboxes, commands, GitHub and the store
// failing now and then, some cancelled: all end, nothing is left, no solve has
// two pull requests.
func TestManySolvesWithFaults(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		luck := &dice{r: rand.New(rand.NewPCG(1, 2))}
		w.cfg.Caps, w.cfg.Limits.Parallel, w.cfg.Preparing = solve.Caps{Process: 24, Repository: 8}, 3, 8
		w.cfg.SweepEvery = 5 * time.Second
		w.cfg.Limits.SolveTime = 30 * time.Minute
		w.play("worker", slowStep("write good a"), slowStep("sleep 2s"), slowStep("write good b"))
		w.unlucky(luck)
		writer := w.writer()
		var nodes []*process
		for _, node := range []string{"a", "b", "c"} {
			p := w.process(node)
			p.store.on(func(op string, _ solve.Change) error {
				if op != "heartbeat" && luck.one(200) {
					return errDisk
				}
				return nil
			}, nil)
			nodes = append(nodes, p.run())
		}
		var ids []solve.ID
		for i := range 30 {
			w.hub.fail("permission", fault{passes: true})
			ids = append(ids, w.ask(with("worker", "bad", "idle"), times(2), in(int64(i%5), fmt.Sprintf("r%d", i%5))))
		}
		w.await(time.Hour, "the first runs ended", func() bool { return w.ended(ids) > 20 })
		nodes[1].kill()
		for _, id := range ids[25:] {
			_, err := w.store.RequestCancel(w.Context(), id, "bob", "")
			w.must(err)
		}
		w.await(2*time.Hour, "all solves to end", func() bool { return len(w.live()) == 0 })
		w.driver.SetFault(nil) // what could not be closed is swept
		solved := 0
		for _, id := range ids {
			s := w.solve(id)
			for _, r := range w.runs(id) {
				if !r.State.Final() {
					w.Errorf("run %d of %s is %s", r.N, id, r.State)
				}
			}
			switch {
			case s.State == solve.StateSolved:
				solved++
			case s.State != solve.StateCancelled && !strings.Contains(s.Reason, "bad luck") && s.State != solve.StateUnsolved:
				w.Errorf("%s is %s: %s", id, s.State, s.Reason)
			}
		}
		if solved < 15 || writer.count() < solved {
			w.Errorf("%d solved with %d pull requests", solved, writer.count())
		}
	})
}

// unlucky makes sandboxes and commands fail now and then.
func (w *world) unlucky(luck *dice) {
	w.driver.SetFault(func(op fakesandbox.Op, _ string) error {
		if op == fakesandbox.OpOpen && luck.one(15) || op == fakesandbox.OpClose && luck.one(25) {
			return errors.New("bad luck")
		}
		return nil
	})
	w.machine.on("sleep", func(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		if luck.one(10) {
			return sandbox.Result{}, errors.New("bad luck")
		}
		return w.machine.command(ctx, c)
	})
}

// ended counts the runs that have ended.
func (w *world) ended(ids []solve.ID) int {
	n := 0
	for _, id := range ids {
		for _, r := range w.runs(id) {
			if r.State.Final() {
				n++
			}
		}
	}
	return n
}

// slowStep takes the model a second.
func slowStep(command string) scripted.Step {
	s := run(command)
	s.Delay = time.Second
	return s
}
