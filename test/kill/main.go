// Command kill is the campaign that ends the real program at every place where
// that could hurt: before and after every commit to the store and every call to
// GitHub, model and sandbox (package failpoint), and at random moments. GitHub
// is the emulator and the model a server of the campaign's own, both over
// sockets, so that nothing survives in the program that is not on disk. Each
// point is one solve in a fresh world: the program is killed or stalled there,
// started again, and when all is quiet package checker counts from outside what
// was lost, doubled, leaked or paid twice.
//
//	go run ./test/kill -n 60            sixty points, other ones for each -seed
//	go run ./test/kill -only 'label:store.accept.before=kill@1'
//	go run ./test/kill -mutation no-settle   must fail
//
// docs/evidence/durability.md is its manual.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are what the command line says.
type options struct {
	points   int
	seed     uint64
	parallel int
	only     string
	mutation string
	list     bool
	binary   string
	keep     string
	keepAll  bool
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("kill", flag.ContinueOnError)
	f.SetOutput(errs)
	f.IntVar(&o.points, "n", 60, "how many points")
	f.Uint64Var(&o.seed, "seed", 1, "which points, and what happens around them")
	f.IntVar(&o.parallel, "j", 3, "how many points at a time")
	f.StringVar(&o.only, "only", "", "this one point, as the campaign names it")
	f.StringVar(&o.mutation, "mutation", "", "run the program with this fault, or with each in turn: all")
	f.BoolVar(&o.list, "list", false, "print the points of a recording run and end")
	f.StringVar(&o.binary, "binary", "", "a program built with -tags failpoints; it is built if none is named")
	f.StringVar(&o.keep, "keep", "", "where the directories of failed points are left (default: a temporary one)")
	f.BoolVar(&o.keepAll, "keep-all", false, "keep the directories of all points")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if m := failpoint.Mutation(o.mutation); m != "" && m != allMutations && !slices.Contains(mutations(), m) {
		return o, fmt.Errorf("unknown mutation %q: use all, or one of %v", m, mutations())
	}
	if f.NArg() > 0 || o.points < 1 || o.parallel < 1 {
		return o, fmt.Errorf("kill takes flags only, and -n and -j of at least 1")
	}
	return o, nil
}

// allMutations stands for each of them in turn.
const allMutations = "all"

// run is the program; its code is 0 if nothing went wrong, 1 if something did, 2 if it could not be found out.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	if err == nil {
		var failed bool
		if failed, err = o.run(ctx, out, errs); err == nil {
			if failed {
				return 1
			}
			return 0
		}
	}
	fmt.Fprintln(errs, "kill:", err)
	return 2
}

func (o options) run(ctx context.Context, out, errs io.Writer) (failed bool, err error) {
	c, err := newCampaign(o, out, errs)
	if err != nil {
		return false, err
	}
	defer c.close()
	if err := c.build(ctx); err != nil {
		return false, err
	}
	switch {
	case o.mutation == allMutations:
		return c.mutations(ctx)
	case o.mutation != "" && o.only == "":
		return c.mutated(ctx, failpoint.Mutation(o.mutation))
	case o.only != "":
		p, err := parsePoint(o.only)
		if err != nil {
			return false, err
		}
		return c.play(ctx, []point{p})
	}
	recorded, err := c.record(ctx)
	if err != nil {
		return false, err
	}
	if o.list {
		fmt.Fprintln(out, strings.Join(names(recorded), "\n"))
		return false, nil
	}
	return c.play(ctx, sample(recorded, o.points, o.seed))
}

// newCampaign makes the directories.
func newCampaign(o options, out, errs io.Writer) (*campaign, error) {
	c := &campaign{options: o, out: out, errs: errs, began: time.Now()}
	var err error
	if c.dir, err = os.MkdirTemp("", "yudai-kill-"); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	c.program = o.binary
	if c.program == "" {
		c.program = filepath.Join(c.dir, "yudai")
	}
	if c.keep == "" {
		c.keep = filepath.Join(c.dir, "failed")
	}
	return c, nil
}
