package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// crowdSize is what one process has to carry.
type crowdSize struct {
	Dir     string `json:"dir"`
	Running int    `json:"running"`
	Queued  int    `json:"queued"`
	Counted int    `json:"counted"` // runs whose cost is measured, once as many as run have ended
	Profile string `json:"profile,omitempty"`
}

// crowdCost is what it says at its end.
type crowdCost struct {
	CPU     float64 `json:"cpu"`     // seconds of processor time for each counted run
	Wall    float64 `json:"wall"`    // seconds for each counted run
	Memory  float64 `json:"memory"`  // MB, the most the process ever had
	Running int     `json:"running"` // the most sandboxes that were open at one time
}

// countedRuns are enough for a steady figure in both sizes.
const countedRuns = 1000

// crowd runs the engine with a fake sandbox in a process of its own: the real
// store, the real loop and judge, scripted models. A run's cost is the
// processor time of the whole process, from admission to end, in the middle of
// the crowd.
func (b *bench) crowd(ctx context.Context, dir string) (result, error) {
	n, memory := 0, []float64{}
	var last crowdCost
	once := func(running, queued int) func() (float64, error) {
		return func() (float64, error) {
			n++
			c, err := b.crowdOnce(ctx, crowdSize{Dir: filepath.Join(dir, fmt.Sprint(n)), Running: running, Queued: queued, Counted: countedRuns})
			if err == nil && c.Running < running {
				err = fmt.Errorf("only %d of %d ran at a time", c.Running, running)
			}
			if running == 1000 {
				memory, last = append(memory, c.Memory), c
			}
			return c.CPU, err
		}
	}
	large, small, err := pairs(ctx, b.repeats(3), once(1000, 10_000), once(100, 1000))
	return result{
		checks: []check{
			{values: ratios(large, small), unit: " times", bound: 1.3},
			{values: memory, unit: " MB", bound: 200},
		},
		facts: []string{fmt.Sprintf("processor time of a run %s among 1,000 running and 10,000 queued, %s among 100 and 1,000; %s runs a second ended",
			took(median(large)), took(median(small)), number(1/last.Wall))},
	}, err
}

// crowdOnce starts this program again as the process of the row.
func (b *bench) crowdOnce(ctx context.Context, size crowdSize) (crowdCost, error) {
	var cost crowdCost
	self, err := os.Executable()
	if err != nil {
		return cost, err
	}
	if b.profile != "" {
		size.Profile = filepath.Join(b.profile, fmt.Sprintf("crowd-%d.cpu", size.Running))
	}
	data, err := json.Marshal(size)
	if err != nil {
		return cost, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", string(data))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return cost, fmt.Errorf("process of %d runs: %w: %s", size.Running, err, said.String())
	}
	if size.Profile != "" {
		if err := b.top(size.Profile); err != nil {
			return cost, err
		}
	}
	return cost, errors.Join(json.Unmarshal(out, &cost), os.RemoveAll(size.Dir))
}

// crowdChild is that process.
func crowdChild(ctx context.Context, text string, out io.Writer) error {
	var size crowdSize
	if err := json.Unmarshal([]byte(text), &size); err != nil {
		return err
	}
	stop := func() error { return nil }
	if size.Profile != "" {
		var err error
		if stop, err = startProfile(size.Profile); err != nil {
			return err
		}
	}
	cost, err := newCrowd(size).play(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(cost)
}

// many does something n times, by enough goroutines that commits are shared.
func many(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	const parts = 128
	group, ctx := errgroup.WithContext(ctx)
	for part := range parts {
		group.Go(func() error {
			for i := part; i < n; i += parts {
				if err := do(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
