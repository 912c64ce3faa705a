package presets_test

import (
	"context"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// still is a machine on which there is nothing but what a program printed, once.
type still struct {
	sandbox.Sandbox
	output []byte
	read   bool
}

func (s *still) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	if s.read || strings.HasPrefix(c.Argv[0], "tail") {
		return sandbox.Result{ExitCode: 1}, nil
	}
	s.read = true
	_, err := c.Stdout.Write(s.output)
	return sandbox.Result{}, err
}
