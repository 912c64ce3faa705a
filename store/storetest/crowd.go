package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func crowdPromises() []Promise {
	return []Promise{
		{"64 senders of the same deliveries store each once", crowdAccept},
		{"many claimers get different solves", crowdClaim},
		{"runs that end together start one reducer", crowdEnd},
		{"many admitters keep the caps", crowdAdmit},
		{"many appenders keep one order", crowdSteps},
		{"random work of dying nodes keeps every invariant", func(t testing.TB, s Store, clock *Clock) {
			Chaos(t, s, clock, 6, 400, nil)
		}},
	}
}

// together runs fn n times at once and waits.
func together(n int, fn func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	group.Wait()
}

func crowdAccept(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	const senders, guids = 64, 100
	wishes := make([]solve.Solve, guids)
	for i := range wishes {
		wishes[i] = w.wish(repo(int64(i % 7)))
	}
	d := w.delivery("")
	var accepted atomic.Int64
	together(senders, func(i int) {
		for j := range guids {
			k := (i*13 + j) % guids
			d, wish := d, wishes[k]
			d.GUID = fmt.Sprintf("guid%d", k)
			wish.ID = solve.ID(fmt.Sprintf("%s.%d", wish.ID, i)) // as two handlers would name it
			ok, err := s.Accept(w.ctx, d, solve.Intent{Solve: &wish})
			if err != nil {
				t.Errorf("Accept: %v", err)
			}
			if ok {
				accepted.Add(1)
			}
		}
	})
	w.same(int64(guids), accepted.Load())
	w.same(guids, len(w.live()))
	w.same(0, len(w.asks()))
}

func crowdClaim(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	for range 20 {
		w.queued(repo(1))
	}
	for i := range 8 {
		w.node(fmt.Sprintf("n%d", i))
	}
	var got sync.Map
	together(8, func(i int) {
		for {
			c, err := s.ClaimSolve(w.ctx, fmt.Sprintf("n%d", i))
			if errors.Is(err, solve.ErrNotFound) {
				return
			}
			if err != nil {
				t.Errorf("ClaimSolve: %v", err)
				return
			}
			if other, twice := got.LoadOrStore(c.ID, i); twice {
				t.Errorf("solve %s was claimed by %v and %d", c.ID, other, i)
			}
		}
	})
	n := 0
	got.Range(func(any, any) bool { n++; return true })
	w.same(20, n)
}

func crowdEnd(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	for range 5 {
		made := w.running(repo(1), 8, nil)
		list := w.admit(n1, solve.Caps{})
		for i := range list {
			list[i] = w.step(list[i], solve.Started{})
		}
		together(len(list), func(i int) {
			r := list[i]
			for _, ev := range []solve.Event{solve.AgentEnded{}, solve.Empty{}} {
				_, _, err := s.Apply(w.ctx, solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: ev})
				if err != nil {
					t.Errorf("Apply %s: %v", ev, err)
				}
			}
		})
		w.state(made.ID, solve.StateReducing)
		w.gapless(made.ID)
		ended := 0
		for _, e := range w.events(made.ID) {
			if e.Event == solve.EventRunsEnded {
				ended++
			}
		}
		w.same(1, ended)
		w.apply(solve.Change{Solve: made.ID, Event: solve.NoChampion{}})
	}
}

func crowdAdmit(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	for i := range 12 {
		w.running(repo(int64(i%4)), 6, func(s *solve.Solve) { s.Plan.Limits.Parallel = 3 })
	}
	caps := solve.Caps{Process: 14, Repository: 4, Installation: 13}
	for i := range 6 {
		w.node(fmt.Sprintf("n%d", i))
	}
	var mu sync.Mutex
	tokens, working, repos := map[string]bool{}, 0, map[int64]int{}
	together(6, func(i int) {
		for range 5 {
			list, err := s.Admit(w.ctx, fmt.Sprintf("n%d", i), caps)
			if err != nil {
				t.Errorf("Admit: %v", err)
			}
			mu.Lock()
			// Counted after the admission and no more before the end: never more than there are.
			working += len(list)
			if working > caps.Process {
				t.Errorf("%d runs at work, the cap is %d", working, caps.Process)
			}
			for _, r := range list {
				name := fmt.Sprintf("%s/%d/%d", r.Solve, r.N, r.Lease.Token)
				if tokens[name] {
					t.Errorf("run %s was given out twice", name)
				}
				tokens[name] = true
				repos[r.Repo.ID]++
				if n := repos[r.Repo.ID]; n > caps.Repository {
					t.Errorf("%d runs of a repository at work, the cap is %d", n, caps.Repository)
				}
			}
			mu.Unlock()
			for _, r := range list {
				mu.Lock()
				working--
				repos[r.Repo.ID]--
				mu.Unlock()
				_, _, err := s.Apply(w.ctx, solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: solve.Aborted{}})
				if err != nil {
					t.Errorf("Apply: %v", err)
				}
			}
		}
	})
}

func crowdSteps(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, nil)
	r := w.admit(w.node("n1"), solve.Caps{})[0]
	together(8, func(i int) {
		for range 5 {
			line := fmt.Sprintf("%d\n", i)
			if err := s.Step(w.ctx, made.ID, 1, r.Lease.Token, []byte(line), solve.Progress{At: w.now}); err != nil {
				t.Errorf("Step: %v", err)
			}
		}
	})
	seen := map[byte]int{}
	text := w.transcript(made.ID, 1)
	for i := 0; i+1 < len(text); i += 2 {
		seen[text[i]]++
	}
	for i := range 8 {
		w.same(5, seen[byte('0'+i)])
	}
}
