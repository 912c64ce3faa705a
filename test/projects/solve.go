package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/localsolve"
)

// row is one line of the table.
type row struct {
	project
	tests    tests
	format   string
	champion string
	verdicts map[string]string
	prepared time.Duration // clone, install and the base's tests
	took     time.Duration // the whole command
	left     []string      // what was there when the program had ended
}

// solve makes the repository, runs "yudai solve" on it and compares. The row
// holds what is known, also beside an error.
func (p project) solve(ctx context.Context, o options) (row, error) {
	r := row{project: p}
	if err := os.MkdirAll(o.cache, 0o750); err != nil {
		return r, fmt.Errorf("make the cache: %w", err)
	}
	dir, err := os.MkdirTemp(o.cache, "run-"+p.name+"-*")
	if err != nil {
		return r, fmt.Errorf("make a directory: %w", err)
	}
	if o.keep {
		fmt.Fprintf(o.out, "  %s\n", dir)
	} else {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	w := workplace{project: p, dir: dir}
	if err := w.prepare(ctx, o); err != nil {
		return r, err
	}
	if len(w.private) > 0 {
		fmt.Fprintf(o.out, "  registries have private addresses here, which are allowed: %s\n", strings.Join(w.private, ", "))
	}
	began := time.Now()
	record, log, failed := localsolve.Run(ctx, w.program, dir)
	r.took = time.Since(began)
	if r.left, err = w.left(); err != nil {
		return r, err
	}
	if failed != nil {
		return r, fmt.Errorf("%w\n%s", failed, log)
	}
	r.fill(*record)
	return r, errors.Join(r.check(), w.branch(ctx, record.Solve.Branch))
}

// fill takes what the table shows from the record.
func (r *row) fill(rec solve.Record) {
	base := rec.Solve.Base
	r.tests = tests{base.Report.Passed, base.Report.Failed, base.Report.Skipped}
	r.format, r.prepared = base.Test.Format, base.Duration
	r.verdicts = map[string]string{}
	for _, run := range rec.Runs {
		r.verdicts[run.Experiment.Model] = string(run.State)
		if d := rec.Solve.Decision; d != nil && d.Champion == run.N {
			r.champion = run.Experiment.Model
		}
	}
}

// check says what differs from the definition.
func (r row) check() error {
	var problems []error
	differs := func(what string, got, want any) {
		problems = append(problems, fmt.Errorf("%s: got %v, want %v", what, got, want))
	}
	if r.tests != r.Tests {
		differs("tests on the base", r.tests, r.Tests)
	}
	if r.format != r.Format {
		differs("format", r.format, r.Format)
	}
	if r.champion != r.Champion {
		differs("champion", r.champion, r.Champion)
	}
	if !maps.Equal(r.verdicts, r.Verdicts) {
		differs("verdicts", r.verdicts, r.Verdicts)
	}
	if len(r.left) > 0 {
		problems = append(problems, fmt.Errorf("left behind: %s", strings.Join(r.left, ", ")))
	}
	return errors.Join(problems...)
}

// workplace is the directory of one solve.
type workplace struct {
	project
	dir, program string
	private      []string
}

func (w *workplace) path(name string) string { return filepath.Join(w.dir, name) }

// prepare makes the repository, the files of the definition, and a copy of the
// program whose processes cannot be taken for another's.
func (w *workplace) prepare(ctx context.Context, o options) error {
	if err := w.repository(ctx, o.cache, w.path("repo")); err != nil {
		return err
	}
	for name, data := range map[string][]byte{"issue.md": w.issue, "script.yml": w.script} {
		if err := os.WriteFile(w.path(name), data, 0o600); err != nil {
			return fmt.Errorf("write the definition: %w", err)
		}
	}
	var err error
	if w.private, err = localsolve.Private(ctx, w.path("repo")); err != nil {
		return err
	}
	if err := os.WriteFile(w.path("config.yml"), []byte(localsolve.Config(w.private)), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	w.program = w.path("yudai")
	data, err := os.ReadFile(o.yudai)
	if err != nil {
		return fmt.Errorf("read the program (make build makes it): %w", err)
	}
	return os.WriteFile(w.program, data, 0o755) //nolint:gosec // a program
}

// branch checks that the champion's branch has come.
func (w *workplace) branch(ctx context.Context, name string) error {
	out, err := localsolve.Command(ctx, w.path("repo"), "git", "log", "--format=%s", "main.."+name, "--")
	if err == nil && strings.Count(string(out), "\n") != 1 {
		err = fmt.Errorf("branch %s has %d commits on main, want 1", name, strings.Count(string(out), "\n"))
	}
	return err
}

// left lists what should have gone with the program: sandboxes, mounts, processes.
func (w *workplace) left() ([]string, error) {
	found, err := filepath.Glob(w.path("state/yudai/*/sandboxes"))
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list the mounts: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, w.dir) {
			found = append(found, "mount "+strings.TrimSpace(line))
		}
	}
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, w.dir+"/") {
			found = append(found, "process "+link)
		}
	}
	slices.Sort(found)
	return found, nil
}
