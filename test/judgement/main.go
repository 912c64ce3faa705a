// Command judgement measures how well yudai chooses: its rules on a published set of candidates with known verdicts, and the real
// program on repositories of our own, with a scripted model for each candidate. docs/evidence/judgement.md holds what it finds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "judgement:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	out                          io.Writer
	selection, only, yudai, docs string
	keep                         string
	jobs                         int
}

func parse(args []string, out io.Writer) (options, error) {
	o := options{out: out}
	f := flag.NewFlagSet("judgement", flag.ContinueOnError)
	f.StringVar(&o.selection, "selection", "", "score the rules on this set instead of the published one")
	f.StringVar(&o.only, "only", "*/*", "try the repositories whose GROUP/NAME matches this pattern; none for none")
	f.StringVar(&o.yudai, "yudai", "bin/yudai", "the program")
	f.StringVar(&o.docs, "docs", "", "write the tables into this page, between its markers")
	f.StringVar(&o.keep, "keep", "", "keep the repositories and states of the solves in this directory")
	f.IntVar(&o.jobs, "jobs", 2, "how many repositories are tried at a time")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var err error
	o.yudai, err = filepath.Abs(o.yudai)
	return o, err
}

// run measures what the flags ask for. What misses its target is an error, after all tables.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	issues, err := loadSelection(o.selection)
	if err != nil {
		return err
	}
	all, err := load(definitions)
	if err != nil {
		return err
	}
	scores := evaluate(issues)
	text := selectionTables(issues, scores)
	fmt.Fprintf(out, "%s\n", text)
	trials, err := o.tryRepositories(ctx, all)
	if err != nil {
		return err
	}
	found := trialTables(trials) + "\n" + coverageTable(all)
	fmt.Fprintf(out, "\n%s", found)
	missed := missedTargets(trials)
	if o.docs != "" {
		missed = errors.Join(missed, writePage(o.docs, text+"\n"+found))
	}
	return missed
}

// tryRepositories tries those that the flags choose, and tells each when it is done.
func (o options) tryRepositories(ctx context.Context, all []repository) ([]trial, error) {
	var chosen []repository
	for _, r := range all {
		matches, err := path.Match(o.only, r.group+"/"+r.name)
		if err != nil {
			return nil, fmt.Errorf("-only: %w", err)
		}
		if matches {
			chosen = append(chosen, r)
		}
	}
	dir := o.keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "judgement-*"); err != nil {
			return nil, fmt.Errorf("make a directory: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	return tryAll(ctx, chosen, o.yudai, dir, o.jobs, func(t trial) {
		fmt.Fprintf(o.out, "%s/%s: champion %s, %s, %.0f s\n", t.group, t.name, t.champion, t.grade, t.took.Seconds())
		for _, p := range t.problems {
			fmt.Fprintf(o.out, "  %s\n", p)
		}
	})
}

// loadSelection reads the named set, the published one if there is no name.
func loadSelection(name string) ([]issue, error) {
	data, err := published.ReadFile(publishedName)
	if name != "" {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the selection set: %w", err)
	}
	return readSelection(data)
}
