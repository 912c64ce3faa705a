package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
)

func newMCP() *cobra.Command {
	c := &cobra.Command{
		Use: "mcp", Short: "Offer solves as tools to an agent, by MCP on standard input and output", Args: wants(0, "no arguments"),
		Long: "Offer the tools start, status, wait, why, diff and cancel to an agent, by the Model Context Protocol on standard\n" +
			"input and output. Agents start this command themselves; each tool asks the running server. The server has the\n" +
			"same tools at /mcp.",
	}
	return withClient(c, func(ctx context.Context, at server.Client, _ []string) error {
		err := server.ServeTools(ctx, at)
		if errors.Is(err, context.Canceled) {
			return exitError{exitStopped, errors.New("stopped; the solves go on")}
		}
		return err
	})
}
