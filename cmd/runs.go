package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

func newRuns(s streams) *cobra.Command {
	limit, state, repository := 0, "", ""
	c := &cobra.Command{
		Use: "runs", Short: "List the solves of a running server, the newest first", Args: wants(0, "no arguments"),
	}
	f := c.Flags()
	f.IntVar(&limit, "limit", 20, "how many at most")
	f.StringVar(&state, "state", "", "only those in this state, such as running or solved")
	f.StringVar(&repository, "repo", "", "only those of this repository, owner/name")
	return withServer(s, c, func(ctx context.Context, a asker, _ []string) error {
		if limit < 1 {
			return usage(fmt.Errorf("--limit: %d is no number of solves: write 1 or more", limit))
		}
		query := url.Values{"limit": {strconv.Itoa(min(limit, 100))}, "state": {state}, "repository": {repository}}
		rows, list := [][]string{{"Solve", "State", "Grade", "Asked for", "Cost", "Issue", "Title"}}, []any{}
		for one, err := range a.at.Solves(ctx, query) {
			if err != nil {
				return err
			}
			rows = append(rows, []string{
				one.SolveID, one.State, cmp.Or(one.Grade, "-"), one.CreatedAt.Local().Format("2006-01-02 15:04"),
				report.Price(solve.Dollars(one.CostUSD), len(one.Unpriced) > 0),
				fmt.Sprintf("%s#%d", one.Repository, one.IssueNumber), solve.Clip(solve.OneLine(one.Title), 60),
			})
			if list = append(list, one); len(list) == limit {
				break
			}
		}
		if a.json {
			return printJSON(a.out, "  ", map[string]any{"solves": list})
		}
		return printTable(a.out, rows)
	})
}
