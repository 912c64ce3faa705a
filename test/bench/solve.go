package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/model/scripted"
)

// sampleDir holds the demo's sample: a small Go module with a bug, whose first
// test run compiles the standard library and whose next ones compile the module.
const sampleDir = "cmd/sample"

// sampleModels are three of the demo's models; four runs of each make the twelve
// experiments. Their agents run the tests once, twice, and never; the first is
// the mean of them all.
func sampleModels() []string { return []string{"sprawling", "careful", "hasty"} }

const experiments = 12

// sample is a repository, an issue and a script.
type sample struct {
	files       map[string]string
	title, body string
	script      string
}

func loadSample() (sample, error) {
	var s sample
	archive, err := txtar.ParseFile(filepath.Join(sampleDir, "repo.txtar"))
	if err != nil {
		return s, fmt.Errorf("read the sample (is this the root of the repository?): %w", err)
	}
	s.files = map[string]string{}
	for _, f := range archive.Files {
		s.files[f.Name] = string(f.Data)
	}
	issue, err := os.ReadFile(filepath.Join(sampleDir, "issue.md"))
	if err != nil {
		return s, err
	}
	s.title, s.body, _ = strings.Cut(string(issue), "\n")
	script, err := os.ReadFile(filepath.Join(sampleDir, "script.yml"))
	s.script = string(script)
	return s, err
}

// commands are what a model's play runs, one after the other, without the last
// that submits.
func (s sample) commands(model string) ([]string, error) {
	var script scripted.Script
	if err := yaml.Unmarshal([]byte(s.script), &script); err != nil {
		return nil, err
	}
	for _, p := range script.Plays {
		if p.Match.Model != model {
			continue
		}
		var out []string
		for _, step := range p.Steps {
			if step.Run != nil {
				out = append(out, *step.Run)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("the sample has no play for %s", model)
}

// solve takes a label to its pull request with twelve experiments, through the
// webhook, the built-in configuration's caps and real sandboxes; against it the
// bare operations of the same, see physical.
func (b *bench) solve(ctx context.Context, dir string) (result, error) {
	s, err := loadSample()
	if err != nil {
		return result{}, err
	}
	n := 0
	var test string
	var work workload
	ours, theirs, err := pairs(ctx, b.repeats(2), func() (float64, error) {
		n++
		took, command, err := s.labelToPull(ctx, filepath.Join(dir, fmt.Sprint("solve", n)), 1, experiments)
		test = command
		return took, err
	}, func() (_ float64, err error) {
		n++
		work, err = s.physical(ctx, filepath.Join(dir, fmt.Sprint("bare", n)), test)
		return work.spread(), err
	})
	return result{
		checks: []check{{values: ratios(ours, theirs), unit: " times", bound: 1.5}},
		facts:  []string{fmt.Sprintf("label to pull request %s; the physical work %s on all cores, namely %s", took(median(ours)), took(median(theirs)), work)},
	}, err
}

// sharedPart is how many of the twelve runs are really made, each with a
// preparation of its own: they use every core all the time, so twice as many take
// twice as long.
const sharedPart = 6

// share has yudai repeat clone, install and base tests in every run: as many
// repositories, each with one experiment.
func (b *bench) share(ctx context.Context, dir string) (result, error) {
	s, err := loadSample()
	if err != nil {
		return result{}, err
	}
	n := 0
	once := func(repos, runs int, scale float64) func() (float64, error) {
		return func() (float64, error) {
			n++
			took, _, err := s.labelToPull(ctx, filepath.Join(dir, fmt.Sprint(n)), repos, runs)
			return took * scale, err
		}
	}
	ours, theirs, err := pairs(ctx, b.repeats(1), once(1, experiments, 1), once(sharedPart, 1, experiments/sharedPart))
	return result{
		checks: []check{{values: ratios(theirs, ours), unit: " times faster", bound: 5, least: true}},
		facts: []string{fmt.Sprintf("twelve runs from one base %s; twelve that prepare for themselves %s, twice the time of %d",
			took(median(ours)), took(median(theirs)), sharedPart)},
	}, err
}

// labelToPull labels an issue in each repository, with as many experiments as
// asked for, and is the time until the last pull request, in seconds. test is the
// command by which yudai tested.
func (s sample) labelToPull(ctx context.Context, dir string, repos, runs int) (seconds float64, test string, err error) {
	r, err := newRig(ctx, dir)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var all []githubsim.Repo
	for i := range repos {
		repo, err := r.repo(fmt.Sprint("sample", i), s.files)
		if err != nil {
			return 0, "", err
		}
		all = append(all, repo)
	}
	models := sampleModels()[:min(runs, len(sampleModels()))]
	if err := r.script(s.script, models...); err != nil {
		return 0, "", err
	}
	r.cfg.Solver.Defaults.Repeat = runs / len(models)
	if err := r.serve(ctx); err != nil {
		return 0, "", err
	}
	began := time.Now()
	issue := 0
	for _, repo := range all {
		if issue, err = r.label(repo, s.title, s.body); err != nil {
			return 0, "", err
		}
	}
	if err := r.awaitPulls(ctx, all...); err != nil {
		return 0, "", err
	}
	seconds = time.Since(began).Seconds()
	v, err := r.srv.Latest(ctx, all[len(all)-1].ID, issue)
	if err == nil && len(v.Runs) != runs {
		err = fmt.Errorf("%d runs, wanted %d", len(v.Runs), runs)
	}
	return seconds, v.Solve.Base.Test.Command, err
}
