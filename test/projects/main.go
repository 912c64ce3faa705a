// Command projects solves planted bugs of existing open-source projects with
// the real program: each is fetched as its authors released it, gets a bug and
// an issue, and is handed to "yudai solve" with a scripted model and no other
// setting. What the solve found is compared with what the definition expects.
// docs/evidence/projects.md holds the table.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "projects:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	out                      io.Writer
	only, yudai, cache, docs string
	sample, keep             bool
}

func parse(args []string, out io.Writer) (options, error) {
	o := options{out: out}
	f := flag.NewFlagSet("projects", flag.ContinueOnError)
	f.StringVar(&o.only, "only", "", "run this project alone")
	f.BoolVar(&o.sample, "sample", false, "run one project of each language, the fastest")
	f.StringVar(&o.yudai, "yudai", "bin/yudai", "the program")
	f.StringVar(&o.cache, "cache", "", "where sources are kept (default: the user's cache directory)")
	f.StringVar(&o.docs, "docs", "", "write the table into this page, between its markers")
	f.BoolVar(&o.keep, "keep", false, "keep the repositories and states of the solves")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("find a cache directory (or name one with -cache): %w", err)
		}
		o.cache = filepath.Join(dir, "yudai", "projects")
	}
	var err error
	o.yudai, err = filepath.Abs(o.yudai)
	return o, err
}

// run solves the chosen projects one after the other. Everything that differs
// from the definitions is reported at the end, together.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	all, err := load(definitions)
	if err != nil {
		return err
	}
	chosen, err := choose(all, o)
	if err != nil {
		return err
	}
	var rows []row
	var problems []error
	for _, p := range chosen {
		fmt.Fprintf(out, "%s: %s %s\n", p.name, p.Source.Name, p.Source.Version)
		r, err := p.solve(ctx, o)
		if ctx.Err() != nil {
			return errors.New("stopped")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.name, err))
			fmt.Fprintf(out, "  %v\n", err)
		}
		rows = append(rows, r)
	}
	table := render(rows)
	fmt.Fprintf(out, "\n%s", table)
	if o.docs != "" && len(problems) == 0 {
		problems = append(problems, page(o.docs, table))
	}
	return errors.Join(problems...)
}

// choose picks what the flags ask for.
func choose(all []project, o options) ([]project, error) {
	var out []project
	for _, p := range all {
		if (o.only == "" || p.name == o.only) && (!o.sample || p.Sample) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no project %q; test/projects/testdata has them", o.only)
	}
	return out, nil
}
