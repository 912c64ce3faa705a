package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// row is one line of the table.
type row struct {
	key           string // for -only, and the anchor of the explanation in docs/evidence/benchmarks.md
	what, against string
	target        string
	measure       func(b *bench, ctx context.Context, dir string) (result, error)
}

// rows are those of the issue, in its order and words.
func rows() []row {
	return []row{
		{"step", "native loop, per step", "a bare `Exec` of the same command", "at most 1.2", (*bench).step},
		{"fork", "16 sandboxes from a prepared base of 5,000 files", "16 fresh clones with checkout", "at least 10 times faster", (*bench).fork},
		{"solve", "12 scripted experiments, label to pull request", "the physical work (clone, forks, commands, tests) spread over the cores", "at most 1.5", (*bench).solve},
		{"share", "the same", "clone, install and base tests repeated in every run", "at least 5 times faster", (*bench).share},
		{"intake", "deliveries stored before the answer, 64 senders", "one commit each", "at least 15 times more a second", (*bench).intake},
		{"crowd", "1,000 running and 10,000 queued runs (fake sandbox)", "100 and 1,000", "cost per run grows at most 1.3 times; memory of the process under 200 MB", (*bench).crowd},
		{"idle", "idle `serve`", "-", "under 40 MB", (*bench).idle},
		{"places", "16 sandboxes from one prepared base, the preparing included, per driver", "16 prepared one by one", "faster", (*bench).forksEverywhere},
		{"exec", "round trip of an `Exec`, per driver", "the raw `docker exec`, the raw HTTP call (25 ms away)", "at most 1.2", (*bench).execEverywhere},
		{"stream", "100 MB of output, 50 MB up and down, per driver", "-", "memory grows by less than 20 MB", (*bench).outputEverywhere},
		{"gateway", "a call, and 200 open streams, through the gateway", "the same upstream without it", "under 2 ms more at the median; under 1 MB for a stream", (*bench).gateway},
		{"start", "start with 100,000 finished solves in the store", "an empty store", "under 1 s more", (*bench).start},
	}
}

// result is what a row measured.
type result struct {
	checks []check
	facts  []string // the absolute figures, for people
}

// check is one figure with its bound.
type check struct {
	values []float64 // one of each repetition
	unit   string    // after the figure: " times", " MB"
	bound  float64
	least  bool // the bound is a lower one
}

// figure is the median and what the repetitions range over.
func (c check) figure() string {
	low, mid, high := spread(c.values)
	if len(c.values) < 2 {
		return number(mid) + c.unit
	}
	return fmt.Sprintf("%s%s (%s to %s)", number(mid), c.unit, number(low), number(high))
}

func (c check) met() bool {
	_, mid, _ := spread(c.values)
	if c.least {
		return mid >= c.bound
	}
	return mid <= c.bound
}

// timed is how long f takes, in seconds.
func timed(f func() error) (float64, error) {
	began := time.Now()
	err := f()
	return time.Since(began).Seconds(), err
}

// pairs measures two things n times in turns, A B B A A B ..., so that what
// changes on the machine meanwhile meets both.
func pairs(ctx context.Context, n int, a, b func() (float64, error)) (as, bs []float64, err error) {
	for i := range n {
		first, second, to := a, b, []*[]float64{&as, &bs}
		if i%2 == 1 {
			first, second, to = b, a, []*[]float64{&bs, &as}
		}
		for j, f := range []func() (float64, error){first, second} {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			v, err := f()
			if err != nil {
				return nil, nil, err
			}
			*to[j] = append(*to[j], v)
		}
	}
	return as, bs, nil
}

// ratios divides pair by pair.
func ratios(over, under []float64) []float64 {
	out := make([]float64, min(len(over), len(under)))
	for i := range out {
		out[i] = over[i] / under[i]
	}
	return out
}

// measure measures the rows one after the other, each in a directory of its own.
func (b *bench) measure(ctx context.Context, chosen []row) (table, error) {
	var t table
	for _, r := range chosen {
		dir := filepath.Join(b.dir, r.key)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return t, err
		}
		fmt.Fprintf(b.notes, "%s: %s\n", r.key, r.what)
		began := time.Now()
		var res result
		err := b.profiled(r.key, func() (err error) {
			res, err = r.measure(b, ctx, dir)
			return err
		})
		if err != nil {
			return t, fmt.Errorf("measure %s: %w", r.key, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return t, err
		}
		took := time.Since(began).Round(time.Second)
		fmt.Fprintf(b.notes, "%s: %s (%s)\n", r.key, figures(res), took)
		t.rows, t.results = append(t.rows, r), append(t.results, res)
	}
	return t, nil
}
