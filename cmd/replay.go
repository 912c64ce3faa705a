package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solver/replay"
)

func newReplay(s streams) *cobra.Command {
	r := &replaying{verification: verification{streams: s}}
	c := &cobra.Command{
		Use: "replay BUNDLE.tar REPO", Short: "Judge the champion and the runner-up of a bundle again",
		Long: "Check a bundle as `yudai verify` does, then clone REPO (a path, or an https address that needs no password),\n" +
			"install and test the base commit in a sandbox, judge the champion and the candidate that came next again,\n" +
			"and compare the results test by test with those in the bundle. Flaky tests are left out.\n" +
			"Exit 0 if all are the same, 1 if something differs, 2 if they cannot be judged again here.",
		Args: wants(2, "a bundle and a repository"),
		RunE: func(c *cobra.Command, args []string) error { return r.run(c.Context(), args[0], args[1]) },
	}
	r.keyFlag(c.Flags())
	configFlag(c.Flags(), &r.config)
	c.Flags().StringVar(&r.driver, "sandbox", "local", "sandbox driver: "+strings.Join(drivers.Names(), ", "))
	return c
}

// replaying is one `yudai replay`.
type replaying struct {
	verification
	config, driver string
}

func (r *replaying) run(ctx context.Context, path, repo string) (err error) {
	cfg, err := readConfig(r.err, r.config)
	if err != nil {
		return usage(err)
	}
	b, err := r.read(path, func(name string) bool { return !strings.HasSuffix(name, ".log") })
	if err != nil {
		return err
	}
	from := replay.Solve{File: b.File}
	if from.Record, err = b.Record(); err != nil {
		return usage(err)
	}
	if _, err := os.Stat(repo); err == nil {
		repo, _ = filepath.Abs(repo)
	}
	space, err := openWorkspace(ctx, kindReplay, cfg)
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, space.close(ctx, false)) }()
	outcomes, err := r.judge(ctx, space.path, cfg, from, repo)
	if ctx.Err() != nil {
		return exitError{exitStopped, errors.New("stopped: the sandboxes are gone")}
	}
	if err != nil {
		return usage(fmt.Errorf("the bundle cannot be replayed: %w", err))
	}
	return r.compare(outcomes, from.Champion())
}

func (r *replaying) judge(ctx context.Context, dir string, cfg server.Config, from replay.Solve, repo string) ([]replay.Outcome, error) {
	cfg = sandboxesIn(dir, cfg)
	cfg.Sandbox.Driver = r.driver
	set, err := drivers.NewSet(cfg.Sandbox, zerolog.Nop(), nil)
	if err != nil {
		return nil, err
	}
	return replay.World{
		Repository: repo, Git: git.New(filepath.Join(dir, "git")), Drivers: set,
		InstallEnv: cfg.Solver.Tests.InstallEnv, CloneDepth: cfg.Solver.CloneDepth,
	}.Judge(ctx, from)
}

// compare prints what came of each candidate, and fails if something differs.
func (r *replaying) compare(outcomes []replay.Outcome, champion int) error {
	fmt.Fprintln(r.out, "base:       made again; its tests have the same results")
	var differ []error
	for _, o := range outcomes {
		name := "runner-up: "
		if o.Run == champion {
			name = "champion:  "
		}
		if o.Same() {
			fmt.Fprintf(r.out, "%s run %d judged again: %s, %d results of tests are the same\n", name, o.Run, o.Here, o.Tests)
			continue
		}
		if o.Then != o.Here {
			differ = append(differ, fmt.Errorf("%s run %d: the verdict was %q and is %q: %s", name, o.Run, o.Then, o.Here, o.Reason))
		}
		if len(o.Different) > 0 {
			differ = append(differ, fmt.Errorf("%s run %d: results of tests differ: %s", name, o.Run, replay.Words(o.Different)))
		}
	}
	return errors.Join(differ...)
}
