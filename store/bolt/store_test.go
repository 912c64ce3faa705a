package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

func TestOneFailedWriteDoesNotTouchTheOthers(t *testing.T) {
	t.Parallel()
	s := open(t, config(t))
	broken := errors.New("broken")
	good := func(k string) func(func(k, v string)) error {
		return func(put func(k, v string)) error {
			put(k, fmt.Sprintf(`{"v":1,"id":%q}`, k))
			return nil
		}
	}
	errs := s.Together(
		good("a"),
		func(put func(k, v string)) error { put("b", "half"); return broken },
		good("c"),
		func(func(k, v string)) error { return broken },
		func(put func(k, v string)) error { put("d", "half"); panic("a bug") },
		func(put func(k, v string)) error { put("", "an empty key"); put("f", "later"); return nil },
		good("e"),
	)
	for i, failed := range []bool{false, true, false, true, true, true, false} {
		if failed != (errs[i] != nil) {
			t.Errorf("write %d: error %v", i, errs[i])
		}
	}
	asks, err := s.Commands(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, a := range asks {
		ids = append(ids, a.ID)
	}
	if !slices.Equal(ids, []string{"a", "c", "e"}) {
		t.Errorf("kept %v, want a, c and e", ids)
	}
}

// TestEndIsToldWithItsRuns also if the caller gives up while the change is being stored.
func TestEndIsToldWithItsRuns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	armed, told := false, 0
	c := config(t)
	c.Now = func() time.Time {
		if armed {
			cancel()
		}
		return time.Now()
	}
	c.Ended = func(s solve.Solve, runs []solve.Run) {
		told++
		if s.State != solve.StateFailed || len(runs) != 11 {
			t.Errorf("the solve is %s and has %d runs", s.State, len(runs))
		}
	}
	f := newFleet(t, c, 1, 2)
	armed = true
	_, _, err := f.Apply(ctx, solve.Change{Solve: f.runs[0].Solve, Event: solve.Aborted{}})
	if err != nil || told != 1 || ctx.Err() == nil {
		t.Errorf("told %d times: %v", told, err)
	}
}

