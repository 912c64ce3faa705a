package bolt_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// accept stores deliveries from a number of senders, of a small and a usual size,
// of bytes that compression does not make fewer: test/bench has real payloads.
func accept(b *testing.B, senders int) {
	for _, kib := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d_KiB", kib), func(b *testing.B) {
			acceptPayload(b, open(b, config(b)), senders, noise(kib<<10))
		})
	}
}

func acceptPayload(b *testing.B, s *bolt.Store, senders int, payload []byte) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range senders {
		group.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				// A UUID of version 1, as GitHub's are: the fast digits come first.
				ticks := 0x1f15a1c00000000 + n*2003
				guid := fmt.Sprintf("%08x-%04x-1%03x-8f3a-7e4d3c2b1a00", uint32(ticks), uint16(ticks>>32), ticks>>48)
				d := solve.Delivery{GUID: guid, Event: "issues", Payload: payload}
				if ok, err := s.Accept(context.Background(), d, solve.Intent{}); err != nil || !ok {
					b.Errorf("Accept: %v, %v", ok, err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}

func BenchmarkAccept1(b *testing.B)  { accept(b, 1) }
func BenchmarkAccept64(b *testing.B) { accept(b, 64) }

// fleet is a store with solves of ten runs each, some of them at work.
type fleet struct {
	*bolt.Store
	ctx  context.Context
	now  time.Time
	runs []solve.Run
}

const fleetNode = "node"

// newFleet makes the solves and admits as many runs as are to be at work.
func newFleet(t testing.TB, c bolt.Config, solves, working int) *fleet {
	t.Helper()
	f := &fleet{ctx: context.Background(), now: time.Now()}
	if c.Now == nil {
		c.Now = func() time.Time { return f.now }
	}
	f.Store = open(t, c)
	f.ok(t, f.Heartbeat(f.ctx, fleetNode, 24*time.Hour))
	var group sync.WaitGroup
	for part := range 64 {
		group.Go(func() {
			for i := part; i < solves; i += 64 {
				f.make(t, i)
			}
		})
	}
	group.Wait()
	var err error
	f.runs, err = f.Admit(f.ctx, fleetNode, solve.Caps{Process: working})
	f.ok(t, err)
	if len(f.runs) != working {
		t.Fatalf("%d runs at work, want %d", len(f.runs), working)
	}
	return f
}

func (f *fleet) ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) make(t testing.TB, i int) {
	repo := solve.Repo{Installation: int64(i % 50), ID: int64(i % 200)}
	s := solve.Solve{ID: solve.ID(fmt.Sprintf("solve%06d", i)), Repo: repo, Created: f.now.Add(time.Duration(i))}
	s.Issue.Number, s.Trigger.Key = i, fmt.Sprint("key", i)
	_, _, err := f.Create(f.ctx, s)
	if err == nil {
		_, _, err = f.Apply(f.ctx, solve.Change{Solve: s.ID, Event: solve.Claimed{}})
	}
	list := make([]solve.Run, 11)
	for n := range list {
		list[n].N = n + 1
	}
	if err == nil {
		_, _, err = f.Apply(f.ctx, solve.Change{Solve: s.ID, Event: solve.BaseReady{Runs: list}})
	}
	if err != nil {
		t.Errorf("make solve: %v", err)
	}
}

// turn ends a run at work and admits the next.
func (f *fleet) turn(t testing.TB, working int) {
	r := f.runs[0]
	_, _, err := f.Apply(f.ctx, solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: solve.Aborted{}})
	f.ok(t, err)
	next, err := f.Admit(f.ctx, fleetNode, solve.Caps{Process: working})
	f.ok(t, err)
	f.runs = append(f.runs[1:], next...)
}

func BenchmarkAdmit(b *testing.B) {
	for _, working := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d_at_work_%d_queued", working, 10*working), func(b *testing.B) {
			f := newFleet(b, config(b), working, working)
			for b.Loop() {
				if len(f.runs) == 0 {
					b.Skip("all runs are over")
				}
				f.turn(b, working)
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	f := newFleet(b, config(b), 100, 100)
	r := f.runs[0]
	_, _, err := f.Apply(f.ctx, solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: solve.Started{}})
	f.ok(b, err)
	for b.Loop() {
		_, _, err := f.Apply(f.ctx, solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: solve.Adopted{}})
		f.ok(b, err)
	}
}

func BenchmarkStep(b *testing.B) {
	f := newFleet(b, config(b), 100, 100)
	r := f.runs[0]
	for b.Loop() {
		f.ok(b, f.Step(f.ctx, r.Solve, r.N, r.Lease.Token, make([]byte, 2048), solve.Progress{At: f.now}))
	}
}

// BenchmarkOpen opens a store with many finished solves, lists the live ones and claims.
func BenchmarkOpen(b *testing.B) {
	for _, finished := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("%d_finished", finished), func(b *testing.B) {
			c := config(b)
			s := open(b, c)
			finish(b, s, finished)
			for b.Loop() {
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				s = open(b, c)
				if list, err := s.LiveSolves(b.Context()); err != nil || len(list) != 0 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// finish makes solves that are over.
func finish(t testing.TB, s *bolt.Store, n int) {
	t.Helper()
	var group sync.WaitGroup
	ctx, now := context.Background(), time.Now()
	for part := range 128 {
		group.Go(func() {
			for i := part; i < n; i += 128 {
				one := solve.Solve{ID: solve.ID(fmt.Sprintf("over%06d", i)), Repo: solve.Repo{ID: 999}, Created: now}
				one.Issue.Number, one.Trigger.Key = i, fmt.Sprint("over", i)
				_, _, err := s.Create(ctx, one)
				if err == nil {
					_, err = s.RequestCancel(ctx, one.ID, "me", "")
				}
				if err != nil {
					t.Errorf("finish: %v", err)
				}
			}
		})
	}
	group.Wait()
}
