package server

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yudai-dev/yudai/solve"
)

// censusAge is how long what was read of the store is shown again: several
// scrapers cost it no more than one.
const censusAge = 3 * time.Second

// stateSource is what [stateMetrics] reads of the store.
type stateSource interface {
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	Commands(ctx context.Context) ([]solve.Command, error)
	Bytes() (int64, error)
	Commits() int64
}

// requestLimits tells how many requests each installation has left.
type requestLimits interface {
	RequestsLeft() map[int64]int
}

// writeLimits tells how many writes each installation has left.
type writeLimits interface {
	WritesLeft() map[int64]float64
}

// stateMetrics are read when somebody looks.
type stateMetrics struct {
	store  stateSource
	app    requestLimits
	writer writeLimits

	mu     sync.Mutex
	census census
}

// census is how many stand where.
type census struct {
	at           time.Time
	solves       map[solve.State]int
	runs         map[solve.RunState]int
	oldestSolve  time.Time // that waits
	oldestAsk    time.Time
	storeBytes   int64
	storeCommits int64
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("yudai_"+name, help, labels, nil)
}

// stateDescs names the metrics that are read, in one place.
type stateDescs struct {
	solves, runs, oldestSolve, oldestAsk, bytes, commits, writesLeft, requestsLeft *prometheus.Desc
}

func newStateDescs() stateDescs {
	return stateDescs{
		solves:       desc("solves", "Live solves by state.", "state"),
		runs:         desc("runs", "Unfinished runs by state.", "state"),
		oldestSolve:  desc("oldest_waiting_solve_seconds", "Age of the oldest solve that waits for a worker, 0 if none does."),
		oldestAsk:    desc("oldest_unanswered_ask_seconds", "Age of the oldest command or button that was not answered yet, 0 if there is none."),
		bytes:        desc("store_bytes", "Size of the database's file."),
		commits:      desc("store_commits_total", "Transactions made durable."),
		writesLeft:   desc("github_writes_left", "Visible writes that could be made at once under the hour's budget, by installation.", "installation"),
		requestsLeft: desc("github_requests_left", "Requests of the hour that GitHub says are left, by installation; app is the App itself.", "installation"),
	}
}

// Describe implements [prometheus.Collector].
func (s *stateMetrics) Describe(ch chan<- *prometheus.Desc) {
	d := newStateDescs()
	for _, one := range []*prometheus.Desc{d.solves, d.runs, d.oldestSolve, d.oldestAsk, d.bytes, d.commits, d.writesLeft, d.requestsLeft} {
		ch <- one
	}
}

// Collect implements [prometheus.Collector].
func (s *stateMetrics) Collect(ch chan<- prometheus.Metric) {
	d, now := newStateDescs(), time.Now()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for id, n := range s.writer.WritesLeft() {
		gauge(d.writesLeft, n, strconv.FormatInt(id, 10))
	}
	for id, n := range s.app.RequestsLeft() {
		name := strconv.FormatInt(id, 10)
		if id == 0 {
			name = "app"
		}
		gauge(d.requestsLeft, float64(n), name)
	}
	c, err := s.count(now)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(d.solves, err)
		return
	}
	for _, state := range solve.States() {
		if !state.Final() {
			gauge(d.solves, float64(c.solves[state]), string(state))
		}
	}
	for _, state := range solve.RunStates() {
		if !state.Final() {
			gauge(d.runs, float64(c.runs[state]), string(state))
		}
	}
	gauge(d.oldestSolve, age(c.oldestSolve, now))
	gauge(d.oldestAsk, age(c.oldestAsk, now))
	gauge(d.bytes, float64(c.storeBytes))
	ch <- prometheus.MustNewConstMetric(d.commits, prometheus.CounterValue, float64(c.storeCommits))
}

// age is how long ago it was, 0 if it never was.
func age(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Seconds())
}

// count reads the store, unless it was read a moment ago.
func (s *stateMetrics) count(now time.Time) (census, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.census.at) < censusAge {
		return s.census, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := s.read(ctx)
	if err != nil {
		return census{}, err
	}
	c.at = now
	s.census = c
	return c, nil
}

func (s *stateMetrics) read(ctx context.Context) (census, error) {
	c := census{solves: map[solve.State]int{}, runs: map[solve.RunState]int{}, storeCommits: s.store.Commits()}
	live, err := s.store.LiveSolves(ctx)
	if err != nil {
		return c, err
	}
	for _, one := range live { // the oldest is first
		c.solves[one.State]++
		if one.Waiting() && c.oldestSolve.IsZero() {
			c.oldestSolve = one.Created
		}
		if one.State != solve.StateRunning {
			continue
		}
		runs, err := s.store.Runs(ctx, one.ID)
		if err != nil {
			return c, err
		}
		for _, r := range runs {
			c.runs[r.State]++
		}
	}
	asks, err := s.store.Commands(ctx)
	if err != nil {
		return c, err
	}
	if len(asks) > 0 {
		c.oldestAsk = asks[0].At
	}
	c.storeBytes, err = s.store.Bytes()
	return c, err
}
