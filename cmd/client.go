package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

// asker is a command that asks a running server.
type asker struct {
	streams
	json bool
	at   server.Client
}

// aSolve is the argument of a command about one solve.
const aSolve = "the ID of a solve, or its beginning"

// withServer gives a command the flags of all that ask a server, and has it make the client first.
func withServer(s streams, c *cobra.Command, run func(ctx context.Context, a asker, args []string) error) *cobra.Command {
	a := asker{streams: s}
	jsonFlag(c, &a.json)
	return withClient(c, func(ctx context.Context, at server.Client, args []string) error {
		a.at = at
		return run(ctx, a, args)
	})
}

// withClient is withServer for a command that prints nothing of its own.
func withClient(c *cobra.Command, run func(ctx context.Context, at server.Client, args []string) error) *cobra.Command {
	base := ""
	c.Flags().StringVar(&base, "url", "", "where the server is (default: YUDAI_URL, else server.address, else server.public_url)")
	return withConfig(c, func(ctx context.Context, cfg server.Config, args []string) error {
		at, err := server.NewClient(cfg, base, os.Getenv)
		if err != nil {
			return usage(err)
		}
		return run(ctx, at, args)
	})
}

// withSolve is [withServer] for a command whose first argument is a solve: the beginning of its ID is enough, and shells complete it.
func withSolve(s streams, c *cobra.Command, run func(ctx context.Context, a asker, args []string) error) *cobra.Command {
	var ids []cobra.Completion // if they are asked for
	withServer(s, c, func(ctx context.Context, a asker, args []string) (err error) {
		if len(args) == 0 {
			ids, err = a.newest(ctx)
			return err
		}
		if args[0], err = a.at.Find(ctx, args[0]); err != nil {
			return err
		}
		return run(ctx, a, args)
	})
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			_ = c.RunE(c, nil) // a shell has no place for an error
		}
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	return c
}

// newest are the IDs of the newest solves, each with what a shell tells of it.
func (a asker) newest(ctx context.Context) (ids []cobra.Completion, err error) {
	const most, limit = 30, 3 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for s, err := range a.at.Solves(ctx, url.Values{}) {
		if err != nil || len(ids) == most {
			return ids, err
		}
		about := fmt.Sprintf("%s#%d %s %s", s.Repository, s.IssueNumber, s.State, solve.OneLine(s.Title))
		ids = append(ids, cobra.CompletionWithDesc(s.SolveID, about))
	}
	return ids, nil
}

const (
	// askEvery is how often a server is asked for what changes.
	askEvery = time.Second
	// patience is how long it may be away meanwhile.
	patience = 2 * time.Minute
)

// follow asks again and again until it is done. A server that has answered once may be away for a while.
func follow(ctx context.Context, ask func() (done bool, err error)) error {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	answered := time.Time{}
	for {
		done, err := ask()
		switch {
		case err == nil && done:
			return nil
		case ctx.Err() != nil:
			return exitError{exitStopped, errors.New("stopped watching; the solve goes on")}
		case err == nil:
			answered = time.Now()
		case !errors.Is(err, server.ErrAway) || time.Since(answered) > patience:
			return err
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
