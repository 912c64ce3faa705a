package command

import (
	"maps"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// Program is the agent that the entry describes. It is taken as valid.
//
// The program has the variables YUDAI_URL, YUDAI_TOKEN, YUDAI_MODEL, YUDAI_API,
// YUDAI_TASK_FILE and YUDAI_RUN_DIR, and those of its BaseURLStyle. What its install
// makes in a directory of its name, bin and node_modules/.bin, is in its PATH.
func (e Entry) Program() Program {
	home := agent.InstallDir + "/" + e.Name
	return Program{
		Name: e.Name, APIs: e.APIs,
		Install: agent.Installation{Command: e.Install, Hosts: e.Hosts},
		Prepare: func(t Task) (Start, error) {
			return Start{
				Argv: e.argv(t), Env: e.env(t),
				Path: []string{home + "/bin", home + "/node_modules/.bin"},
			}, nil
		},
	}
}

// argv never holds the token: command lines can be read by everybody on a machine.
func (e Entry) argv(t Task) []string {
	argv := []string{"bash", "-c", e.Shell}
	if len(e.Command) > 0 {
		replace := strings.NewReplacer("{task_file}", TaskFile, "{run_dir}", agent.RunDir, "{model}", t.Gateway.Model)
		argv = nil
		for _, word := range e.Command {
			argv = append(argv, replace.Replace(word))
		}
	}
	if e.Task == TaskByStdin {
		return append([]string{"bash", "-c", `exec "$@" <` + TaskFile, "bash"}, argv...)
	}
	return argv
}

func (e Entry) env(t Task) map[string]string {
	env := map[string]string{
		"YUDAI_URL": t.Gateway.URL, "YUDAI_TOKEN": t.Gateway.Token, "YUDAI_MODEL": t.Gateway.Model, "YUDAI_API": t.API,
		"YUDAI_TASK_FILE": TaskFile, "YUDAI_RUN_DIR": agent.RunDir,
	}
	maps.Copy(env, styleEnv(e.style(t), t.Gateway))
	replace := strings.NewReplacer(
		"{url}", t.Gateway.URL, "{token}", t.Gateway.Token, "{model}", t.Gateway.Model, "{task_file}", TaskFile, "{run_dir}", agent.RunDir,
	)
	for name, value := range e.Env {
		env[name] = replace.Replace(value)
	}
	return env
}

// style goes by the API in use where the entry names none.
func (e Entry) style(t Task) string {
	switch {
	case e.BaseURLStyle != "":
		return e.BaseURLStyle
	case t.API == agent.APIMessages:
		return StyleAnthropic
	}
	return StyleOpenAI
}

// styleEnv are the variables by which the makers' own clients find a server and its key.
func styleEnv(style string, d agent.GatewaySession) map[string]string {
	switch style {
	case StyleOpenAI:
		return map[string]string{"OPENAI_BASE_URL": d.URL + "/v1", "OPENAI_API_KEY": d.Token}
	case StyleAnthropic:
		return map[string]string{"ANTHROPIC_BASE_URL": d.URL, "ANTHROPIC_API_KEY": d.Token}
	}
	return nil
}
