package solver_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// gauge watches how many runs are admitted at a time, exactly: it looks after
// each admission, which are one after the other.
type gauge struct {
	mu                   sync.Mutex
	process, repo, solve int // the most so far
	order                []string
	seen                 map[string]bool
}

func (g *gauge) look(w *world) {
	g.mu.Lock()
	defer g.mu.Unlock()
	repos, all := map[int64]int{}, 0
	for _, s := range w.live() {
		own := 0
		for _, r := range w.runs(s.ID) {
			if !r.State.Active() {
				continue
			}
			own++
			if key := string(s.ID) + string(rune('0'+r.N)); !g.seen[key] {
				g.seen[key] = true
				g.order = append(g.order, s.Repo.Name)
			}
		}
		repos[s.Repo.ID] += own
		all += own
		g.solve = max(g.solve, own)
	}
	g.process = max(g.process, all)
	for _, n := range repos {
		g.repo = max(g.repo, n)
	}
}

// gauged starts a process with a gauge.
func (w *world) gauged() *gauge {
	g := &gauge{seen: map[string]bool{}}
	p := w.process("a")
	p.store.on(nil, func(op string, _ solve.Change) {
		if op == "admit" {
			g.look(w)
		}
	})
	p.run()
	return g
}

// in puts a solve into another repository.
func in(id int64, name string) func(*solve.Solve) {
	return func(s *solve.Solve) { s.Repo.ID, s.Repo.Name = id, name }
}

// TestParallelismIsBounded per solve, repository and process, and used up to there.
func TestParallelismIsBounded(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Caps, w.cfg.Limits.Parallel = solve.Caps{Process: 5, Repository: 3}, 2
		w.play("some", run("write good"), run("sleep 1m"), run("sleep 1m"))
		w.writer()
		g := w.gauged()
		var ids []solve.ID
		for repo := range int64(2) {
			for range 2 {
				ids = append(ids, w.ask(with("some"), times(4), in(repo+1, "r")))
			}
		}
		for _, id := range ids {
			w.final(id, solve.StateSolved)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.process != 5 || g.repo != 3 || g.solve != 2 {
			w.Errorf("at most %d runs in all, %d of a repository, %d of a solve; want 5, 3 and 2", g.process, g.repo, g.solve)
		}
	})
}

// TestFewestRunningGoesFirst: a repository that comes late does not wait for
// all the runs of one that came early.
func TestFewestRunningGoesFirst(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.cfg.Caps, w.cfg.Limits.Parallel = solve.Caps{Process: 2}, 10
		w.play("some", run("write good"), run("sleep 1m"))
		w.writer()
		g := w.gauged()
		early := w.ask(with("some"), times(8), in(1, "early"))
		w.runState(early, solve.RunWorking)
		late := w.ask(with("some"), times(2), in(2, "late"))
		w.final(late, solve.StateSolved)
		if s := w.solve(early); s.State != solve.StateRunning {
			w.Errorf("the early repository's solve is %s", s.State)
		}
		w.final(early, solve.StateSolved)
		g.mu.Lock()
		defer g.mu.Unlock()
		if i := slices.Index(g.order, "late"); i > 4 {
			w.Errorf("the order of admissions was %q", g.order)
		}
	})
}

// TestSolvesAreBounded: a process takes so many solves in hand and no more.
func TestSolvesAreBounded(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.MaxSolves = 1
		w.machine.on(testCommand, sleeps(time.Minute))
		w.start("a")
		first := w.ask(with("idle"))
		w.state(first, solve.StatePreparing)
		second := w.ask(with("idle"))
		began := time.Now()
		w.await(time.Minute, "half a minute", func() bool { return time.Since(began) > 30*time.Second })
		if s, other := w.solve(first), w.solve(second); s.State != solve.StatePreparing || other.State != solve.StateQueued {
			w.Errorf("the first solve is %s, the second %s", s.State, other.State)
		}
		w.final(first, solve.StateUnsolved)
		w.final(second, solve.StateUnsolved)
	})
}
