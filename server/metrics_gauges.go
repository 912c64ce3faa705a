package server

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yudai-dev/yudai/solve"
)

// measuredStore is what numbers are read of.
type measuredStore interface {
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	Commands(ctx context.Context) ([]solve.Command, error)
	// Bytes is the size of the database, and Commits how many transactions this process has made durable.
	Bytes(ctx context.Context) (int64, error)
	Commits() int64
}

// stateMetrics are read when somebody looks.
type stateMetrics struct {
	store        measuredStore
	requestsLeft func() map[int64]int     // by installation
	writesLeft   func() map[int64]float64 // by installation
	descs        map[string]*prometheus.Desc

	mu      sync.Mutex
	read    time.Time // when the store was read
	ofStore []prometheus.Metric
}

// storeAge is how long what was read of the store is shown again: several
// scrapers cost it no more than one.
const storeAge = 3 * time.Second

func newStateMetrics(store measuredStore, requestsLeft func() map[int64]int, writesLeft func() map[int64]float64) *stateMetrics {
	s := &stateMetrics{store: store, requestsLeft: requestsLeft, writesLeft: writesLeft, descs: map[string]*prometheus.Desc{}}
	desc := func(name, help string, labels ...string) {
		s.descs[name] = prometheus.NewDesc("yudai_"+name, help, labels, nil)
	}
	desc("solves", "Live solves by state.", "state")
	desc("runs", "Unfinished runs by state.", "state")
	desc("oldest_waiting_solve_seconds", "Age of the oldest solve that waits for a worker, 0 if none does.")
	desc("oldest_unanswered_ask_seconds", "Age of the oldest command or button that was not answered yet, 0 if there is none.")
	desc("store_bytes", "Size of the database.")
	desc("store_commits_total", "Transactions made durable.")
	desc("github_writes_left", "Visible writes that could be made at once under the hour's budget, by installation.", "installation")
	desc("github_requests_left", "Requests of the hour that GitHub says are left, by installation; app is the App itself.", "installation")
	return s
}

// Describe implements [prometheus.Collector].
func (s *stateMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (s *stateMetrics) Collect(ch chan<- prometheus.Metric) {
	for id, n := range s.writesLeft() {
		ch <- s.metric("github_writes_left", n, strconv.FormatInt(id, 10))
	}
	for id, n := range s.requestsLeft() {
		installation := "app"
		if id != 0 {
			installation = strconv.FormatInt(id, 10)
		}
		ch <- s.metric("github_requests_left", float64(n), installation)
	}
	found, err := s.fromStore()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(s.descs["solves"], err)
	}
	for _, m := range found {
		ch <- m
	}
}

// metric is one value. The names of counters end with _total.
func (s *stateMetrics) metric(name string, value float64, labels ...string) prometheus.Metric {
	kind := prometheus.GaugeValue
	if strings.HasSuffix(name, "_total") {
		kind = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(s.descs[name], kind, value, labels...)
}

// fromStore reads the store, unless it was read a moment ago.
func (s *stateMetrics) fromStore() ([]prometheus.Metric, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.read) < storeAge {
		return s.ofStore, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	states, err := s.countStates(ctx, now)
	if err != nil {
		return nil, err
	}
	commands, err := s.store.Commands(ctx)
	if err != nil {
		return nil, err
	}
	unanswered := 0.0
	if len(commands) > 0 {
		unanswered = age(commands[0].At, now)
	}
	size, err := s.store.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	s.read, s.ofStore = now, append(states,
		s.metric("oldest_unanswered_ask_seconds", unanswered),
		s.metric("store_bytes", float64(size)), s.metric("store_commits_total", float64(s.store.Commits())))
	return s.ofStore, nil
}

// countStates counts the live solves and their runs by state.
func (s *stateMetrics) countStates(ctx context.Context, now time.Time) (out []prometheus.Metric, err error) {
	live, err := s.store.LiveSolves(ctx)
	if err != nil {
		return nil, err
	}
	solves, runs, waits := map[solve.State]int{}, map[solve.RunState]int{}, 0.0
	for _, one := range live {
		solves[one.State]++
		if one.Waiting() {
			waits = max(waits, age(one.Created, now))
		}
		if one.State != solve.StateRunning {
			continue
		}
		ofSolve, err := s.store.Runs(ctx, one.ID)
		if err != nil {
			return nil, err
		}
		for _, r := range ofSolve {
			runs[r.State]++
		}
	}
	for _, state := range solve.States() {
		if !state.Final() {
			out = append(out, s.metric("solves", float64(solves[state]), string(state)))
		}
	}
	for _, state := range solve.RunStates() {
		if !state.Final() {
			out = append(out, s.metric("runs", float64(runs[state]), string(state)))
		}
	}
	return append(out, s.metric("oldest_waiting_solve_seconds", waits)), nil
}

// age is how many seconds ago it was.
func age(t, now time.Time) float64 { return max(0, now.Sub(t).Seconds()) }
