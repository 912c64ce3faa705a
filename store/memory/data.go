package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// data is everything the store holds. Values in the maps are never changed in
// place, so that a copy of the maps is a copy of the data.
type data struct {
	solves      map[solve.ID]solve.Solve
	runs        map[runKey]solve.Run
	events      map[solve.ID][]solve.Entry
	effects     map[string]effect
	asks        map[string]solve.Command
	deliveries  map[string]solve.Delivery
	latest      map[issueKey]solve.ID // newest solve of an issue
	nodes       map[string]time.Time  // end of the lease; zero once it was left
	transcripts map[attemptKey]string
	artifacts   map[fileKey]string
	fates       map[solve.ID]solve.Fate
	tracks      map[int64]solve.TrackRecord // by repository
	healed      time.Time
	order       uint64 // of the effect wanted last
	changed     bool
}

type (
	runKey struct {
		id solve.ID
		n  int
	}
	issueKey struct {
		repo  int64
		issue int
	}
	attemptKey struct {
		runKey
		attempt int
	}
	fileKey struct {
		id   solve.ID
		name string
	}
	// effect has the order in which effects came to be wanted: their age.
	effect struct {
		solve.Effect
		order uint64
	}
)

func newData() *data {
	return &data{
		solves: map[solve.ID]solve.Solve{}, runs: map[runKey]solve.Run{}, events: map[solve.ID][]solve.Entry{},
		effects: map[string]effect{}, asks: map[string]solve.Command{}, deliveries: map[string]solve.Delivery{},
		latest: map[issueKey]solve.ID{}, nodes: map[string]time.Time{},
		transcripts: map[attemptKey]string{}, artifacts: map[fileKey]string{},
		fates: map[solve.ID]solve.Fate{}, tracks: map[int64]solve.TrackRecord{},
	}
}

func (d *data) copy() *data {
	c := *d
	c.solves, c.runs, c.events = maps.Clone(d.solves), maps.Clone(d.runs), maps.Clone(d.events)
	c.effects, c.asks, c.deliveries = maps.Clone(d.effects), maps.Clone(d.asks), maps.Clone(d.deliveries)
	c.latest, c.nodes = maps.Clone(d.latest), maps.Clone(d.nodes)
	c.transcripts, c.artifacts = maps.Clone(d.transcripts), maps.Clone(d.artifacts)
	c.fates, c.tracks = maps.Clone(d.fates), maps.Clone(d.tracks)
	return &c
}

// set puts a value into one of the maps.
func set[K comparable, V any](d *data, m map[K]V, k K, v V) {
	m[k] = v
	d.changed = true
}

// private is a copy of a solve or a run that shares nothing with the original (other
// nouns hold no pointers: every copy of theirs is private). It is made as a
// record is stored anywhere else: written and read back.
func private[T any](v T) T {
	text, err := json.Marshal(v)
	var out T
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("copy a %T: %v", v, err)) // a noun that cannot be stored: a broken program
	}
	return out
}

func (d *data) solve(id solve.ID) (solve.Solve, error) {
	s, known := d.solves[id]
	if !known {
		return s, fmt.Errorf("solve %q: %w", id, solve.ErrNotFound)
	}
	return private(s), nil
}

func (d *data) run(id solve.ID, n int) (solve.Run, error) {
	r, known := d.runs[runKey{id, n}]
	if !known {
		return r, fmt.Errorf("run %d of solve %q: %w", n, id, solve.ErrNotFound)
	}
	return private(r), nil
}

// putRun stores a private copy.
func (d *data) putRun(r solve.Run) { set(d, d.runs, runKey{r.Solve, r.N}, private(r)) }

// runsWhere returns the runs that fit, by solve and number.
func (d *data) runsWhere(fits func(solve.Run) bool) []solve.Run {
	var out []solve.Run
	for _, r := range d.runs {
		if fits(r) {
			out = append(out, private(r))
		}
	}
	slices.SortFunc(out, func(a, b solve.Run) int {
		return cmp.Or(cmp.Compare(a.Solve, b.Solve), cmp.Compare(a.N, b.N))
	})
	return out
}

func (d *data) runsOf(id solve.ID) []solve.Run {
	return d.runsWhere(func(r solve.Run) bool { return r.Solve == id })
}

// live are the solves in no final state, oldest first.
func (d *data) live() []solve.Solve {
	var out []solve.Solve
	for _, s := range d.solves {
		if !s.State.Final() {
			out = append(out, private(s))
		}
	}
	slices.SortFunc(out, func(a, b solve.Solve) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}
