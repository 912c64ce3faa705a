package command_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	good := command.Entry{Name: "my-agent", APIs: []string{"chat"}, Command: []string{"x", "--model={model}", "{task_file}", "{}{A}"}}
	for key, c := range map[string]struct {
		change func(*command.Entry)
		says   string
	}{
		"":                 {func(*command.Entry) {}, ""},
		"name":             {func(e *command.Entry) { e.Name = "Mine!" }, "must be a name"},
		"name built in":    {func(e *command.Entry) { e.Name = "codex" }, "give yours another name"},
		"apis":             {func(e *command.Entry) { e.APIs = nil }, "chat, responses, messages"},
		"apis.0":           {func(e *command.Entry) { e.APIs = []string{"grpc"} }, `"grpc" is none of`},
		"apis.1":           {func(e *command.Entry) { e.APIs = []string{"chat", "chat"} }, "twice"},
		"shell":            {func(e *command.Entry) { e.Command = nil }, "must be set"},
		"command":          {func(e *command.Entry) { e.Shell = "x" }, "not both"},
		"command.0":        {func(e *command.Entry) { e.Command = []string{" "} }, "program"},
		"command.1":        {func(e *command.Entry) { e.Command = []string{"x", "--key={token}"} }, "put it into env"},
		"command.1 url":    {func(e *command.Entry) { e.Command = []string{"x", "{url}/v1"} }, "put it into env"},
		"command.1 typo":   {func(e *command.Entry) { e.Command = []string{"x", "{taskfile}"} }, "{task_file}, {run_dir}, {model}"},
		"task":             {func(e *command.Entry) { e.Task = "argument" }, "neither file nor stdin"},
		"base_url_style":   {func(e *command.Entry) { e.BaseURLStyle = "azure" }, "openai, anthropic, none"},
		"env":              {func(e *command.Entry) { e.Env = map[string]string{"a-b": "x"} }, "cannot be a variable"},
		"env.KEY":          {func(e *command.Entry) { e.Env = map[string]string{"KEY": "{key}"} }, "{token}"},
		"hosts.0":          {func(e *command.Entry) { e.Install = "x"; e.Hosts = []string{"https://pypi.org/"} }, "not a host name"},
		"hosts no install": {func(e *command.Entry) { e.Hosts = []string{"pypi.org"} }, "add install"},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			e := good
			c.change(&e)
			got := map[string]string{}
			cfg := command.DefaultConfig()
			cfg.Commands = []command.Entry{e}
			cfg.Validate(func(key, problem string) { got[key] = problem })
			if c.says == "" {
				if len(got) > 0 {
					t.Error(got)
				}
				return
			}
			word, _, _ := strings.Cut(key, " ")
			if problem := got["commands.0."+word]; !strings.Contains(problem, c.says) || len(got) != 1 {
				t.Errorf("%q", got)
			}
		})
	}
	for _, p := range []time.Duration{0, 2 * time.Hour} {
		told := ""
		command.Config{Patience: p, Commands: []command.Entry{good, good}}.Validate(func(key, problem string) { told += key + ": " + problem + "\n" })
		if !strings.Contains(told, "patience: must be") || !strings.Contains(told, "commands.1.name: my-agent is there already") {
			t.Error(told)
		}
	}
}

func TestEntryBecomesAProgram(t *testing.T) {
	t.Parallel()
	task := command.Task{Gateway: agent.GatewaySession{URL: "http://127.0.0.1:4141", Token: token, Model: "m {token}"}, API: agent.APIChat}
	ours := map[string]string{
		"YUDAI_URL": "http://127.0.0.1:4141", "YUDAI_TOKEN": token, "YUDAI_MODEL": "m {token}", "YUDAI_API": "chat",
		"YUDAI_TASK_FILE": "/workspace/agent/task.md", "YUDAI_RUN_DIR": "/workspace/agent",
	}
	openai := map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:4141/v1", "OPENAI_API_KEY": token}
	anthropic := map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:4141", "ANTHROPIC_API_KEY": token}
	for name, c := range map[string]struct {
		entry command.Entry
		api   string
		argv  []string
		env   []map[string]string
	}{
		"arguments":  {command.Entry{Command: []string{"x", "{task_file}", "-m{model}", "{run_dir}/o"}}, "chat", []string{"x", "/workspace/agent/task.md", "-mm {token}", "/workspace/agent/o"}, []map[string]string{openai}},
		"shell":      {command.Entry{Shell: "x ${HOME}"}, "messages", []string{"bash", "-c", "x ${HOME}"}, []map[string]string{anthropic}},
		"input":      {command.Entry{Command: []string{"x"}, Task: "stdin", BaseURLStyle: "none"}, "chat", []string{"bash", "-c", `exec "$@" </workspace/agent/task.md`, "bash", "x"}, nil},
		"other":      {command.Entry{Command: []string{"x"}, BaseURLStyle: "anthropic"}, "chat", []string{"x"}, []map[string]string{anthropic}},
		"own values": {command.Entry{Command: []string{"x"}, Env: map[string]string{"OPENAI_API_KEY": "k-{token}", "U": "{url}/x", "F": "{task_file} {run_dir} {model}"}}, "responses", []string{"x"}, []map[string]string{openai, {"OPENAI_API_KEY": "k-" + token, "U": "http://127.0.0.1:4141/x", "F": "/workspace/agent/task.md /workspace/agent m {token}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := task
			task.API = c.api
			c.entry.Name = "mine"
			p := c.entry.Program()
			start, err := p.Prepare(task)
			if err != nil {
				t.Fatal(err)
			}
			want := maps.Clone(ours)
			want["YUDAI_API"] = c.api
			for _, more := range c.env {
				maps.Copy(want, more)
			}
			if diff := cmp.Diff(c.argv, start.Argv) + cmp.Diff(want, start.Env); diff != "" {
				t.Error(diff)
			}
			if !slices.Contains(start.Path, "/workspace/agents/mine/bin") {
				t.Error(start.Path)
			}
		})
	}
}

// An entry of a shell text, as a program that runs.
func TestEntryRuns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	e := command.Entry{Name: "mine", APIs: []string{"chat"}, Task: "stdin", Command: []string{"tool", "{model}"}}
	if err := (agent.File{Path: "/workspace/agents/mine/bin/tool", Data: []byte("#!/bin/bash\necho \"$1 at $OPENAI_BASE_URL:\"; grep -c panics\n"), Mode: 0o755}).Put(t.Context(), w.machine); err != nil {
		t.Fatal(err)
	}
	w.want(w.run(e.Program(), nil), agent.ExitSubmitted)
	if w.printed() != "m at http://127.0.0.1:4141/v1:\n1\n" {
		t.Errorf("%q", w.printed())
	}
}
