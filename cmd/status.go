package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

func newStatus(s streams) *cobra.Command {
	c := &cobra.Command{
		Use: "status SOLVE", Short: "Tell where a solve stands", Args: wants(1, aSolve),
		Long: "Tell where a solve of a running server stands: its state, its runs with steps and costs, its pull request.\n" +
			"--json prints what GET /solve/{id}/status answers.",
	}
	return withSolve(s, c, func(ctx context.Context, a asker, args []string) error {
		st, err := a.at.Status(ctx, args[0])
		if err != nil {
			return err
		}
		if a.json {
			return printJSON(a.out, "  ", st.JSON)
		}
		return printStanding(a, st)
	})
}

// printStanding prints the head of a solve, its runs and what came of it.
func printStanding(a asker, st server.Standing) error {
	v, t := st.View(), st.Told
	state := standing(v.Solve)
	if t.Grade != nil {
		state += ", " + t.Grade.Name
	}
	age := until(v.Solve).Sub(t.CreatedAt).Round(time.Second)
	fmt.Fprintf(a.out, "%s#%d, solve %s: %s, %s%s\n", t.Repository, t.IssueNumber, t.SolveID, state, age, after(doing(v.Solve)))
	for _, line := range runLines(v) {
		fmt.Fprintln(a.out, line)
	}
	if p := t.PullRequest; p != nil {
		fmt.Fprintf(a.out, "pull request #%d: %s\n", p.Number, p.URL)
	}
	_, err := fmt.Fprintf(a.out, "cost of the models: %s\n", report.PageOf(v).Cost)
	return err
}

// until is when a solve ended, or now.
func until(s solve.Solve) time.Time {
	if s.Ended.IsZero() {
		return time.Now()
	}
	return s.Ended
}
