package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// The rows that measure every driver. The stubs of the services stand a fixed
// distance away; what they do with files and processes is this machine's work.

// withDrivers measures something at each driver in turn and joins what it says.
func (b *bench) withDrivers(ctx context.Context, dir string, measure func(ctx context.Context, v driverSetup) (result, error)) (_ result, err error) {
	all, err := startDrivers(ctx, dir, distance)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, closeDrivers(all)) }()
	var whole result
	for _, v := range all {
		r, err := measure(ctx, v)
		if err != nil {
			return whole, fmt.Errorf("%s: %w", v.name, err)
		}
		for _, c := range r.checks {
			c.unit += " (" + v.name + ")"
			whole.checks = append(whole.checks, c)
		}
		for _, f := range r.facts {
			whole.facts = append(whole.facts, v.name+": "+f)
		}
	}
	return whole, nil
}

// prepareOnce lays a tree and does some work in it, as preparing a base does.
func prepareOnce(ctx context.Context, d sandbox.Driver, name, tree string) (sandbox.Sandbox, error) {
	sb, err := d.Open(ctx, sandbox.Spec{Name: name})
	if err != nil {
		return nil, err
	}
	if err := putTree(ctx, sb, tree); err != nil {
		return sb, err
	}
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: "git init -q && git add -A && git -c user.name=x -c user.email=x@example.org commit -q -m all"})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("prepare: exit %d: %s", res.ExitCode, out)
	}
	return sb, err
}

// forksEverywhere opens sixteen sandboxes from one prepared base, the preparing
// included, against sixteen that are prepared one by one.
func (b *bench) forksEverywhere(ctx context.Context, dir string) (result, error) {
	origin := filepath.Join(dir, "origin")
	if err := largeRepo(ctx, origin); err != nil {
		return result{}, err
	}
	for _, part := range append([]string{".git"}, smallTreeExcludes()...) {
		if err := os.RemoveAll(filepath.Join(origin, part)); err != nil {
			return result{}, err
		}
	}
	return b.withDrivers(ctx, dir, func(ctx context.Context, v driverSetup) (result, error) {
		round := 0
		ours, theirs, err := pairs(ctx, b.repeats(1),
			func() (float64, error) { round++; return forkedOnce(ctx, v.driver, fmt.Sprint("base-", round), origin) },
			func() (float64, error) { return preparedEach(ctx, v.driver, origin) })
		return result{
			checks: []check{{values: ratios(theirs, ours), unit: " times faster", bound: 1, least: true}},
			facts:  []string{fmt.Sprintf("prepared once and forked %s, prepared %d times %s", took(median(ours)), forks, took(median(theirs)))},
		}, err
	})
}

// smallTreeExcludes are the parts of the large tree that are left out: a fifth of it is enough
// where every sandbox is prepared from nothing.
func smallTreeExcludes() []string {
	var out []string
	for i := 10; i < 50; i++ {
		out = append(out, fmt.Sprintf("part%02d", i))
	}
	return out
}

func forkedOnce(ctx context.Context, d sandbox.Driver, name, tree string) (s float64, err error) {
	f, ok := d.(sandbox.Forker)
	if !ok {
		return 0, errors.New("the driver cannot fork")
	}
	boxes := make([]sandbox.Sandbox, forks)
	s, err = timed(func() error {
		sb, err := prepareOnce(ctx, d, name, tree)
		if err != nil {
			return err
		}
		if _, err := f.Freeze(ctx, sb); err != nil {
			return err
		}
		return spread16(ctx, func(ctx context.Context, i int) (err error) {
			boxes[i], err = d.Open(ctx, sandbox.Spec{Name: fmt.Sprint(name, "-", i), From: name})
			if err != nil {
				return err
			}
			return reads(ctx, boxes[i])
		})
	})
	return s, errors.Join(err, closeAll(ctx, boxes), f.Thaw(ctx, name))
}

