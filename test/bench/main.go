// Command bench measures what issue 3 asks to be measured and prints one table.
// Every figure is a ratio of two things measured in turns in the same run, so
// that a slow or busy machine slows both: A B B A ..., the median of the pairs'
// ratios, and the lowest and highest of them. Two rows are sizes of a process.
//
// It always exits with 0 once everything was measured: a missed target is a line
// of the table, explained in docs/evidence/benchmarks.md, not a failed build.
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

	"github.com/yudai-dev/yudai/server"
)

func main() {
	server.Stage() // this program is also the stage of its own sandboxes
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the program.
type bench struct {
	dir     string // of all that is made, removed at the end
	yudai   string // the program that is started where a whole process is measured
	profile string // directory of profiles; "" for none
	times   int    // repetitions of every row; 0 for each row's own
	notes   io.Writer
}

// repeats is how often a row repeats its pair.
func (b *bench) repeats(own int) int {
	if b.times > 0 {
		return b.times
	}
	return own
}

func run(ctx context.Context, args []string, out, notes io.Writer) (err error) {
	b := &bench{notes: notes}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(notes)
	only := flags.String("only", "", "measure these rows: "+strings.Join(keys(), ", "))
	update := flags.Bool("update", false, "also put the table into "+page+", between its markers")
	work := flags.String("dir", "", "directory on the file system to measure (default: the temporary one)")
	flags.StringVar(&b.yudai, "yudai", "bin/yudai", "the yudai program")
	flags.StringVar(&b.profile, "cpuprofile", "", "write a profile of each row, and the list of its hottest functions, into this directory")
	flags.IntVar(&b.times, "times", 0, "repeat every measurement this often")
	child := flags.String("child", "", "for the program's own use: be the process of a row")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if strings.HasPrefix(*child, "stub ") {
		return stubChild(*child, out)
	}
	if *child != "" {
		return crowdChild(ctx, *child, out)
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(*work, "yudai-bench-"); err != nil {
		return fmt.Errorf("make a directory to measure in: %w", err)
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // a temporary directory
	if b.yudai, err = filepath.Abs(b.yudai); err != nil {
		return err
	}
	about := machine(b.dir)
	fmt.Fprintln(out, about)
	t, err := b.measure(ctx, chosen)
	text := t.String()
	fmt.Fprint(out, "\n"+text)
	if err == nil && *update {
		err = updatePage(page, about+"\n\n"+text)
	}
	return err
}

// choose returns the rows with these keys, all for none.
func choose(only string) ([]row, error) {
	if only == "" {
		return rows(), nil
	}
	var out []row
	for key := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(rows(), func(r row) bool { return r.key == strings.TrimSpace(key) })
		if i < 0 {
			return nil, fmt.Errorf("no row %q: there are %s", key, strings.Join(keys(), ", "))
		}
		out = append(out, rows()[i])
	}
	return out, nil
}

func keys() []string {
	var out []string
	for _, r := range rows() {
		out = append(out, r.key)
	}
	return out
}
