package cmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
)

func newRecord(s streams) *cobra.Command {
	url := ""
	c := &cobra.Command{
		Use: "record OWNER/NAME", Short: "Tell how often each model was right in a repository", Args: wants(1, "one repository, as owner/name"),
		Long: "Tell the track record of a repository: how often the candidates of each model, with its agent and\n" +
			"strategy, were right, and the rate that is expected of the next one. The command asks the running\n" +
			"server (GET /repos/OWNER/NAME/record, with the API token); if none answers, it reads the store's file.",
	}
	c.Flags().StringVar(&url, "url", "", "where the server is (default: server.address)")
	return withConfig(c, func(ctx context.Context, cfg server.Config, args []string) error {
		rates, err := server.TrackRecord(ctx, cfg, url, args[0], os.Getenv)
		if err != nil {
			return err
		}
		fmt.Fprint(s.out, report.TrackRecordText(rates))
		if !cfg.Solver.Record {
			fmt.Fprintln(s.out, "\nNo plan uses it: solver.record is false.")
		}
		return nil
	})
}
