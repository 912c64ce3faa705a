package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

// workload is the physical work of a solve in seconds of one core, by kind. What
// used more than one core at a time counts with its processor time, anything
// else with its wall time: the sum over the cores is a bound that no order of
// the work can beat.
type workload struct{ clone, base, forks, commands, tests float64 }

// spread is the work over the cores.
func (w workload) spread() float64 {
	return (w.clone + w.base + w.forks + w.commands + w.tests) / float64(runtime.NumCPU())
}

func (w workload) String() string {
	return fmt.Sprintf("in seconds of a core: clone %s, tests of the base %s, %d forks %s, commands %s, tests of the candidates %s",
		number(w.clone), number(w.base), 2*experiments, number(w.forks), number(w.commands), number(w.tests))
}

// halved: of the runs of each model, which are equal, half are made and counted twice.
const halved = 2

// physical does with bare Execs what the twelve experiments cannot do without:
// clone, fork, the agents' own commands, the tests. Nothing is stored, harvested,
// compared or reported; what only carries a patch from one sandbox to the other
// is not counted.
func (s sample) physical(ctx context.Context, dir, test string) (w workload, err error) {
	r, err := newRig(ctx, dir)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	repo, err := r.repo("sample", s.files)
	if err != nil {
		return w, err
	}
	tree := filepath.Join(dir, "tree")
	if w.clone, err = timed(func() error { return gitProgram(ctx, dir, "clone", "-q", "file://"+repo.Dir(), tree) }); err != nil {
		return w, err
	}
	d, err := newDriver(filepath.Join(dir, "sandboxes"))
	if err != nil {
		return w, err
	}
	p := physics{d: d, test: test}
	if w.base, err = p.prepare(ctx, tree, r.cfg.Solver.Tests.Tries); err != nil {
		return w, err
	}
	for i := range experiments / halved {
		commands, err := s.commands(sampleModels()[i%len(sampleModels())])
		if err == nil {
			err = p.experiment(ctx, fmt.Sprint("run-", i), commands)
		}
		if err != nil {
			return w, err
		}
	}
	w.forks, w.commands, w.tests = p.forks*halved, p.commands*halved, p.tests*halved
	return w, nil
}

// physics does the work one piece at a time and adds it up.
type physics struct {
	d                      *local.Driver
	test                   string
	forks, commands, tests float64
}

// prepare tests the base and freezes it. One of its tests fails, so it is tested
// as often as that takes.
func (p *physics) prepare(ctx context.Context, tree string, tries int) (float64, error) {
	sb, err := p.d.Open(ctx, sandbox.Spec{Name: "base"})
	if err != nil {
		return 0, err
	}
	if err := putTree(ctx, sb, tree); err != nil {
		return 0, err
	}
	before := childTime()
	sum := 0.0
	for range tries {
		wall, err := p.exec(ctx, sb, p.test, nil)
		if err != nil {
			return 0, err
		}
		sum += wall
	}
	_, err = p.d.Freeze(ctx, sb)
	return max(sum, childTime()-before), err
}

// experiment is one agent's commands in a fork, and the tests in another.
func (p *physics) experiment(ctx context.Context, name string, commands []string) error {
	var patch strings.Builder
	err := p.fork(ctx, name, &p.commands, func(sb sandbox.Sandbox) (counted, aside float64, err error) {
		for _, c := range commands {
			wall, err := p.exec(ctx, sb, c, nil)
			if err != nil {
				return 0, 0, err
			}
			counted += wall
		}
		aside, err = timed(func() error {
			_, err := sb.Exec(ctx, sandbox.Command{Shell: "git add -A && git diff --cached --binary", Stdout: &patch})
			return err
		})
		return counted, aside, err
	})
	if err != nil {
		return err
	}
	return p.fork(ctx, name+"-judge", &p.tests, func(sb sandbox.Sandbox) (counted, aside float64, err error) {
		if aside, err = p.exec(ctx, sb, "git apply", strings.NewReader(patch.String())); err != nil {
			return 0, 0, err
		}
		counted, err = p.exec(ctx, sb, p.test, nil)
		return counted, aside, err
	})
}

// fork opens a fork, closes it, and adds that up, and what do counts in between.
// Processor time is known only when all has ended: the rest of it is taken off.
func (p *physics) fork(ctx context.Context, name string, sum *float64, do func(sandbox.Sandbox) (counted, aside float64, err error)) error {
	var sb sandbox.Sandbox
	before := childTime()
	opened, err := timed(func() (err error) {
		sb, err = p.d.Open(ctx, sandbox.Spec{Name: name, From: "base"})
		return err
	})
	if err != nil {
		return err
	}
	counted, aside, err := do(sb)
	closed, err2 := timed(func() error { return sb.Close(ctx) })
	p.forks += opened + closed
	*sum += max(counted, childTime()-before-opened-closed-aside)
	return errors.Join(err, err2)
}

// exec is the wall time of one command, whatever its exit code.
func (p *physics) exec(ctx context.Context, sb sandbox.Sandbox, command string, stdin *strings.Reader) (float64, error) {
	c := sandbox.Command{Shell: command, Timeout: 10 * time.Minute}
	if stdin != nil {
		c.Stdin = stdin
	}
	return timed(func() error {
		_, res, err := sandbox.Output(ctx, sb, c)
		if err == nil && (res.TimedOut || res.ExitCode > 125) {
			err = fmt.Errorf("`%s` did not run: exit code %d", command, res.ExitCode)
		}
		return err
	})
}

// childTime is the processor time of all processes that have ended so far, in seconds.
func childTime() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
