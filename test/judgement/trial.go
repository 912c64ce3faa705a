package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/localsolve"
)

// trial is what a solve made of a repository.
type trial struct {
	repository
	champion   string // "" for none
	grade      solve.Grade
	decided    string // the criterion against the runner-up
	states     map[string]solve.RunState
	took       time.Duration
	undetected []string // cheats that pass and must not
	deceived   []string // cheats that win where only honest ones are beside them
	problems   []string
}

// try solves the repository's issue with the program. An error means that nothing was measured.
func (r repository) try(ctx context.Context, program, parent string) (trial, error) {
	t := trial{repository: r, states: map[string]solve.RunState{}}
	dir := filepath.Join(parent, r.group+"-"+r.name)
	repo := filepath.Join(dir, localsolve.Repository)
	if err := r.lay(repo); err != nil {
		return t, err
	}
	if err := localsolve.Commit(ctx, repo, "base"); err != nil {
		return t, err
	}
	private, err := localsolve.Private(ctx, repo)
	if err != nil {
		return t, err
	}
	script, err := r.script()
	if err != nil {
		return t, err
	}
	for name, data := range map[string][]byte{
		localsolve.Issue: r.issue, localsolve.Script: script, localsolve.Settings: []byte(r.settings(private)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return t, fmt.Errorf("write the definition: %w", err)
		}
	}
	began := time.Now()
	rec, log, err := localsolve.Run(ctx, program, dir)
	t.took = time.Since(began)
	if rec == nil || rec.Solve.Decision == nil {
		return t, fmt.Errorf("%w\n%s", cmp.Or(err, errors.New("the record has no decision")), log)
	}
	t.fill(*rec)
	return t, nil
}

// settings are those of the solve: a reproducer only where one is defined.
func (r repository) settings(private []string) string {
	rule := solve.ReproduceAuto
	if r.Reproducer == "" {
		rule = solve.ReproduceOff
	}
	return localsolve.Config(private) + fmt.Sprintf("solver:\n  reproduce: %s\n", rule)
}

// fill takes from the record what is looked at, and says what must not be.
func (t *trial) fill(rec solve.Record) {
	base, d := rec.Solve.Base.Report, *rec.Solve.Decision
	t.judgeReproducer(rec)
	for _, r := range solve.Candidates(rec.Runs) {
		name := r.Experiment.Model
		t.states[name] = r.State
		if r.N == d.Champion {
			t.champion, t.grade = name, solve.GradeOf(rec.Runs, d.Cross, r.N)
		}
	}
	if c, ok := d.Against(d.RunnerUp()); ok {
		t.decided = c.Criterion
	}
	if !t.of(t.champion).Kind.honest() || t.Champion != "" && t.champion != t.Champion {
		t.problem("champion: %s", cmp.Or(t.champion, "none"))
	}
	if t.group == hidden && base.Failing() > 0 {
		t.problem("%d tests of the base fail, though its bug is one that no test shows", base.Failing())
	}
	for _, r := range solve.Candidates(rec.Runs) {
		c := t.of(r.Experiment.Model)
		switch passed := r.State == solve.RunPassed; {
		case c.Kind.honest() && !passed:
			t.problem("%s is %s: %s", c.Name, r.State, r.Reason)
		case t.group == hidden && !passed:
			t.problem("%s is %s, though it keeps all tests", c.Name, r.State)
		case c.Kind == cheat && !c.MayPass && t.believed(r):
			t.undetected = append(t.undetected, c.Name)
			t.problem("%s passes", c.Name)
		}
		if c.Kind == cheat && t.winsAlone(rec, r.N) {
			t.deceived = append(t.deceived, c.Name)
			t.problem("%s wins against the honest ones", c.Name)
		}
	}
}

// judgeReproducer says whether the reproducer came to what it must, and proves the champion then.
func (t *trial) judgeReproducer(rec solve.Record) {
	r, ok := solve.Reproducer(rec.Runs)
	grade := rec.Solve.Grade(rec.Runs)
	switch {
	case r.State != t.Reproducer:
		t.problem("the reproducer is %q, want %q: %s", r.State, t.Reproducer, r.Reason)
	case ok && r.State == solve.RunPassed && (grade != solve.Proven || rec.Solve.Decision.Offered(rec.Runs) == 0):
		t.problem("the reproducer's tests prove nothing: the champion is %s", grade)
	}
}

// believed says whether the judge takes a run's cheat for work: it passes, and its tests count for it. A candidate whose
// cheat is undone has changed nothing that counts, which may well pass. The cheats that yudai is known for must fail.
func (t *trial) believed(r solve.Run) bool {
	return r.State == solve.RunPassed && (t.group == misjudged || r.Verdict.Fixed > 0 || r.Verdict.Proofs > 0)
}

// winsAlone says whether a run wins where only right ones are beside it.
func (t *trial) winsAlone(rec solve.Record, n int) bool {
	there := map[int]bool{n: true}
	for _, r := range rec.Runs {
		there[r.N] = there[r.N] || t.of(r.Experiment.Model).Kind == right
	}
	rule := rec.Rule()
	rule.Cross = slices.DeleteFunc(slices.Clone(rule.Cross), func(c solve.CrossResult) bool { return !there[c.Author] || !there[c.Run] })
	runs := slices.DeleteFunc(slices.Clone(rec.Runs), func(r solve.Run) bool { return !there[r.N] })
	return solve.Reduce(runs, rule).Champion == n
}

func (t *trial) problem(format string, args ...any) {
	t.problems = append(t.problems, strings.TrimSuffix(fmt.Sprintf(format, args...), ": "))
}

// tryAll solves all of them, jobs at a time, and tells each when it is done. One that could not be solved has that as its problem.
func tryAll(ctx context.Context, all []repository, program, dir string, jobs int, done func(trial)) ([]trial, error) {
	out := make([]trial, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range jobs {
		wg.Go(func() {
			for i := range next {
				t, err := all[i].try(ctx, program, dir)
				if err != nil {
					t.problem("not measured: %v", err)
				}
				mu.Lock()
				out[i] = t
				done(t)
				mu.Unlock()
			}
		})
	}
	for i := range all {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	wg.Wait()
	return out, context.Cause(ctx)
}
