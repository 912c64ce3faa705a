package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/test/checker"
)

// campaign is many episodes and their sum.
type campaign struct {
	options
	dir     string
	program string
	out     io.Writer
	errs    io.Writer
	began   time.Time

	mu                           sync.Mutex
	done, missed                 int
	lost, doubled, leaked, twice int
}

// build makes the program with failpoints, unless one was named.
func (c *campaign) build(ctx context.Context) error {
	if c.binary != "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "failpoints", "-o", c.program, ".")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program (in the directory of the module): %w: %s", err, text)
	}
	return nil
}

// close removes what is not needed any more.
func (c *campaign) close() {
	if c.binary == "" {
		_ = os.Remove(c.program)
	}
	_ = os.Remove(filepath.Join(c.dir, "failed"))
	_ = os.Remove(c.dir) // stays where failures are kept
}

// record plays every scene undisturbed, and once more with a crash midway, and
// returns what was hit.
func (c *campaign) record(ctx context.Context) ([]recording, error) {
	out := make([]recording, 2*len(scenes()))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.parallel)
	for i, scene := range scenes() {
		for j, again := range []bool{false, true} {
			group.Go(func() (err error) {
				out[2*i+j], err = c.recordOne(ctx, scene, again)
				return err
			})
		}
	}
	return out, group.Wait()
}

func (c *campaign) recordOne(ctx context.Context, scene string, again bool) (recording, error) {
	p := point{scene: scene, restart: again}
	r := recording{scene: scene, restart: again, hits: map[string]int{}}
	dir := filepath.Join(c.dir, fmt.Sprintf("record-%s-%t", scene, again))
	w, err := newWorld(dir, usualPacing())
	if err != nil {
		return r, err
	}
	defer w.close()
	e := newEpisode(w, p, c.seed, c.program, "")
	e.hits, e.downtime, e.second = filepath.Join(dir, "hits"), false, 0
	began := time.Now()
	if err := e.run(ctx); err != nil {
		return r, fmt.Errorf("record %s: %w", scene, err)
	}
	r.took = time.Since(began)
	report, err := e.verdict(ctx)
	if err != nil {
		return r, fmt.Errorf("record %s: %w", scene, err)
	}
	if !report.OK() {
		e.keepLog()
		return r, fmt.Errorf("record %s: without any crash: %s (kept in %s)", p, report, dir)
	}
	f, err := os.Open(e.hits)
	if err != nil {
		return r, fmt.Errorf("record %s: %w", scene, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), "@")
		r.hits[name]++
	}
	return r, errors.Join(lines.Err(), os.RemoveAll(dir))
}

// play runs the points and prints the sum. failed says that something went wrong.
func (c *campaign) play(ctx context.Context, points []point) (failed bool, err error) {
	stop := c.progress(len(points))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(c.parallel)
	for i, p := range points {
		group.Go(func() error {
			report, reached, err := c.one(gctx, p, filepath.Join(c.dir, fmt.Sprintf("%04d", i)), c.pacing(p))
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			c.count(p, report, reached)
			return nil
		})
	}
	err = group.Wait()
	stop()
	if err != nil {
		return true, err
	}
	if c.missed > 0 {
		fmt.Fprintf(c.errs, "%d points were not reached: the run took another way\n", c.missed)
	}
	fmt.Fprintf(c.errs, "%.1f s a point\n", time.Since(c.began).Seconds()/float64(max(c.done, 1)))
	fmt.Fprintf(c.out, "%d points: %d lost, %d doubled, %d leaked, %d paid twice\n", c.done, c.lost, c.doubled, c.leaked, c.twice)
	return c.lost+c.doubled+c.leaked+c.twice > 0, nil
}

// pacing is the one that a point needs, or a mutation's.
func (c *campaign) pacing(p point) pacing {
	if t, ok := traps()[failpoint.Mutation(c.mutation)]; ok {
		return t.pacing()
	}
	return paceOf(p)
}

// one plays one point in a world of its own. The directory stays if something went wrong.
func (c *campaign) one(ctx context.Context, p point, dir string, pace pacing) (checker.Report, bool, error) {
	w, err := newWorld(dir, pace)
	if err != nil {
		return checker.Report{}, false, err
	}
	defer w.close()
	e := newEpisode(w, p, c.seed, c.program, c.mutation)
	if err := e.run(ctx); err != nil && ctx.Err() != nil {
		return checker.Report{}, false, err
	} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		e.wrong("%v", err)
	}
	report, err := e.verdict(ctx)
	if err != nil {
		return report, e.reached, err
	}
	if report.OK() && !c.keepAll {
		return report, e.reached, os.RemoveAll(dir)
	}
	e.keepLog()
	kept := filepath.Join(c.keep, filepath.Base(dir))
	if err := errors.Join(os.MkdirAll(c.keep, 0o700), os.RemoveAll(kept), os.Rename(dir, kept)); err != nil {
		return report, e.reached, fmt.Errorf("keep the failed point: %w", err)
	}
	return report, e.reached, nil
}

// count adds a report, and prints one that is not good.
func (c *campaign) count(p point, r checker.Report, reached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if !reached && p.spec.Action != failpoint.Stall {
		c.missed++
	}
	for total, list := range map[*int][]string{&c.lost: r.Lost, &c.doubled: r.Doubled, &c.leaked: r.Leaked, &c.twice: r.Paid} {
		*total += len(list)
	}
	if !r.OK() {
		text := strings.ReplaceAll(r.String(), "\n", " ")
		fault := ""
		if c.mutation != "" {
			fault = " -mutation " + c.mutation
		}
		fmt.Fprintf(c.out, "go run ./test/kill -seed %d%s -only '%s'  # %s\n", c.seed, fault, p, text)
	}
}

// progress prints how far the campaign is, every ten seconds.
func (c *campaign) progress(all int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var printer sync.WaitGroup
	printer.Go(func() {
		for pause(ctx, 10*time.Second) {
			c.mu.Lock()
			fmt.Fprintf(c.errs, "%s: %d of %d points, %d lost, %d doubled, %d leaked, %d paid twice\n",
				time.Since(c.began).Round(time.Second), c.done, all, c.lost, c.doubled, c.leaked, c.twice)
			c.mu.Unlock()
		}
	})
	return func() {
		cancel()
		printer.Wait()
	}
}
