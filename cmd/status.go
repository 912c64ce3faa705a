package cmd

import (
	"bytes"
	"cmp"
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

func newWatch(s streams) *cobra.Command {
	c := &cobra.Command{
		Use: "watch SOLVE", Short: "Follow a solve to its end", Args: wants(1, aSolve),
		Long: "Follow a solve of a running server to its end: a table that redraws itself on a terminal, a line for each\n" +
			"change elsewhere; then the scorecard. --json prints each change as a line. Exit 0 if it was solved, 1 if not.\n" +
			"Ctrl-C ends the watching, not the solve.",
	}
	return withSolve(s, c, func(ctx context.Context, a asker, args []string) error {
		var last server.Standing
		var p *progress
		err := follow(ctx, func() (bool, error) {
			st, err := a.at.Status(ctx, args[0])
			if err != nil {
				return false, err
			}
			if p == nil {
				p = newProgress(a.out, st.Told.CreatedAt)
			}
			err = a.change(p, last, st)
			last = st
			ended := st.View().Solve.State.Final()
			if ended && err == nil {
				err = a.ending(ctx, st.Told.SolveID)
			}
			return ended, err
		})
		if t := last.Told; err == nil && t.State != string(solve.StateSolved) {
			err = fmt.Errorf("the solve ended %s: %s", t.State, cmp.Or(t.Reason, "no reason is known"))
		}
		return err
	})
}

// change shows what is new of a solve.
func (a asker) change(p *progress, last, now server.Standing) error {
	if !a.json {
		v := now.View()
		p.show(v, until(v.Solve))
		return nil
	}
	if bytes.Equal(last.JSON, now.JSON) {
		return nil
	}
	return printJSON(a.out, "", now.JSON)
}

// ending prints the scorecard of a solve that has ended. Who stops watching here goes without.
func (a asker) ending(ctx context.Context, id string) error {
	if a.json {
		return nil
	}
	rec, _, err := a.at.Record(ctx, id)
	if err == nil {
		_, err = fmt.Fprintf(a.out, "\n%s", scorecard(a, rec))
	}
	if ctx.Err() != nil {
		err = nil
	}
	return err
}
