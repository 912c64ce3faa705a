package presets_test

import (
	"context"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// still is a machine on which there is nothing but what a program printed, once.
type still struct {
	agent.Machine
	output []byte
	read   bool
}

func (s *still) Exec(_ context.Context, p agent.Program, _ int64) (agent.Ran, error) {
	if s.read || strings.HasPrefix(p.Argv[0], "tail") {
		return agent.Ran{ExitCode: 1}, nil
	}
	s.read = true
	return agent.Ran{Stdout: s.output}, nil
}
