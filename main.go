// Command yudai is a self-hosted GitHub App bot that solves issues by a matrix
// of experiments, judges every candidate with the repository's own tests, and
// opens one pull request with the champion.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/yudai-dev/yudai/cmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cmd.Execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
