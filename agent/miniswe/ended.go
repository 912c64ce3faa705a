package miniswe

import (
	"context"
	"fmt"
	"regexp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
)

// ended reads how the run ended from the trajectory. The exit code says nothing: 0 is
// also a limit that was reached, and 1 may follow useful work.
func ended(ctx context.Context, box sandbox.Sandbox, e command.End) command.Outcome {
	f, data, err := read(ctx, box)
	if err != nil {
		return command.Outcome{Exit: agent.ExitSandbox, Reason: "the sandbox failed", Err: err}
	}
	if f == nil || f.Info.ExitStatus == "" {
		out := crashed(e)
		out.Trajectory = data
		return out
	}
	out := meaning(f.Info.ExitStatus)
	out.Submission, out.Trajectory = f.Info.Submission, data
	return out
}

// meaning is what an exit status of mini means: a word of its own or the name of a Python
// exception. The text of the exception is left out, because it may hold anything.
func meaning(status string) command.Outcome {
	switch status {
	case "Submitted":
		return command.Outcome{Exit: agent.ExitSubmitted, Reason: "the agent submitted its work"}
	case "LimitsExceeded": // it has no limit but that on steps
		return command.Outcome{Exit: agent.ExitLimits, Reason: "the step limit of the run was reached"}
	case "TimeExceeded":
		return command.Outcome{Exit: agent.ExitTime, Reason: agent.ErrRunTime.Error()}
	case "RepeatedFormatError":
		return command.Outcome{Exit: agent.ExitFormat, Reason: "the model answered several times in a row outside the format"}
	}
	if !isName(status) {
		status = agent.ExitProgram
	}
	o := command.Outcome{Exit: status, Err: fmt.Errorf("%s ended by %s", Name, status)}
	switch status {
	case agent.StatusAuthentication, agent.StatusPermission, agent.StatusNotFound:
		o.Reason = "the call to the model was refused"
	case agent.StatusContext:
		o.Reason = "the conversation became longer than the model takes"
	case agent.StatusRateLimit, agent.StatusTimeout, agent.StatusConnection, agent.StatusInternal, agent.StatusUnavailable,
		agent.StatusBadRequest, "APIError", "BadGatewayError":
		o.Reason = "the call to the model failed (" + status + ")"
	default:
		o.Reason = Name + " ended by an error (" + status + ")"
	}
	return o
}

func isName(s string) bool { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,63}$`).MatchString(s) }

// crashed is the end of a program that did not say how it ended: it was killed, or did not start.
func crashed(e command.End) command.Outcome {
	o := command.Outcome{Exit: agent.ExitProgram, Reason: fmt.Sprintf("%s ended early, with exit status %d", Name, e.ExitCode)}
	if e.ExitCode == 126 || e.ExitCode == 127 {
		o.Reason = Name + " is not installed in the sandbox: no file " + dir + "/bin/mini"
	}
	if found := regexp.MustCompile(`(?m)^([A-Za-z]{1,60}(?:Error|Exception))\b`).FindAllSubmatch(e.Output, -1); len(found) > 0 {
		o.Reason += " (" + string(found[len(found)-1][1]) + ")"
	}
	o.Err = fmt.Errorf("%s left no end in its trajectory: exit status %d", Name, e.ExitCode)
	return o
}
