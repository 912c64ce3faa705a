package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/solve"
)

// stepCommand is what the agent does in every step: it reads. Its cost is the
// sandbox's alone, so what the loop adds shows in full.
const stepCommand = "cat calc.sh"

// steps of one run.
const steps = 60

// step runs a whole solve with one model that reads again and again, and takes
// the time the store has for the agent's work: model call, command, observation,
// the look at the tree, and the step on the disk, twice. Against it: as many
// bare Execs of the command, in a fork like the agent's.
func (b *bench) step(ctx context.Context, dir string) (result, error) {
	d, err := newDriver(filepath.Join(dir, "bare"))
	if err != nil {
		return result{}, err
	}
	base, err := calcBase(ctx, d)
	if err != nil {
		return result{}, err
	}
	n := 0
	loop := func() (float64, error) {
		n++
		return loopStep(ctx, filepath.Join(dir, fmt.Sprint("loop", n)))
	}
	bare := func() (float64, error) { return bareStep(ctx, d, base) }
	ours, theirs, err := pairs(ctx, b.repeats(5), loop, bare)
	return result{
		checks: []check{{values: ratios(ours, theirs), unit: " times", bound: 1.2}},
		facts: []string{fmt.Sprintf("a step of the loop %s, a bare `Exec` of `%s` %s; %d steps each",
			took(median(ours)), stepCommand, took(median(theirs)), steps)},
	}, err
}

// took writes a time in the unit that fits it.
func took(seconds float64) string {
	if seconds < 1 {
		return number(seconds*1000) + " ms"
	}
	return number(seconds) + " s"
}

// calc is a repository whose tests take no time.
func calc() map[string]string {
	return map[string]string{
		"calc.sh": "case \"$1\" in\nadd) echo $(($2 + $3)) ;;\nesac\n",
		"test.sh": "test \"$(sh calc.sh add 2 3)\" = 5\n",
	}
}

func newDriver(dir string) (*local.Driver, error) {
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited = dir, true
	return local.New(c, zerolog.Nop())
}

// calcBase is a frozen base with the repository of calc.
func calcBase(ctx context.Context, d *local.Driver) (string, error) {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "base"})
	if err != nil {
		return "", err
	}
	for name, text := range calc() {
		if err := sb.Put(ctx, sandbox.RepoDir+"/"+name, strings.NewReader(text), 0o644); err != nil {
			return "", err
		}
	}
	return d.Freeze(ctx, sb)
}

// bareStep is the time of one Exec in a fork, in seconds.
func bareStep(ctx context.Context, d *local.Driver, base string) (float64, error) {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "bare", From: base})
	if err != nil {
		return 0, err
	}
	s, err := timed(func() error {
		for range steps {
			_, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: stepCommand})
			if err == nil && res.ExitCode != 0 {
				err = fmt.Errorf("exit code %d", res.ExitCode)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return s / steps, errors.Join(err, sb.Close(ctx))
}

// loopStep is the agent's time of one step in a solve, in seconds.
func loopStep(ctx context.Context, dir string) (seconds float64, err error) {
	r, err := newRig(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	repo, err := r.repo("calc", calc())
	if err != nil {
		return 0, err
	}
	script := "plays:\n  - match: {model: reader}\n    steps:\n" + strings.Repeat("      - run: "+stepCommand+"\n", steps)
	if err := r.script(script, "reader"); err != nil {
		return 0, err
	}
	r.cfg.Solver.Tests.Command, r.cfg.Solver.Limits.RunSteps = "sh test.sh", steps
	if err := r.serve(ctx); err != nil {
		return 0, err
	}
	v, err := r.ended(ctx, repo, "Read", "Read it.")
	if err != nil {
		return 0, err
	}
	if run := v.Runs[0]; run.State != solve.RunEmpty || run.Progress.Steps != steps {
		return 0, fmt.Errorf("the run is %s after %d steps: %s", run.State, run.Progress.Steps, run.Reason)
	}
	return v.Runs[0].AgentTime.Seconds() / steps, nil
}

// ended labels an issue and waits until its solve has ended.
func (r *rig) ended(ctx context.Context, repo githubsim.Repo, title, body string) (report.View, error) {
	hints := r.srv.Watch(ctx)
	issue, err := r.label(repo, title, body)
	if err != nil {
		return report.View{}, err
	}
	late := time.NewTimer(20 * time.Minute)
	defer late.Stop()
	for {
		v, err := r.srv.Latest(ctx, repo.ID, issue)
		switch {
		case err == nil && v.Solve.State.Final() && len(v.Runs) == 0:
			return v, fmt.Errorf("the solve is %s: %s", v.Solve.State, v.Solve.Reason)
		case err == nil && v.Solve.State.Final():
			return v, nil
		case err != nil && !errors.Is(err, solve.ErrNotFound):
			return v, err
		}
		select {
		case <-hints:
		case <-late.C:
			return v, fmt.Errorf("the solve is still %s", v.Solve.State)
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	}
}
