package cmd

import (
	"fmt"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/yudai-dev/yudai/server"
)

func newServe(s streams) *cobra.Command {
	path := ""
	c := &cobra.Command{
		Use: "serve", Short: "Receive webhooks and solve issues until stopped", Args: wants(0, "no arguments"),
		Long: "Receive webhooks of your GitHub App and solve issues until stopped.\n" +
			"Secrets come from the environment (GITHUB_APP_INTEGRATION_ID, GITHUB_APP_WEBHOOK_SECRET,\n" +
			"GITHUB_APP_PRIVATE_KEY), from files named in config.yml, or from what `yudai setup` wrote. With none\n" +
			"of them it begins the set-up.",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := server.Load(path, os.Getenv)
			if err != nil {
				return exitError{exitUsage, err}
			}
			if cfg.Bare(os.Getenv) {
				return runSetup(c.Context(), s, cfg, server.Where{})
			}
			log := logger(s)
			srv, err := server.New(c.Context(), cfg, server.Options{Getenv: os.Getenv, Log: log})
			if err != nil {
				return exitError{exitUsage, err}
			}
			server.Lean(os.Getenv)
			fmt.Fprintf(s.err, "yudai listens on http://%s (webhooks at /api/github/hook, API at /docs)\n", srv.Addr())
			return leaseLost(srv.Run(c.Context()))
		},
	}
	c.Flags().StringVarP(&path, "config", "c", "", "configuration file (default: config.yml here if there is one, else the built-in defaults)")
	return c
}

// logger writes JSON, or a readable form on a terminal.
func logger(s streams) zerolog.Logger {
	w := s.err
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		w = zerolog.ConsoleWriter{Out: f, TimeFormat: "15:04:05"}
	}
	return zerolog.New(w).Level(zerolog.InfoLevel).With().Timestamp().Logger()
}
