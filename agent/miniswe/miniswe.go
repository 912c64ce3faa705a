// Package miniswe runs the real mini-swe-agent, the Python program, inside the
// sandbox: how it is installed from a lock with hashes, how it is started so that it
// never asks and reads nothing of the repository's as its own configuration, and how
// its trajectory file becomes our transcript.
package miniswe

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
)

// Name of the agent, what people write in agents=...
const Name = "mini-swe-agent"

// Files of the agent. All are outside the repository: mini looks for a configuration
// in the current directory first, unless it is given an absolute path.
const (
	dir        = agent.InstallDir + "/" + Name
	lockFile   = dir + ".txt"
	runDir     = agent.RunDir + "/mini"
	runFile    = runDir + "/run.yaml"
	trajectory = runDir + "/run.traj.json"
)

// attempts is how often mini tries a call that fails: with its own waits of 4 to 60
// seconds, four minutes, in which yudai can be started again.
const attempts = 10

// noCommandTime is the time limit of a command, in seconds, where there is none: mini
// always needs one.
const noCommandTime = 24 * 60 * 60

//go:embed install.sh
var install string

// lock names every package with its hashes; see pip/pyproject.toml.
//
//go:embed pip/requirements.txt
var lock []byte

// Program is the agent.
func Program() command.Program {
	return command.Program{
		Name: Name,
		APIs: []string{agent.APIChat, agent.APIMessages, agent.APIResponses},
		Install: agent.Installation{
			Files:   []agent.File{{Path: lockFile, Data: lock}},
			Command: install,
			Hosts:   []string{"pypi.org", "files.pythonhosted.org"},
		},
		Prepare: prepare,
		Collect: collect,
		Ended:   ended,
	}
}

// prepare starts mini so that it never asks (decision 0022). The token goes by the
// environment only, because the configuration is printed and becomes part of the trajectory.
func prepare(t command.Task) (command.Start, error) {
	env := map[string]string{
		"MSWEA_CONFIGURED":                     "true",
		"MSWEA_SILENT_STARTUP":                 "1",
		"MSWEA_GLOBAL_CONFIG_DIR":              runDir,
		"MSWEA_COST_TRACKING":                  "ignore_errors",
		"MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": strconv.Itoa(attempts),
		"LITELLM_LOCAL_MODEL_COST_MAP":         "True",
		"LITELLM_MODE":                         "PRODUCTION", // reads no .env
	}
	model, class := "openai/", "litellm"
	switch t.API {
	case agent.APIChat:
	case agent.APIResponses:
		class = "litellm_response"
	case agent.APIMessages:
		model = "anthropic/"
	default:
		return command.Start{}, fmt.Errorf("unknown API %q", t.API)
	}
	if t.API == agent.APIMessages {
		env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_API_KEY"] = t.Gateway.URL, t.Gateway.Token
	} else {
		env["OPENAI_BASE_URL"], env["OPENAI_API_KEY"] = t.Gateway.URL+"/v1", t.Gateway.Token
	}
	return command.Start{
		Files: []agent.File{{Path: runFile, Data: configuration(t)}},
		Argv: []string{
			dir + "/bin/mini", "--agent-class", "default", "--environment-class", "local",
			"--model-class", class, "--model", model + t.Gateway.Model,
			"--config", dir + "/config/mini.yaml", "--config", runFile, "--output", trajectory,
		},
		Env: env,
	}, nil
}

// configuration is the run's own, over the packaged one. The gateway counts the money, so
// mini's own limit is off. The task is a value, so nothing in it is evaluated as a template.
func configuration(t command.Task) []byte {
	seconds := noCommandTime
	if t.CommandTime > 0 {
		seconds = int(math.Ceil(min(t.CommandTime, noCommandTime*time.Second).Seconds()))
	}
	return fmt.Appendf(nil, `run:
  task: %s
agent:
  step_limit: %d
  cost_limit: 0
environment:
  timeout: %d
model:
  model_kwargs:
    drop_params: true
`, quote(t.Text), max(t.Steps, 0), seconds)
}

// quote is a text in YAML, in ASCII: Python's reader of YAML refuses some characters. Go's
// escapes are YAML's, too.
func quote(text string) string { return strconv.QuoteToASCII(strings.ToValidUTF8(text, "\uFFFD")) }
