package cmd

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

func newReduce(s streams) *cobra.Command {
	explain := false
	c := &cobra.Command{
		Use: "reduce RECORD.json", Short: "Recompute the champion of an exported solve record",
		Long: "Recompute the champion from an exported solve record and compare it with the one that was chosen.\n" +
			"Exit 0 if they agree, 1 if not. `yudai solve` writes records; a server exports them at\n" +
			"GET /solve/{id}/record.",
		Args: wants(1, "one record file"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return usage(fmt.Errorf("read the record: %w", err))
			}
			rec, err := solve.ReadRecord(data)
			if err != nil {
				return usage(fmt.Errorf("%s is no record of a solve: %w", args[0], err))
			}
			text, same := report.Explain(rec)
			if explain {
				fmt.Fprintln(s.out, text)
			}
			d := solve.Decide(rec.Solve, rec.Runs, rec.Rule())
			if !same {
				return fmt.Errorf("the record's champion is run %d, recomputed it is run %d", stored(rec), d.Champion)
			}
			fmt.Fprintf(s.out, "champion: run %d, as recorded\n", d.Champion)
			return nil
		},
	}
	c.Flags().BoolVar(&explain, "explain", false, "print the comparisons that led to the champion")
	return c
}

func stored(rec solve.Record) int {
	if rec.Solve.Decision == nil {
		return 0
	}
	return rec.Solve.Decision.Champion
}
