package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

func newServe(s streams) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Receive webhooks and solve issues until stopped", Args: wants(0, "no arguments"),
		Long: "Receive webhooks of your GitHub App and solve issues until stopped.\n" +
			"Secrets come from the environment (GITHUB_APP_INTEGRATION_ID, GITHUB_APP_WEBHOOK_SECRET,\n" +
			"GITHUB_APP_PRIVATE_KEY), from files named in config.yml, or from what `yudai setup` wrote. Without\n" +
			"any of them it begins the set-up.",
	}
	return withConfig(c, func(ctx context.Context, cfg server.Config, _ []string) error {
		if cfg.Bare(os.Getenv) {
			return runSetup(ctx, s, cfg, server.Where{})
		}
		srv, err := server.New(ctx, cfg, server.Options{Getenv: os.Getenv, Log: logger(s)})
		if err != nil {
			return usage(err)
		}
		fmt.Fprintf(s.err, "yudai listens on http://%s (webhooks at /api/github/hook, API at /docs)\n", srv.Addr())
		if page := srv.PageURL("/"); page != "" {
			fmt.Fprintf(s.err, "see the solves at %s (the link opens once, within an hour)\n", page)
		}
		return run(ctx, srv)
	})
}

func newSetup(s streams) *cobra.Command {
	where := server.Where{}
	c := &cobra.Command{
		Use: "setup", Short: "Register your GitHub App in the browser, then serve as it", Args: wants(0, "no arguments"),
		Long: "Register your GitHub App in the browser, check it, and serve as it, without a restart.\n" +
			"The printed link opens the set-up once. yudai keeps the App and its secrets beside the store,\n" +
			"readable by this user only. Later starts use `yudai serve`.",
	}
	c.Flags().StringVar(&where.Address, "address", "", "listen here, host:port (default: server.address)")
	c.Flags().StringVar(&where.PublicURL, "public-url", "", "where GitHub reaches this server (default: server.public_url)")
	return withConfig(c, func(ctx context.Context, cfg server.Config, _ []string) error { return runSetup(ctx, s, cfg, where) })
}

// runSetup serves the set-up and then the bot.
func runSetup(ctx context.Context, s streams, cfg server.Config, where server.Where) error {
	set, err := server.NewSetup(ctx, cfg, where, server.Options{Getenv: os.Getenv, Log: logger(s)})
	if err != nil {
		return usage(err)
	}
	fmt.Fprintf(s.out, "Open this page to set yudai up: %s\n", set.URL())
	return run(ctx, set)
}

// run runs a server until it is stopped. A lost lease has an exit code of its own:
// whoever started us starts us again.
func run(ctx context.Context, srv interface{ Run(context.Context) error }) error {
	server.Lean(os.Getenv)
	err := srv.Run(ctx)
	if errors.Is(err, solve.ErrLeaseLost) {
		return exitError{exitLeaseLost, err}
	}
	return err
}

// logger writes JSON, or a readable form on a terminal.
func logger(s streams) zerolog.Logger {
	w := s.err
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		w = zerolog.ConsoleWriter{Out: f, TimeFormat: "15:04:05"}
	}
	return zerolog.New(w).Level(zerolog.InfoLevel).With().Timestamp().Logger()
}
