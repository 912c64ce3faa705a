package presets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
)

// gaveUp is the end of an agent that gave up.
func gaveUp(who, status, why string) command.Outcome {
	reason := fmt.Sprintf("%s gave up: %s", who, agent.OneLine(why))
	return command.Outcome{Exit: status, Reason: reason, Err: errors.New(reason)}
}

// noResult is the end of an agent that did not say how it ended, with the last line of its
// standard error.
func noResult(ctx context.Context, box sandbox.Sandbox, e command.End, who string) command.Outcome {
	reason := fmt.Sprintf("%s ended without a result (exit status %d)", who, e.ExitCode)
	ran, err := sandbox.Capture(ctx, box, sandbox.Command{
		Argv: []string{"tail", "-c", "2000", errorsFile}, Timeout: readTime, MaxOutput: 4000,
	})
	if err == nil && ran.ExitCode == 0 {
		lines := strings.Split(strings.TrimSpace(string(ran.Stdout)), "\n")
		if last := agent.OneLine(lines[len(lines)-1]); last != "" {
			reason += ": " + last
		}
	}
	return command.Outcome{Exit: agent.ExitProgram, Reason: reason, Err: errors.New(reason)}
}
