package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

func newSolve(s streams) *cobra.Command {
	l := &localSolve{streams: s}
	c := &cobra.Command{
		Use: "solve PATH ISSUE.md", Short: "Solve an issue of a local repository, without GitHub",
		Args: wants(2, "a repository and an issue file (- for standard input)"),
		Long: "Run the whole job on a local git repository and an issue text (first line: the title). The result is\n" +
			"a local branch with the champion's commit, the scorecard here, and the record as JSON. yudai changes\n" +
			"nothing else in the repository, and ignores uncommitted changes.",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := l.prepare(c, args[0], args[1])
			if err != nil {
				return usage(err)
			}
			job := func(r *rig) error { return l.run(c.Context(), r, cfg) }
			return runRig(c.Context(), kindSolve, cfg, job, whatIsLeft)
		},
	}
	f := c.Flags()
	configFlag(f, &l.config)
	matrixFlags(f, &l.req)
	f.StringVar(&l.budget, "budget", "", "money and time of the whole solve, for example $2 or 20m or both: $2,20m")
	f.StringVar(&l.req.Base, "base", "", "base branch (default: the one you are on)")
	f.StringVar(&l.baseURL, "base-url", "", "an OpenAI-compatible server that has the models, for example http://127.0.0.1:11434/v1")
	f.StringVar((*string)(&l.req.Reproduce), "reproduce", "",
		"when a run writes tests from the issue: off, auto or always (default: solver.reproduce)")
	f.StringVar(&l.script, "script", "", "play this file as the models it names, instead of real ones")
	f.StringVar(&l.test, "test", "", "test command (default: detected)")
	f.StringVar(&l.install, "install", "", "install command (default: detected)")
	f.StringVar(&l.record, "record", "", "where the record goes (default: below the state directory)")
	return c
}

// whatIsLeft says what a stopped solve leaves on this machine.
func whatIsLeft(r *rig) string {
	left := "no branch was made, and the sandboxes are gone"
	if r.keep {
		left += "; transcripts and log so far: " + r.dir
	}
	return left
}

// checkEmptyFlags reports flags that were given without a value. Nobody who writes
// --models= means the default.
func checkEmptyFlags(c *cobra.Command) error {
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
	config, budget, baseURL, script, test, install, record string
	req                                                    solve.Request
	repo                                                   git.Work
	title, body                                            string // of the issue
}

// localRepo is the name of the repository in the emulator.
const localRepo = "local"

// prepare reads everything and checks it, before anything is started.
func (l *localSolve) prepare(c *cobra.Command, path, issueFile string) (cfg server.Config, err error) {
	if err = checkEmptyFlags(c); err != nil {
		return cfg, err
	}
	if l.repo, err = git.Local(c.Context(), path); err != nil {
		return cfg, err
	}
	if err = l.readIssue(issueFile); err != nil {
		return cfg, err
	}
	if cfg, err = l.configure(); err != nil || l.record == "" {
		return cfg, err
	}
	if err := checkWritable(l.record); err != nil {
		return cfg, fmt.Errorf("--record: %w", err)
	}
	return cfg, nil
}

// maxIssueFile is how many bytes are read of an issue; agents get far less of it.
const maxIssueFile = 4 << 20

