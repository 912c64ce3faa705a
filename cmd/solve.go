package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

func newSolve(s streams) *cobra.Command {
	l := &localSolve{streams: s}
	c := &cobra.Command{
		Use: "solve PATH ISSUE.md", Short: "Solve an issue of a local repository, without GitHub", Args: wants(2, "a repository and an issue file (- for standard input)"),
		Long: "Run the whole job on a local git repository and an issue text (first line: the title). The result is\n" +
			"a local branch with the champion's commit, the scorecard here, and the record as JSON. Your work\n" +
			"tree, your index and your other branches are not touched; uncommitted changes are not seen.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := emptied(c); err != nil {
				return exitError{exitUsage, err}
			}
			return l.run(c.Context(), args[0], args[1])
		},
	}
	f := c.Flags()
	f.StringVarP(&l.config, "config", "c", "", "configuration file")
	matrixFlags(f, &l.req)
	f.StringVar(&l.budget, "budget", "", "money and time of the whole solve, for example $2 or 20m or both: $2,20m")
	f.StringVar(&l.req.Base, "base", "", "base branch (default: the one you are on)")
	f.StringVar(&l.script, "script", "", "play this file as the models it names, instead of real ones")
	f.StringVar(&l.test, "test", "", "test command (default: detected)")
	f.StringVar(&l.install, "install", "", "install command (default: detected)")
	f.StringVar(&l.record, "record", "", "where the record goes (default: below the state directory)")
	return c
}

// emptied names the flags that were given without a value: what they stand for
// would else be the default, which nobody who writes --models= means.
func emptied(c *cobra.Command) error {
	var wrong []error
	c.Flags().Visit(func(f *pflag.Flag) {
		if v := f.Value.String(); v == "" || v == "[]" {
			wrong = append(wrong, fmt.Errorf("--%s: has no value; leave it out for the default", f.Name))
		}
	})
	return errors.Join(wrong...)
}

// localSolve is one `yudai solve`.
type localSolve struct {
	streams
	config, budget, script, test, install, record string
	req                                           solve.Request
	asked                                         bool // the solve is under way: its traces are worth keeping
}

// maxIssueFile is how many bytes are read of an issue; agents get far less of it.
const maxIssueFile = 4 << 20

// localRepo is the name of the repository in the emulator.
const localRepo = "local"

func (l *localSolve) run(ctx context.Context, path, issueFile string) (err error) {
	repo, err := server.OpenLocal(ctx, path)
	if err != nil {
		return exitError{exitUsage, err}
	}
	title, body, err := l.issue(issueFile)
	if err != nil {
		return exitError{exitUsage, err}
	}
	cfg, err := l.configure(repo)
	if err != nil {
		return exitError{exitUsage, err}
	}
	if l.record != "" {
		if err := writable(l.record); err != nil {
			return exitError{exitUsage, fmt.Errorf("--record: %w", err)}
		}
	}
	space, err := openWorkspace(ctx, kindSolve, cfg)
	if err != nil {
		return err
	}
	err = l.work(ctx, space.path, cfg, repo, title, body)
	if closed := space.close(ctx, l.asked); closed != nil {
		return errors.Join(err, closed)
	}
	if ctx.Err() != nil && err != nil {
		left := "no branch was made, and the sandboxes are gone"
		if l.asked {
			left += "; transcripts and log so far: " + space.path
		}
		return stopped(left)
	}
	return err
}

// work does the job with everything below dir, and leaves no process.
func (l *localSolve) work(ctx context.Context, dir string, cfg server.Config, repo server.LocalRepo, title, body string) (err error) {
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
	v, err := l.solve(ctx, r, cfg, repo, title, body, log)
	if err != nil {
		return err
	}
	return l.finish(ctx, r, repo, v)
}

// issue reads the file: the first line that is not empty is the title.
func (l *localSolve) issue(name string) (title, body string, err error) {
	var data []byte
	in := l.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", "", fmt.Errorf("read the issue: %w", err)
		}
		defer f.Close()
		in = f
	}
	if data, err = io.ReadAll(io.LimitReader(in, maxIssueFile+1)); err != nil {
		return "", "", fmt.Errorf("read the issue: %w", err)
	}
	if len(data) > maxIssueFile {
		return "", "", fmt.Errorf("read the issue: %s has more than %d bytes", name, maxIssueFile)
	}
	title, body, _ = strings.Cut(strings.TrimSpace(string(data)), "\n")
	title = strings.TrimSpace(strings.TrimLeft(title, "# "))
	if title == "" {
		return "", "", fmt.Errorf("the issue %s is empty: its first line is the title", name)
	}
	return title, strings.TrimSpace(body), nil
}

