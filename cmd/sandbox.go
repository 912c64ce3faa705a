package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/server"
)

func newSandbox(s streams) *cobra.Command {
	c := &cobra.Command{
		Use: "sandbox", Short: "Build what sandboxes start from", Args: onlyCommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	build := &cobra.Command{
		Use: "build DRIVER", Short: "Build the template of a driver at its provider (e2b)",
		Args: wants(1, "the name of a driver, such as e2b"),
		Long: "Build at the provider what the sandboxes of a driver start from: for e2b the template that\n" +
			"sandbox.e2b.template names, of the size of sandbox.e2b.cpus and memory_mib. It needs the provider's\n" +
			"key. A second build replaces the first; open sandboxes stay as they are.",
	}
	c.AddCommand(withConfig(build, func(ctx context.Context, cfg server.Config, args []string) error {
		settings, err := drivers.Build(ctx, cfg.Sandbox, args[0], func(line string) { fmt.Fprintln(s.out, line) })
		if err != nil {
			return fmt.Errorf("build for sandboxes: %w", err)
		}
		fmt.Fprintf(s.out, "\nBuilt. Sandboxes start from it with this in config.yml:\n\n%s", settings)
		return nil
	}))
	return c
}
