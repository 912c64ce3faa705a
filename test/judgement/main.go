// Command judgement measures how well yudai chooses. docs/evidence/judgement.md holds what it finds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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

// run measures what the flags ask for.
func run(_ context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("judgement", flag.ContinueOnError)
	name := f.String("selection", "", "score the rules on this set instead of the published one")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	issues, err := loadSelection(*name)
	if err != nil {
		return err
	}
	fmt.Fprint(out, selectionTables(issues, evaluate(issues)))
	return nil
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
