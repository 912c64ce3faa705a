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
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := d.config()
			if err != nil {
				return usage(err)
			}
			job := func(r *rig) error { return d.run(c.Context(), r, cfg) }
			return runRig(c.Context(), kindDemo, cfg, job, func(*rig) string { return "nothing of the demo is left on this machine" })
		},
	}
	c.Flags().StringVar(&d.model, "model", "", "use this real model from the configuration instead of the scripted ones")
	c.Flags().BoolVar(&d.keep, "keep", false, "leave yudai and the emulator's pages running until interrupted")
	return c
}

// demo is one `yudai demo`.
type demo struct {
	streams
	model string
	keep  bool
}

// config is the built-in configuration, or with a real model the one in this directory.
func (d *demo) config() (server.Config, error) {
	if d.model == "" {
		return server.Default(), nil
	}
	cfg, err := readConfig(d.err, "")
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

func (d *demo) run(ctx context.Context, r *rig, cfg server.Config) error {
	if d.model == "" {
		if err := useSampleScript(r.dir, &cfg); err != nil {
			return err
		}
	}
	v, err := d.solve(ctx, r, cfg)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(d.err, "the end of the log:\n%s\n", tail(r.log.Name(), 4<<10))
	}
	if err != nil {
		return err
	}
	d.report(v)
	if d.keep {
		fmt.Fprintf(d.out, "\nStill running: GitHub at %s, yudai at %s (the link opens once, within an hour).\n"+
			"Comment on the issue's page (/yudai help), or press a button on a check run's. Stop with Ctrl-C.\n", r.url, r.srv.PageURL("/"))
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

// useSampleScript has the demo's models play their file.
func useSampleScript(dir string, cfg *server.Config) error {
	script := filepath.Join(dir, "script.yml")
	if err := os.WriteFile(script, sampleScript, 0o600); err != nil {
		return err
	}
	cfg.SetScripted(script, strings.Split(demoModels, ","))
	cfg.Solver.Defaults.Temps = []float64{0.2}
	cfg.Solver.Limits.RunSteps, cfg.Solver.Limits.Parallel = 8, 3
	return nil
}

// solve makes the repository and its issue, puts the label on, and follows the solve.
func (d *demo) solve(ctx context.Context, r *rig, cfg server.Config) (v report.View, err error) {
	files := map[string]string{}
	for _, f := range txtar.Parse(sampleRepo).Files {
		files[f.Name] = string(f.Data)
	}
	repo, err := r.hub.CreateRepo(rigUser, demoRepo, files)
	if err != nil {
		return v, err
	}
	title, body, _ := strings.Cut(sampleIssue, "\n")
	issue, err := r.hub.OpenIssue(repo.FullName(), rigUser, title, strings.TrimSpace(body))
	if err != nil {
		return v, err
	}
	began := time.Now()
	if err := r.start(ctx, cfg, demoRepo); err != nil {
		return v, err
	}
	t := r.srv.Traits()
	how, _, _ := strings.Cut(t.Isolation, ":")
	fmt.Fprintf(d.out, "GitHub (emulated) at %s, yudai at http://%s\n", r.url, r.srv.Addr())
	fmt.Fprintf(d.out, "sandbox: %s (%s), fork by %s\n", t.Name, how, t.ForkHow)
	for _, note := range t.Notes {
		fmt.Fprintf(d.out, "note: %s\n", note)
	}
	fmt.Fprintf(d.out, "issue #%d %q gets the label yudai:solve\n\n", issue, title)
	if err := r.hub.Label(repo.FullName(), issue, rigUser, cfg.Server.Label); err != nil {
		return v, err
	}
	return r.follow(ctx, repo.ID, issue, newProgress(d.out, began))
}

// report prints the pull request, the scorecard and why the champion won.
func (d *demo) report(v report.View) {
	if v.Solve.Pull == nil {
		fmt.Fprintf(d.out, "\nNo pull request: %s %s\n", v.Solve.State, v.Solve.Reason)
		return
	}
	fmt.Fprintf(d.out, "\nPull request #%d: %s\n%s\n\n%s\n",
		v.Solve.Pull.Number, report.PullTitle(v), v.Solve.Pull.URL, report.Console(v, columns(d.out)))
}

// expected decides the exit code: only the expected champion is a success.
func (d *demo) expected(v report.View) error {
	if v.Solve.State != solve.StateSolved {
		return fmt.Errorf("the solve ended %s: %s", v.Solve.State, v.Solve.Reason)
	}
	if won := v.Runs[v.Solve.Decision.Champion-1].Experiment.Model; d.model == "" && won != demoChampion {
		return fmt.Errorf("the champion is %s, expected %s", won, demoChampion)
	}
	return nil
}
