package sweagent

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// result is the result of a program that ended by itself. Whatever it is, the patch is collected.
func (r *run) result(p *process, sandbox error) agent.Result {
	t, _ := r.read()
	res := agent.Result{Trajectory: r.trajectory()}
	if t.Info.Submission != nil {
		res.Submission = *t.Info.Submission
	}
	status := ""
	if t.Info.Exit != nil {
		status = *t.Info.Exit
	}
	trouble := r.rec.Job.Gateway.LastError()
	switch {
	case status == "submitted":
		res.Exit, res.Reason = agent.ExitSubmitted, "the agent submitted its work"
	case sandbox != nil:
		res.Exit, res.Reason, res.Err = agent.ExitSandbox, "the sandbox failed", sandbox
	case trouble != nil:
		refused := r.rec.CallFailure(trouble)
		res.Exit, res.Reason, res.Err = refused.Exit, refused.Reason, refused.Err
	case status != "":
		res.Exit, res.Reason = meaning(status)
	default:
		said := string(r.rec.Redact([]byte(p.tail.String())))
		res.Exit, res.Reason = crash(p.err, said)
		if p.err != nil && res.Exit == agent.ExitProgram {
			res.Err = fmt.Errorf("run SWE-agent: %w; it printed last:\n%s", p.err, said)
		}
	}
	return res
}

// ending is an end that SWE-agent has beside "submitted": its status, the words in its log,
// and what it is called here. Its client of a remote sandbox breaks when it wants to submit
// by itself after one of them, so that often only the log tells.
type ending struct{ status, words, exit, reason string }

var endings = []ending{
	{"exit_cost", "cost limit", agent.ExitLimits, "SWE-agent stopped at its limit of model calls"},
	{
		"exit_total_execution_time", "total execution time exceeded",
		agent.ExitTime, "SWE-agent stopped because its commands took too long together",
	},
	{"exit_format", "repeated format", agent.ExitFormat, "the model does not answer in the format of SWE-agent"},
	{"exit_context", "context window", agent.StatusContext, "the conversation became longer than the model can read"},
	{
		"exit_command_timeout", "multiple consecutive command timeouts",
		"exit_command_timeout", "several commands in a row took too long",
	},
	{"exit_forfeit", "forfeit", "exit_forfeit", "the agent gave up"},
}

// meaning maps an exit status of SWE-agent; those that are unknown keep their word.
func meaning(status string) (exit, reason string) {
	word := strings.TrimSuffix(strings.TrimPrefix(status, "submitted ("), ")")
	for _, e := range endings {
		if e.status == word {
			return e.exit, e.reason
		}
	}
	return word, fmt.Sprintf("SWE-agent ended with the status %q", status)
}

// exitLine is what SWE-agent says in its log when it stops.
var exitLine = regexp.MustCompile(`Exit(?:ing)? due to ([^\n]*)`)

// crash reads from its last output why a program ended without a status.
func crash(err error, said string) (exit, reason string) {
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return agent.ExitProgram, "SWE-agent ended without a word"
	case !exited:
		return agent.ExitProgram, "SWE-agent could not be started: see swe_agent.command"
	}
	last := lastWords(said)
	if all := exitLine.FindAllStringSubmatch(said, -1); len(all) > 0 {
		last = strings.TrimSpace(all[len(all)-1][1])
		for _, e := range endings {
			if strings.HasPrefix(last, e.words) {
				return e.exit, e.reason
			}
		}
	}
	return agent.ExitProgram, fmt.Sprintf("SWE-agent failed (%v): %s", err, agent.OneLine(last))
}

// lastWords is the last line of a log, or of a traceback in it the one with the error.
func lastWords(said string) string {
	last, found := "", false
	for line := range strings.Lines(said) {
		line = strings.Trim(line, " \t\r\n│╭╮╰╯─")
		kind, _, _ := strings.Cut(line, ":")
		switch is := pythonError.MatchString(kind); {
		case is:
			last, found = line, true
		case !found && line != "":
			last = line
		}
	}
	return last
}

// pythonError is how the last line of a traceback begins.
var pythonError = regexp.MustCompile(`^[A-Za-z_.]*(Error|Exception)$`)