func TestDeliveryIsKeptAsItCameUntilPruned(t *testing.T) {
	t.Parallel()
	c := fastConfig(t)
	s := open(t, c)
	now := time.Now().UTC()
	ctx := t.Context()
	var all []solve.Delivery
	for i := range 1200 {
		d := solve.Delivery{
			GUID: fmt.Sprintf("%08x-cc78-11e3-81ab-4c9367dc0958", i*77), Event: "issues", Action: "labeled",
			Payload: []byte{byte(i), '\n', 0}, Received: now.Add(time.Duration(i-1100) * time.Hour),
		}
		all = append(all, d)
		if i < 5 || i > 1190 {
			continue
		}
		if ok, err := s.Accept(ctx, d, solve.Intent{}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if err := s.Prune(ctx, now); err != nil {
		t.Fatal(err)
	}
	for _, d := range all[5:1191] {
		got, err := s.Delivery(ctx, d.GUID)
		if now.Sub(d.Received) > c.KeepDeliveries {
			if !errors.Is(err, solve.ErrNotFound) {
				t.Fatalf("delivery of %v is kept: %v", d.Received, err)
			}
			continue
		}
		if diff := cmp.Diff(d, got); err != nil || diff != "" {
			t.Fatalf("delivery: %v\n%s", err, diff)
		}
	}
	if ok, err := s.Accept(ctx, all[20], solve.Intent{}); !ok || err != nil {
		t.Errorf("a pruned GUID is still known: %v", err)
	}
}

func TestPruneRemovesTheFilesOfOldSolves(t *testing.T) {
	t.Parallel()
	c := config(t)
	f := newFleet(t, c, 2, 2)
	old, young := f.runs[0], f.runs[1]
	for _, r := range []solve.Run{old, young} {
		f.ok(t, f.Step(f.ctx, r.Solve, r.N, r.Lease.Token, []byte("line\n"), solve.Progress{At: f.now}))
		f.ok(t, f.PutArtifact(f.ctx, r.Solve, "x", []byte("data")))
	}
	for _, r := range []solve.Run{old, young} {
		_, _, err := f.Apply(f.ctx, solve.Change{Solve: r.Solve, Event: solve.Aborted{}})
		f.ok(t, err)
		f.now = f.now.Add(c.KeepLogs)
	}
	f.ok(t, f.Prune(f.ctx, f.now))
	if _, err := f.Artifact(f.ctx, old.Solve, "x"); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("the old solve's artifact: %v", err)
	}
	if text, err := f.Transcript(f.ctx, old.Solve, old.N); len(text) > 0 || err != nil {
		t.Errorf("the old solve's transcript is %q: %v", text, err)
	}
	if _, err := f.Artifact(f.ctx, young.Solve, "x"); err != nil {
		t.Errorf("the young solve's artifact: %v", err)
	}
	if text, err := f.Transcript(f.ctx, young.Solve, young.N); string(text) != "line\n" || err != nil {
		t.Errorf("the young solve's transcript is %q: %v", text, err)
	}
	if _, err := f.Solve(f.ctx, old.Solve); err != nil {
		t.Errorf("the old solve itself: %v", err)
	}
}

func TestUncommittedTranscriptBytesAreNeverSeen(t *testing.T) {
	t.Parallel()
	c := config(t)
	f := newFleet(t, c, 1, 1)
	r := f.runs[0]
	step := func(line string) {
		t.Helper()
		f.ok(t, f.Step(f.ctx, r.Solve, r.N, r.Lease.Token, []byte(line), solve.Progress{At: f.now}))
	}
	step("one\n")
	// A crash after the write and before the commit leaves this.
	path := filepath.Join(filepath.Dir(c.Path), "transcripts", string(r.Solve), "1", "1-1.jsonl")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	f.ok(t, err)
	_, err = file.WriteString("half a line that is longer than the next")
	f.ok(t, err)
	f.ok(t, file.Close())
	for _, want := range []string{"one\n", "one\ntwo\n"} {
		text, err := f.Transcript(f.ctx, r.Solve, r.N)
		if string(text) != want || err != nil {
			t.Fatalf("the transcript is %q: %v", text, err)
		}
		step("two\n")
	}
}

func TestClosedStoreGivesErrors(t *testing.T) {
	t.Parallel()
	s := open(t, config(t))
	queued(t, s, "a")
	closeStore(t, s)
	closeStore(t, s)
	if _, err := s.Solve(t.Context(), "a"); err == nil {
		t.Error("a closed store was read")
	}
	if err := s.Heartbeat(t.Context(), "n", time.Hour); err == nil {
		t.Error("a closed store was written")
	}
}

// TestSimulatedTime shows that the store lives with a simulated clock: group
// commits, watchers and leases, with writers that wait for each other.
func TestSimulatedTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := bolt.DefaultConfig()
		c.Path = filepath.Join(dir, "yudai.db")
		s := open(t, c)
		watch := s.Watch(t.Context())
		start := time.Now()
		for i := range 8 {
			go func() {
				for j := range 20 {
					one := solve.Solve{ID: solve.ID(fmt.Sprintf("s%d-%d", i, j)), Trigger: solve.Trigger{Key: fmt.Sprint(i, j)}}
					one.Issue.Number = 100*i + j
					if _, _, err := s.Create(t.Context(), one); err != nil {
						t.Error(err)
					}
					<-time.After(time.Minute)
				}
			}()
		}
		<-time.After(time.Hour)
		synctest.Wait()
		<-watch
		list, err := s.LiveSolves(t.Context())
		if len(list) != 160 || err != nil {
			t.Errorf("%d solves: %v", len(list), err)
		}
		if last := list[159].Created.Sub(start); last < 19*time.Minute {
			t.Errorf("the last solve was made after %v of the simulated clock", last)
		}
	})
}

// TestCostDoesNotGrow counts what operations read and write, which no busy machine changes:
// nothing for what is over or waits in the queue, and a few small rows for each solve that was begun.
func TestCostDoesNotGrow(t *testing.T) {
	t.Parallel()
	cost := func(solves, working, over, waiting int) (ops map[string]int) {
		f := newFleet(t, fastConfig(t), solves, working)
		finish(t, f.Store, over)
		ops = map[string]int{}
		count := func(name string, write func() error) {
			n, err := f.Ops(write)
			f.ok(t, err)
			ops[name] = n
		}
		count("admit and apply", func() error { f.turn(t, working); return nil })
		count("full", func() error {
			_, err := f.Admit(f.ctx, fleetNode, solve.Caps{Process: working})
			return err
		})
		for i := range waiting {
			one := solve.Solve{ID: solve.ID(fmt.Sprint("waits", i)), Repo: solve.Repo{ID: int64(500 + i%40)}, Trigger: solve.Trigger{Key: fmt.Sprint("waits", i)}}
			one.Issue.Number = i
			_, _, err := f.Create(f.ctx, one)
			f.ok(t, err)
		}
		count("claim", func() error { _, err := f.ClaimSolve(f.ctx, fleetNode); return err })
		count("heartbeat", func() error { return f.Heartbeat(f.ctx, fleetNode, 24*time.Hour) })
		return ops
	}
	small, old, large := cost(10, 10, 10, 40), cost(10, 10, 1000, 300), cost(200, 200, 1000, 300)
	const more, perSolve = 190, 6
	for name, n := range small {
		if old[name] > n+n/4 {
			t.Errorf("%s: %d operations in a young store, %d in an old one", name, n, old[name])
		}
		if large[name] > n+n/4+more*perSolve {
			t.Errorf("%s: %d operations in a small store, %d in one with %d more running solves", name, n, large[name], more)
		}
	}
}
