// Command attack tries attacks on the running program and counts which it held. Each family
// of attacks is a file in families/, which says who attacks, how, and what counts as safe
// (CONTRIBUTING.md tells how to add one). GitHub is the emulator; the models' server is in the
// attackers' hand; the program is the real one with real sandboxes.
//
//	go run ./test/attack                     all of them
//	go run ./test/attack -sample             those of CI
//	go run ./test/attack -only 'harvest'     families and attacks whose names match
//	go run ./test/attack -mutation all       a wall left out each, which must be noticed
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// campaign is what the command line says, and where things lie.
type campaign struct {
	sample   bool
	only     string
	mutation string
	docs     string
	beside   string
	binary   string
	parallel int
	dir      string
	began    time.Time
	out      io.Writer
	errs     io.Writer
}

func parse(args []string, out, errs io.Writer) (*campaign, error) {
	c := &campaign{began: time.Now(), out: out, errs: errs}
	f := flag.NewFlagSet("attack", flag.ContinueOnError)
	f.SetOutput(errs)
	f.BoolVar(&c.sample, "sample", false, "try the sample of CI")
	f.StringVar(&c.only, "only", "", "try attacks whose name or family matches this pattern")
	f.StringVar(&c.mutation, "mutation", "", "leave this wall out, or each in turn: all; a number counts round the list")
	f.StringVar(&c.docs, "docs", "", "the page to write, docs/evidence/attacks.md")
	f.StringVar(&c.beside, "beside", "", "a file with the score of an ordinary user, to show on the page if it is there")
	f.StringVar(&c.binary, "yudai", "", "the program; it is built if none is named")
	f.IntVar(&c.parallel, "j", 2, "how many families at a time")
	f.StringVar(&c.dir, "dir", "", "where worlds lie (default: a temporary directory)")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if _, err := regexp.Compile(c.only); err != nil || f.NArg() > 0 || c.parallel < 1 {
		return nil, fmt.Errorf("attack takes flags only, -only a pattern and -j at least 1")
	}
	return c, nil
}

// run is the program; its code is 0 if all attacks held, 1 if one did not, 2 if it could not be found out.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	c, err := parse(args, out, errs)
	if err != nil {
		fmt.Fprintln(errs, "attack:", err)
		return 2
	}
	held, err := c.run(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(errs, "attack:", err)
		return 2
	case !held:
		return 1
	}
	return 0
}

func (c *campaign) run(ctx context.Context) (held bool, err error) {
	families, err := load()
	if err != nil {
		return false, err
	}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "yudai-attack-"); err != nil {
			return false, fmt.Errorf("make directory: %w", err)
		}
		defer func() {
			if held {
				_ = os.RemoveAll(c.dir) // worlds that held are of no use
			} else {
				fmt.Fprintln(c.errs, "attack: the worlds are kept in", c.dir)
			}
		}()
	}
	if err := c.build(ctx); err != nil {
		return false, err
	}
	if c.mutation != "" {
		return c.mutations(ctx, families)
	}
	results, err := c.try(ctx, c.chosen(families))
	if err != nil {
		return false, err
	}
	s := sum(results)
	fmt.Fprint(c.out, s.lines())
	if c.docs != "" {
		if err := c.page(families, results); err != nil {
			return false, err
		}
	}
	return s.failed == s.open, nil
}

// build makes the program, unless one was named.
func (c *campaign) build(ctx context.Context) (err error) {
	if c.binary != "" {
		c.binary, err = filepath.Abs(c.binary)
		return err
	}
	c.binary = filepath.Join(c.dir, "yudai")
	return c.compile(ctx, c.binary)
}

func (c *campaign) compile(ctx context.Context, to string, flags ...string) error {
	args := append(append([]string{"build", "-trimpath"}, flags...), "-o", to, ".")
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program (in the directory of the module): %w: %s", err, text)
	}
	return nil
}

// chosen are the families with the attacks that the command line asks for.
func (c *campaign) chosen(families []family) []family {
	only := regexp.MustCompile(c.only)
	var out []family
	for _, f := range families {
		list := f.Attacks
		f.Attacks = nil
		for _, a := range list {
			if (!c.sample || a.Sample) && (only.MatchString(a.Name) || only.MatchString(f.Family)) {
				f.Attacks = append(f.Attacks, a)
			}
		}
		if len(f.Attacks) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// try plays families, some at a time, and prints what did not hold as it comes.
func (c *campaign) try(ctx context.Context, families []family) ([]result, error) {
	all := make([][]result, len(families))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(c.parallel)
	for i, f := range families {
		group.Go(func() (err error) {
			began := time.Now()
			if all[i], err = c.play(gctx, f); err != nil {
				return err
			}
			fmt.Fprintf(c.errs, "%s: %s in %s\n", f.Family, sum(all[i]).line(), time.Since(began).Round(time.Second))
			return nil
		})
	}
	err := group.Wait()
	var out []result
	for _, list := range all {
		out = append(out, list...)
	}
	return out, err
}

// keepLog writes down what the program said.
func (c *campaign) keepLog(w *world) {
	_ = os.WriteFile(w.path("log.jsonl"), []byte(w.proc.Log.String()), 0o600) // a help, no evidence
}