// configure is the configuration with the flags on top.
func (l *localSolve) configure(repo server.LocalRepo) (server.Config, error) {
	cfg, err := server.Load(l.config, os.Getenv)
	if err != nil {
		return cfg, err
	}
	if l.script != "" {
		names, err := server.ScriptModels(l.script)
		if err != nil {
			return cfg, err
		}
		cfg.SetScripted(l.script, names)
	}
	cfg.Solver.Tests.Asked = l.test != "" || l.install != ""
	if l.test != "" {
		cfg.Solver.Tests.Command, cfg.Solver.Tests.Format = l.test, server.TestFormat(l.test)
	}
	if l.install != "" {
		cfg.Solver.Tests.Install = l.install
	}
	if l.budget != "" {
		if l.req.Budget, l.req.TimeBudget, err = server.ParseBudget(l.budget); err != nil {
			return cfg, fmt.Errorf("--budget: %w", err)
		}
	}
	var wrong []error
	cfg.CheckRequest(l.req, repo.Configured(), os.Getenv, func(key, problem string) {
		wrong = append(wrong, fmt.Errorf("--%s: %s", key, problem))
	})
	return cfg, errors.Join(wrong...)
}

// solve imports the repository into the emulator and asks for the solve as the API does.
func (l *localSolve) solve(ctx context.Context, r *rig, cfg server.Config, repo server.LocalRepo, title, body string, log zerolog.Logger) (report.View, error) {
	imported, err := r.hub.ImportRepo(rigOwner, localRepo, repo.Root)
	if err != nil {
		return report.View{}, err
	}
	branches, err := r.hub.Branches(imported.FullName())
	if err != nil {
		return report.View{}, err
	}
	req := l.req
	if req.Base == "" {
		req.Base = imported.DefaultBranch // a detached HEAD has got a name there
	}
	sha, ok := branches[req.Base]
	if !ok {
		return report.View{}, exitError{exitUsage, fmt.Errorf("--base: %s has no local branch %q; `git branch` lists them", repo.Root, req.Base)}
	}
	number, err := r.hub.OpenIssue(imported.FullName(), rigUser, title, body)
	if err != nil {
		return report.View{}, err
	}
	began := time.Now()
	if err := r.start(ctx, cfg, localRepo, os.Getenv, log); err != nil {
		return report.View{}, err
	}
	where := req.Base
	if repo.Branch == "" && l.req.Base == "" {
		where = "a detached HEAD"
	}
	fmt.Fprintf(l.out, "solving %q on %s at %s\n", title, where, short(sha))
	for _, note := range r.srv.Traits().Notes {
		fmt.Fprintf(l.err, "note: %s\n", note)
	}
	l.asked = true
	if _, err := r.srv.Ask(ctx, rigOwner, localRepo, number, req); err != nil {
		return report.View{}, err
	}
	return r.follow(ctx, imported.ID, number, newProgress(l.out, began))
}

// finish writes the record, fetches the champion's branch, and prints the scorecard.
func (l *localSolve) finish(ctx context.Context, r *rig, repo server.LocalRepo, v report.View) error {
	rec, err := r.srv.Record(ctx, v.Solve.ID)
	if err != nil {
		return err
	}
	path := l.record
	if path == "" {
		path = filepath.Join(r.dir, "record.json")
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "\n%s\n", report.Terminal(v, columns(l.out)))
	fmt.Fprintf(l.out, "record:      %s\ntranscripts: %s\n", path, filepath.Join(r.dir, "store"))
	if v.Solve.State != solve.StateSolved {
		return fmt.Errorf("no champion: %s", v.Solve.Reason)
	}
	if err := repo.Fetch(ctx, filepath.Join(r.dir, "github", rigOwner, localRepo+".git"), v.Solve.Branch); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "branch:      %s (git show %s)\n", v.Solve.Branch, v.Solve.Branch)
	return nil
}

func short(sha string) string { return sha[:min(len(sha), 10)] }
