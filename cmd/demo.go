package cmd

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

//go:embed sample/repo.txtar
var sampleRepo []byte

//go:embed sample/issue.md
var sampleIssue string

//go:embed sample/script.yml
var sampleScript []byte

// The demo's scripted models, in the order of the matrix, and the one that has to win.
const (
	demoModels   = "cheater,hasty,sprawling,wanderer,careful"
	demoChampion = "careful"
	demoRepo     = "semver"
)

func newDemo(s streams) *cobra.Command {
	d := &demo{streams: s}
	c := &cobra.Command{
		Use: "demo", Short: "Run the main job on this machine: from a label to the champion pull request", Args: wants(0, "no arguments"),
		Long: "Run the main job on this machine, with nothing to set up: an emulated GitHub, the embedded store,\n" +
			"the local sandbox, a sample Go repository with a real bug, and five scripted models that behave\n" +
			"differently. With OPENAI_API_KEY or ANTHROPIC_API_KEY set, --model NAME uses a real model instead.",
		RunE: func(c *cobra.Command, _ []string) error { return d.run(c.Context()) },
	}
	c.Flags().StringVar(&d.model, "model", "", "use this real model from the configuration instead of the scripted ones")
	c.Flags().BoolVar(&d.keep, "keep", false, "leave yudai and the emulator's pages running until interrupted")
	return c
}

type demo struct {
	streams
	model string
	keep  bool
}

func (d *demo) run(ctx context.Context) error {
	cfg, err := d.config()
	if err != nil {
		return exitError{exitUsage, err}
	}
	space, err := openWorkspace(ctx, kindDemo, cfg)
	if err != nil {
		return err
	}
	err = d.play(ctx, space.path, cfg)
	if closed := space.close(ctx, false); closed != nil {
		return errors.Join(err, closed)
	}
	if ctx.Err() != nil && err != nil {
		return stopped("nothing of the demo is left on this machine")
	}
	return err
}

// play does the job with everything below dir, and leaves no process.
func (d *demo) play(ctx context.Context, dir string, cfg server.Config) (err error) {
	if d.model == "" {
		if err := d.scripted(dir, &cfg); err != nil {
			return err
		}
	}
	log, file, err := quiet(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := newRig(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	v, err := d.solve(ctx, r, cfg, log)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(d.err, "the end of the log:\n%s\n", tail(file.Name(), 4<<10))
	}
	if err != nil {
		return err
	}
	if err := d.report(r, v); err != nil {
		return err
	}
	if d.keep {
		fmt.Fprintf(d.out, "\nStill running: GitHub at %s, yudai at http://%s.\nComment on the issue's page (/yudai help), or press a button on a check run's. Stop with Ctrl-C.\n", r.url, r.srv.Addr())
		<-ctx.Done()
	}
	return d.expected(v)
}

// tail is the end of a file, from the beginning of a line.
func tail(name string, most int) []byte {
	text, err := os.ReadFile(name)
	if err != nil || len(text) <= most {
		return text
	}
	_, text, _ = bytes.Cut(text[len(text)-most:], []byte("\n"))
	return text
}

// config is the built-in configuration, or with a real model the one in this directory.
func (d *demo) config() (server.Config, error) {
	if d.model != "" {
		cfg, err := server.Load("", os.Getenv)
		if err != nil {
			return cfg, err
		}
		cfg.Solver.Defaults.Models = []string{d.model}
		cfg.Solver.Defaults.Temps = []float64{0.2, 0.8}
		var wrong []error
		cfg.CheckRequest(solve.Request{Models: []string{d.model}}, false, os.Getenv, func(_, problem string) {
			wrong = append(wrong, fmt.Errorf("--model: %s", problem))
		})
		return cfg, errors.Join(wrong...)
	}
	return server.Default(), nil
}

// scripted has the demo's models play their file.
func (d *demo) scripted(dir string, cfg *server.Config) error {
	script := filepath.Join(dir, "script.yml")
	if err := os.WriteFile(script, sampleScript, 0o600); err != nil {
		return err
	}
	names := strings.Split(demoModels, ",")
	cfg.SetScripted(script, names)
	cfg.Solver.Defaults.Temps = []float64{0.2}
	cfg.Solver.Limits.RunSteps = 8
	cfg.Solver.Limits.Parallel = 3
	return nil
}

func (d *demo) solve(ctx context.Context, r *rig, cfg server.Config, log zerolog.Logger) (report.View, error) {
	archive := txtar.Parse(sampleRepo)
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	repo, err := r.hub.CreateRepo(rigOwner, demoRepo, files)
	if err != nil {
		return report.View{}, err
	}
	title, body, _ := strings.Cut(sampleIssue, "\n")
	issue, err := r.hub.OpenIssue(repo.FullName(), rigUser, title, strings.TrimSpace(body))
	if err != nil {
		return report.View{}, err
	}
	began := time.Now()
	if err := r.start(ctx, cfg, demoRepo, os.Getenv, log); err != nil {
		return report.View{}, err
	}
	t := r.srv.Traits()
	fmt.Fprintf(d.out, "GitHub (emulated) at %s, yudai at http://%s\n", r.url, r.srv.Addr())
	how, _, _ := strings.Cut(t.Isolation, ":")
	fmt.Fprintf(d.out, "sandbox: %s (%s), fork by %s\n", t.Name, how, t.ForkHow)
	for _, note := range t.Notes {
		fmt.Fprintf(d.out, "note: %s\n", note)
	}
	fmt.Fprintf(d.out, "issue #%d %q gets the label yudai:solve\n\n", issue, title)
	if err := r.hub.Label(repo.FullName(), issue, rigUser, cfg.Server.Label); err != nil {
		return report.View{}, err
	}
	return r.follow(ctx, repo.ID, issue, newProgress(d.out, began))
}

// report prints the pull request, the scorecard and why the champion won.
func (d *demo) report(r *rig, v report.View) error {
	if v.Solve.Pull == nil {
		fmt.Fprintf(d.out, "\nNo pull request: %s %s\n", v.Solve.State, v.Solve.Reason)
		return nil
	}
	fmt.Fprintf(d.out, "\nPull request #%d: %s\n%s\n\n%s\n", v.Solve.Pull.Number, report.PullTitle(v), v.Solve.Pull.URL, report.Terminal(v, columns(d.out)))
	return nil
}

// expected decides the exit code: only the expected champion is a success.
func (d *demo) expected(v report.View) error {
	switch {
	case v.Solve.State != solve.StateSolved:
		return fmt.Errorf("the solve ended %s: %s", v.Solve.State, v.Solve.Reason)
	case d.model != "":
		return nil
	}
	if won := v.Runs[v.Solve.Decision.Champion-1].Experiment.Model; won != demoChampion {
		return fmt.Errorf("the champion is %s, expected %s", won, demoChampion)
	}
	return nil
}
