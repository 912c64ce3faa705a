package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

func newSetup(s streams) *cobra.Command {
	path, where := "", server.Where{}
	c := &cobra.Command{
		Use: "setup", Short: "Register your GitHub App in the browser, then serve as it", Args: wants(0, "no arguments"),
		Long: "Register your GitHub App in the browser, check it, and serve as it, without a restart.\n" +
			"The link that is printed opens the set-up once. The App and its secrets are kept beside the store,\n" +
			"readable by this user only; the next start is `yudai serve`.",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := server.Load(path, os.Getenv)
			if err != nil {
				return exitError{exitUsage, err}
			}
			return runSetup(c.Context(), s, cfg, where)
		},
	}
	c.Flags().StringVarP(&path, "config", "c", "", "configuration file (default: config.yml here if there is one, else the built-in defaults)")
	c.Flags().StringVar(&where.Address, "address", "", "listen here, host:port (default: server.address)")
	c.Flags().StringVar(&where.PublicURL, "public-url", "", "where GitHub reaches this server (default: server.public_url)")
	return c
}

// runSetup serves the set-up and then the bot.
func runSetup(ctx context.Context, s streams, cfg server.Config, where server.Where) error {
	set, err := server.NewSetup(ctx, cfg, where, server.Options{Getenv: os.Getenv, Log: logger(s)})
	if err != nil {
		return exitError{exitUsage, err}
	}
	fmt.Fprintf(s.out, "Open this page to set yudai up: %s\n", set.URL())
	server.Lean(os.Getenv)
	return leaseLost(set.Run(ctx))
}

// leaseLost gives a lost lease its own exit code: whoever started us starts us again.
func leaseLost(err error) error {
	if errors.Is(err, solve.ErrLeaseLost) {
		return exitError{exitLeaseLost, err}
	}
	return err
}