// readIssue reads the file: the first line that is not empty is the title.
func (l *localSolve) readIssue(name string) error {
	in := l.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("read the issue: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxIssueFile+1))
	if err != nil {
		return fmt.Errorf("read the issue: %w", err)
	}
	if len(data) > maxIssueFile {
		return fmt.Errorf("read the issue: %s has more than %d bytes", name, maxIssueFile)
	}
	title, body, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	l.title, l.body = strings.TrimSpace(strings.TrimLeft(title, "# ")), strings.TrimSpace(body)
	if l.title == "" {
		return fmt.Errorf("the issue %s is empty: its first line is the title", name)
	}
	return nil
}

// configure is the configuration with the flags on top.
func (l *localSolve) configure() (server.Config, error) {
	cfg, err := readConfig(l.err, l.config)
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
	if l.baseURL != "" {
		if len(l.req.Models) == 0 {
			return cfg, errors.New("--base-url: name the server's models with --models")
		}
		cfg.SetEndpoint(l.baseURL, l.req.Models, os.Getenv)
	}
	tests := &cfg.Solver.Tests
	tests.Asked = l.test != "" || l.install != ""
	if l.test != "" {
		tests.Command, tests.Format = l.test, "exit"
		if strings.HasPrefix(l.test, "go test ") {
			tests.Format = "go"
		}
	}
	if l.install != "" {
		tests.Install = l.install
	}
	if l.budget != "" {
		if l.req.Budget, l.req.TimeBudget, err = handlers.ParseBudget(l.budget); err != nil {
			return cfg, fmt.Errorf("--budget: %w", err)
		}
	}
	_, err = os.Stat(filepath.Join(l.repo.Root, filepath.FromSlash(solve.RepoConfigFile)))
	var wrong []error
	cfg.CheckRequest(l.req, err == nil, os.Getenv, func(key, problem string) {
		wrong = append(wrong, fmt.Errorf("--%s: %s", key, problem))
	})
	return cfg, errors.Join(wrong...)
}

// run imports the repository into the emulator, asks for the solve as the API does, and
// reports what came of it.
func (l *localSolve) run(ctx context.Context, r *rig, cfg server.Config) error {
	imported, err := r.hub.ImportRepo(rigUser, localRepo, l.repo.Root)
	if err != nil {
		return err
	}
	branches, err := r.hub.Branches(imported.FullName())
	if err != nil {
		return err
	}
	where := l.req.Base
	if where == "" {
		l.req.Base, where = imported.DefaultBranch, imported.DefaultBranch
		if l.repo.Branch == "" {
			where = "a detached HEAD" // it has got a name in the emulator
		}
	}
	sha, ok := branches[l.req.Base]
	if !ok {
		return usage(fmt.Errorf("--base: %s has no local branch %q; `git branch` lists them", l.repo.Root, l.req.Base))
	}
	number, err := r.hub.OpenIssue(imported.FullName(), rigUser, l.title, l.body)
	if err != nil {
		return err
	}
	began := time.Now()
	r.who = &server.Person{Name: l.repo.Name, Email: l.repo.Email}
	if err := r.start(ctx, cfg, localRepo); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "solving %q on %s at %s\n", l.title, where, sha[:min(len(sha), 10)])
	for _, note := range r.srv.Traits().Notes {
		fmt.Fprintf(l.err, "note: %s\n", note)
	}
	r.keep = true
	if err := r.srv.Ask(ctx, rigUser, localRepo, number, l.req); err != nil {
		return err
	}
	v, err := r.follow(ctx, imported.ID, number, newProgress(l.out, began))
	if err != nil {
		return err
	}
	return l.finish(ctx, r, v)
}

// finish writes the record, fetches the champion's branch, and prints the scorecard.
func (l *localSolve) finish(ctx context.Context, r *rig, v report.View) error {
	rec, err := r.srv.Record(ctx, v.Solve.ID)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	path := cmp.Or(l.record, filepath.Join(r.dir, "record.json"))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "\n%s\n", report.Console(v, columns(l.out)))
	fmt.Fprintf(l.out, "record:      %s\ntranscripts: %s\n", path, filepath.Join(r.dir, "store"))
	if err := l.writeBundle(ctx, r, v.Solve.ID); err != nil {
		return err
	}
	if v.Solve.State != solve.StateSolved {
		return fmt.Errorf("no champion: %s", v.Solve.Reason)
	}
	from := filepath.Join(r.dir, "github", rigUser, localRepo+".git")
	if err := git.FetchInto(ctx, l.repo.Root, from, v.Solve.Branch); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "branch:      %s (git show %s)\n", v.Solve.Branch, v.Solve.Branch)
	return nil
}

// writeBundle leaves the signed bundle; a solve that ended before a decision has none.
func (l *localSolve) writeBundle(ctx context.Context, r *rig, id solve.ID) error {
	write, err := r.srv.Bundle(ctx, id)
	if errors.Is(err, solve.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	path := filepath.Join(r.dir, "bundle.tar")
	if err := durable.Write(path, func(f *os.File) error { return write(f) }); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "bundle:      %s (yudai verify --decision)\n", path)
	return nil
}
