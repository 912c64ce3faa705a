package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
)

func newHealthcheck() *cobra.Command {
	c := &cobra.Command{
		Use: "healthcheck", Short: "Ask the server on this machine whether it answers", Args: wants(0, "no arguments"),
		Long: "Ask the server on this machine for /healthz, at server.address. It says nothing if all is well, and exits\n" +
			"with 1 if nobody answers. Containers call it; `yudai doctor` checks the machine and the configuration.",
	}
	return withConfig(c, func(ctx context.Context, cfg server.Config, _ []string) error {
		return server.Healthy(ctx, cfg)
	})
}