func preparedEach(ctx context.Context, d sandbox.Driver, tree string) (float64, error) {
	boxes := make([]sandbox.Sandbox, forks)
	s, err := timed(func() error {
		for i := range boxes {
			var err error
			if boxes[i], err = prepareOnce(ctx, d, fmt.Sprint("own-", i), tree); err != nil {
				return err
			}
			if err := reads(ctx, boxes[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return s, errors.Join(err, closeAll(ctx, boxes))
}

func reads(ctx context.Context, sb sandbox.Sandbox) error {
	out, _, err := sandbox.Output(ctx, sb, sandbox.Command{Argv: []string{"cat", "part07/file0007.txt"}})
	if err == nil && len(out) < fileBytes/2 {
		err = fmt.Errorf("the sandbox has not the base's files: %q", out)
	}
	return err
}

func closeAll(ctx context.Context, boxes []sandbox.Sandbox) (err error) {
	for _, sb := range boxes {
		if sb != nil {
			err = errors.Join(err, sb.Close(ctx))
		}
	}
	return err
}

// execEverywhere is the round trip of a command that does nothing, against the
// provider's own call for the same.
func (b *bench) execEverywhere(ctx context.Context, dir string) (result, error) {
	return b.withDrivers(ctx, dir, func(ctx context.Context, v driverSetup) (result, error) {
		if v.raw == nil {
			return result{}, nil
		}
		sb, err := v.driver.Open(ctx, sandbox.Spec{Name: "exec"})
		if err != nil {
			return result{}, err
		}
		defer sb.Close(ctx) //nolint:errcheck // swept in the end
		ours, theirs, err := pairs(ctx, b.repeats(40),
			func() (float64, error) {
				return timed(func() error {
					var out bytes.Buffer
					_, err := sb.Exec(ctx, sandbox.Command{Shell: "true", Stdout: &out, Stderr: &out})
					return err
				})
			},
			func() (float64, error) { return timed(func() error { return v.raw(ctx, sb) }) })
		return result{
			checks: []check{{values: []float64{median(ratios(ours, theirs))}, unit: " times", bound: 1.2}},
			facts:  []string{fmt.Sprintf("an `Exec` %s, the raw call %s", took(median(ours)), took(median(theirs)))},
		}, err
	})
}

const (
	streamBytes = 100 << 20
	movedBytes  = 50 << 20
)

// outputEverywhere reads 100 MB of output and moves 50 MB up and down, and looks
// at what this process grows by meanwhile.
func (b *bench) outputEverywhere(ctx context.Context, dir string) (result, error) {
	return b.withDrivers(ctx, dir, func(ctx context.Context, v driverSetup) (result, error) {
		sb, err := v.driver.Open(ctx, sandbox.Spec{Name: "output"})
		if err != nil {
			return result{}, err
		}
		defer sb.Close(ctx) //nolint:errcheck // swept in the end
		steps := []struct {
			what string
			do   func() (int64, error)
		}{
			{"output", func() (int64, error) { return readOutput(ctx, sb) }},
			{"up", func() (int64, error) {
				return movedBytes, sb.Put(ctx, "/tmp/up", io.LimitReader(zeros{}, movedBytes), 0o644)
			}},
			{"down", func() (int64, error) { return download(ctx, sb, "/tmp/up") }},
		}
		var r result
		var grown []float64
		var facts []string
		for _, s := range steps {
			var n int64
			var spent float64
			more, err := growth(func() (err error) {
				spent, err = timed(func() (err error) { n, err = s.do(); return err })
				return err
			})
			if err != nil {
				return r, fmt.Errorf("%s: %w", s.what, err)
			}
			grown = append(grown, more)
			facts = append(facts, fmt.Sprintf("%d MB %s %s, %s MB more", n>>20, s.what, took(spent), number(more)))
		}
		_, _, most := spread(grown)
		r.checks = []check{{values: []float64{most}, unit: " MB", bound: 20}}
		r.facts = []string{strings.Join(facts, ", ")}
		return r, nil
	})
}

// counter counts what is written to it.
type counter struct{ n atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

func readOutput(ctx context.Context, sb sandbox.Sandbox) (int64, error) {
	var out counter
	res, err := sb.Exec(ctx, sandbox.Command{Shell: fmt.Sprintf("head -c %d /dev/zero", streamBytes), Stdout: &out, MaxOutput: 2 * streamBytes})
	if err == nil && (res.Truncated || out.n.Load() != streamBytes) {
		err = fmt.Errorf("%d bytes arrived: %+v", out.n.Load(), res)
	}
	return out.n.Load(), err
}

func download(ctx context.Context, sb sandbox.Sandbox, path string) (int64, error) {
	r, err := sb.Get(ctx, path)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, r)
	if err == nil && n != movedBytes {
		err = fmt.Errorf("%d bytes arrived", n)
	}
	return n, errors.Join(err, r.Close())
}

// zeros is an endless input.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// growth is by how many MB this process's resident memory grows at most while do runs.
func growth(do func() error) (float64, error) {
	before, err := resident()
	if err != nil {
		return 0, err
	}
	most := before
	done := make(chan error, 1)
	go func() { done <- do() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return float64(most-before) / (1 << 20), err
		case <-tick.C:
			if now, err := resident(); err == nil {
				most = max(most, now)
			}
		}
	}
}

// resident is the size of this process, in bytes.
func resident() (int64, error) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, errors.New("read /proc/self/statm: too short")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
