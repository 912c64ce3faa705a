// Package cmd holds yudai's commands, one file each. Commands parse flags and
// print; package server does the work. The commands that need no GitHub (demo, solve)
// run the server against the emulator.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yudai-dev/yudai/internal/spelling"
	"github.com/yudai-dev/yudai/server"
)

// streams are a command's standard input and outputs.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exitError ends the program with a code after its message was printed.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

// The exit codes: of wrong use, of a lost lease (start again), and of a stop by
// signal, as shells report it.
const (
	exitUsage     = 2
	exitLeaseLost = 75
	exitStopped   = 130
)

// Execute runs the program with its arguments (without the program's name) and
// returns the exit code: 0 well, 1 failed, 2 wrong use, 75 lease lost (start
// again), 130 stopped by a signal.
func Execute(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	server.Stage() // a process started for the inside of a sandbox never returns from here
	keepOutOfCoreFiles()
	root := newRoot(streams{in, out, err})
	root.SetArgs(args)
	failure := root.ExecuteContext(ctx)
	if failure == nil {
		return 0
	}
	for line := range strings.Lines(failure.Error()) {
		fmt.Fprintln(err, "yudai:", foreignLine(strings.TrimRight(line, "\n"), false)) // it may quote strangers
	}
	var coded exitError
	if errors.As(failure, &coded) {
		return coded.code
	}
	return 1
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "yudai",
		Short: "Solve GitHub issues by a matrix of experiments, judged by the repository's own tests",
		Long: "yudai runs a matrix of coding agents over one issue, each in a fresh sandbox, judges every\n" +
			"patch with the repository's own tests, and opens one pull request with the champion.\n\n" +
			"Start with `yudai demo`. `yudai init` writes a configuration; then `yudai solve PATH ISSUE.md` on a repository of yours.",
		Args:         onlyCommands,
		SilenceUsage: true, SilenceErrors: true,
	}
	version := newVersion(s)
	told := root.Flags().Bool("version", false, "print the version, as the command version does")
	root.RunE = func(c *cobra.Command, args []string) error {
		if *told {
			return version.RunE(c, args)
		}
		return c.Help()
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(wrongFlag)
	root.AddCommand(newInit(s), newSetup(s), newServe(s), newDemo(s), newSolve(s), newPlan(s), newRuns(s), newStatus(s), newWatch(s),
		newShow(s), newLogs(s), newDiff(s), newApply(s), newOpen(s), newReduce(s), newVerify(s), newReplay(s), newBackup(s),
		newRecord(s), newConfig(s), newModels(s), newDoctor(s), newMCP(), newHealthcheck(), newSandbox(s), newCompletion(s),
		version)
	return root
}

// usage gives an error the exit code of wrong use.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return exitError{exitUsage, err}
}

// wants is cobra's argument check with our exit code and a hint.
func wants(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usage(fmt.Errorf("%s takes %s; see %s --help", c.Name(), what, c.CommandPath()))
		}
		return nil
	}
}

// onlyCommands refuses an argument where a command belongs, and names the nearest one.
func onlyCommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usage(fmt.Errorf("unknown command %q%s; see %s --help", args[0], didYouMean("", args[0], names), c.CommandPath()))
}

// wrongFlag is the error of flags that cannot be read; it names the flag nearest to an unknown one.
func wrongFlag(c *cobra.Command, err error) error {
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint = didYouMean("--", unknown.GetSpecifiedName(), names)
	}
	return usage(fmt.Errorf("%w%s; see %s --help", err, hint, c.CommandPath()))
}

// didYouMean names the valid word that is nearest to a mistyped one, "" if none is near.
func didYouMean(dashes, word string, valid []string) string {
	near := spelling.Nearest(word, valid)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s%s?)", dashes, near)
}

// configFlag is the flag of the commands that read a configuration.
func configFlag(f *pflag.FlagSet, path *string) {
	f.StringVarP(path, "config", "c", "", "configuration file (default: config.yml here if there is one, else the built-in defaults)")
}

// withConfig has a command read the configuration first.
func withConfig(c *cobra.Command, run func(ctx context.Context, cfg server.Config, args []string) error) *cobra.Command {
	path := ""
	configFlag(c.Flags(), &path)
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := readConfig(c.ErrOrStderr(), path)
		if err != nil {
			return usage(err)
		}
		return run(c.Context(), cfg, args)
	}
	return c
}

// readConfig reads the configuration and prints its notices.
func readConfig(w io.Writer, path string) (server.Config, error) {
	cfg, err := server.Load(path, os.Getenv)
	for _, notice := range cfg.Notices {
		fmt.Fprintln(w, notice)
	}
	return cfg, err
}
