package command

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/solve"
)

// Builtin are the names of the agents that need no entry, in the order in which people
// are told of them.
func Builtin() []string {
	return []string{"mini", "mini-swe-agent", "claude-code", "codex", "opencode", "swe-agent"}
}

// placeholders are what Env may hold, and what the arguments of a command may.
func placeholders() (env, command []string) {
	return []string{"{url}", "{token}", "{model}", "{task_file}", "{run_dir}"}, []string{"{task_file}", "{run_dir}", "{model}"}
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	report.Unless(c.Patience >= time.Second && c.Patience <= time.Hour, "patience", "must be 1s to 1h")
	names := Builtin()
	for i, e := range c.Commands {
		at := fmt.Sprintf("commands.%d.", i)
		in := func(key, problem string) { report(at+key, problem) }
		switch {
		case !goodName(e.Name):
			in("name", fmt.Sprintf("%q must be a name of letters a to z, digits and -, at most 40 of them", e.Name))
		case slices.Contains(Builtin(), e.Name):
			in("name", e.Name+" is a built-in agent: give yours another name")
		case slices.Contains(names, e.Name):
			in("name", e.Name+" is there already: each agent needs a name of its own")
		}
		names = append(names, e.Name)
		e.check(in)
	}
}

func goodName(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-' && s[len(s)-1] != '-'
}

func (e Entry) check(report setting.Report) {
	e.checkAPIs(report)
	e.checkCommand(report)
	tasks := []string{"", TaskByFile, TaskByStdin}
	report.Unless(slices.Contains(tasks, e.Task), "task", fmt.Sprintf("%q is neither %s nor %s", e.Task, TaskByFile, TaskByStdin))
	styles := []string{"", StyleOpenAI, StyleAnthropic, StyleNone}
	report.Unless(slices.Contains(styles, e.BaseURLStyle), "base_url_style",
		fmt.Sprintf("%q is none of %s", e.BaseURLStyle, strings.Join(styles[1:], ", ")))
	allowed, _ := placeholders()
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		report.Unless(solve.VariableName(name), "env", fmt.Sprintf("%q cannot be a variable: letters, digits and _", name))
		bad := unknown(e.Env[name], allowed)
		report.Unless(bad == "", "env."+name, fmt.Sprintf("%s is no placeholder; there are %s", bad, strings.Join(allowed, ", ")))
	}
	for i, host := range e.Hosts {
		report.Unless(solve.HostName(host), fmt.Sprintf("hosts.%d", i),
			fmt.Sprintf("%q is not a host name like registry.npmjs.org or *.example.org, without scheme, port and path", host))
	}
	report.Unless(len(e.Hosts) == 0 || e.Install != "", "hosts",
		"are only open while it is installed, and install is empty: add install, or take hosts out")
}

func (e Entry) checkAPIs(report setting.Report) {
	known := []string{agent.APIChat, agent.APIResponses, agent.APIMessages}
	report.Unless(len(e.APIs) > 0, "apis", "must name what it calls its model by: "+strings.Join(known, ", "))
	for i, a := range e.APIs {
		switch {
		case !slices.Contains(known, a):
			report(fmt.Sprintf("apis.%d", i), fmt.Sprintf("%q is none of %s", a, strings.Join(known, ", ")))
		case slices.Index(e.APIs, a) < i:
			report(fmt.Sprintf("apis.%d", i), fmt.Sprintf("%s is named twice", a))
		}
	}
}

func (e Entry) checkCommand(report setting.Report) {
	if (len(e.Command) == 0) == (strings.TrimSpace(e.Shell) == "") {
		key := "shell"
		if e.Command != nil {
			key = "command"
		}
		report(key, "either command (a program and its arguments) or shell (a text for bash) must be set, and not both")
		return
	}
	_, allowed := placeholders()
	for i, word := range e.Command {
		at := fmt.Sprintf("command.%d", i)
		switch bad := unknown(word, allowed); {
		case i == 0 && strings.TrimSpace(word) == "":
			report(at, "must be a program")
		case bad == "{token}" || bad == "{url}":
			report(at, bad+" is not for command lines, which everybody on a machine can read: put it into env")
		case bad != "":
			report(at, fmt.Sprintf("%s is no placeholder; there are %s", bad, strings.Join(allowed, ", ")))
		}
	}
}

// unknown is the first thing in a text that looks like a placeholder and is none.
func unknown(text string, allowed []string) string {
	for _, p := range regexp.MustCompile(`\{[a-z_]+\}`).FindAllString(text, -1) {
		if !slices.Contains(allowed, p) {
			return p
		}
	}
	return ""
}
