package cmd

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
)

func newSandbox(s streams) *cobra.Command {
	c := &cobra.Command{
		Use: "sandbox", Short: "Build what sandboxes start from",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return exitError{exitUsage, fmt.Errorf("unknown command %q; see %s --help", args[0], c.CommandPath())}
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSandboxBuild(s))
	return c
}

func newSandboxBuild(s streams) *cobra.Command {
	path := ""
	c := &cobra.Command{
		Use: "build DRIVER", Short: "Build the template of a driver at its provider (e2b)", Args: wants(1, "the name of a driver, such as e2b"),
		Long: "Build what sandboxes of a driver start from, at its provider: for e2b the template that\n" +
			"sandbox.e2b.template names, of the size that sandbox.e2b.cpus and memory_mib say. The key of the\n" +
			"provider is needed. Building again replaces it; what runs goes on as it is.",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := server.Load(path, os.Getenv)
			if err != nil {
				return exitError{exitUsage, err}
			}
			settings, err := server.BuildSandbox(c.Context(), cfg, args[0], func(line string) { fmt.Fprintln(s.out, line) })
			if err != nil {
				return err
			}
			fmt.Fprintf(s.out, "\nBuilt. Sandboxes start from it with this in config.yml:\n\n%s", settings)
			return nil
		},
	}
	c.Flags().StringVarP(&path, "config", "c", "", "configuration file (default: config.yml here if there is one, else the built-in defaults)")
	return c
}
