package miniswe_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/sandbox"
)

func task(api, text string) command.Task {
	return command.Task{
		Text: text, API: api, Steps: 7, CommandTime: 1500 * time.Millisecond,
		Gateway: agent.GatewaySession{URL: "http://127.0.0.1:4141", Token: token, Model: "m"},
	}
}

// TestRecipe: nothing asks, nothing is looked for in the repository, and the token is
// in the environment only.
func TestRecipe(t *testing.T) {
	t.Parallel()
	for api, want := range map[string][]string{
		agent.APIChat:      {"litellm", "openai/m", "OPENAI_BASE_URL=http://127.0.0.1:4141/v1", "OPENAI_API_KEY=" + token},
		agent.APIResponses: {"litellm_response", "openai/m", "OPENAI_BASE_URL=http://127.0.0.1:4141/v1", "OPENAI_API_KEY=" + token},
		agent.APIMessages:  {"litellm", "anthropic/m", "ANTHROPIC_BASE_URL=http://127.0.0.1:4141", "ANTHROPIC_API_KEY=" + token},
	} {
		start, err := miniswe.Program().Prepare(task(api, "Fix it."))
		if err != nil {
			t.Fatal(err)
		}
		var env []string
		for k, v := range start.Env {
			env = append(env, k+"="+v)
		}
		args := strings.Join(start.Argv, "\n")
		for _, w := range want[:2] {
			if !slices.Contains(start.Argv, w) {
				t.Errorf("%s: %q is missing in %q", api, w, start.Argv)
			}
		}
		for _, w := range append(want[2:], "MSWEA_CONFIGURED=true", "MSWEA_COST_TRACKING=ignore_errors", "LITELLM_LOCAL_MODEL_COST_MAP=True", "MSWEA_GLOBAL_CONFIG_DIR=/workspace/agent/mini") {
			if !slices.Contains(env, w) {
				t.Errorf("%s: %q is missing in %q", api, w, env)
			}
		}
		if !strings.Contains(args, "--agent-class\ndefault") || strings.Contains(args, token) || strings.Contains(string(start.Files[0].Data), token) {
			t.Errorf("%s: %q\n%s", api, args, start.Files[0].Data)
		}
		for i, a := range start.Argv {
			if i > 0 && slices.Contains([]string{"--config", "--output"}, start.Argv[i-1]) && !strings.HasPrefix(a, "/workspace/agent") {
				t.Errorf("%s: %q could be the repository's", api, a)
			}
		}
	}
	if _, err := miniswe.Program().Prepare(task("soap", "x")); err == nil {
		t.Error("an unknown API was taken")
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	read := func(k command.Task) (out struct {
		Run struct {
			Task string
		}
		Agent struct {
			Step int     `yaml:"step_limit"`
			Cost float64 `yaml:"cost_limit"`
		}
		Environment struct{ Timeout int }
	},
	) {
		start, err := miniswe.Program().Prepare(k)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(start.Files[0].Data, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	text := "a: {{ x }}\n\t\"quoted\" \\n é 😀 \u2028\x00\x7f\r\n--- # end"
	k := task(agent.APIChat, text)
	got := read(k)
	if got.Run.Task != text || got.Agent.Step != 7 || got.Agent.Cost != 0 || got.Environment.Timeout != 2 {
		t.Errorf("%+v", got)
	}
	k.Steps, k.CommandTime = 0, 0
	if got = read(k); got.Agent.Step != 0 || got.Environment.Timeout != 24*60*60 {
		t.Errorf("no limits: %+v", got)
	}
}

// TestInstallSaysWhatIsMissing: an image without Python, or with half of it, is not the
// operator's riddle.
func TestInstallSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ python, want string }{
		"none": {"", "install python3 and python3-venv"},
		"old":  {"#!/bin/sh\nexit 1\n", "needs Python 3.10 or newer"},
		"bare": {"#!/bin/sh\ncase $2 in *ensurepip*) exit 1;; esac\n", "install python3-venv"},
		"broken": {"#!/bin/sh\ncase \"$*\" in *venv*--clear*) mkdir -p \"$4/bin\"; printf '#!/bin/sh\\nexit 1\\n' >\"$4/bin/python\"; chmod +x \"$4/bin/python\";; esac\n",
			"solver.tests.install_env"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := agenttest.Machine(t)
			if err := os.Mkdir(m.Host(agent.InstallDir), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, version := range []string{"3", "3.10", "3.11", "3.12", "3.13"} {
				text := c.python
				if text == "" {
					text = "#!/bin/sh\nexit 127\n"
				}
				if err := (agent.File{Path: "/workspace/bin/python" + version, Data: []byte(text), Mode: 0o755}).Put(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			ran, err := sandbox.Capture(t.Context(), m, sandbox.Command{Shell: miniswe.Program().Install.Command, Dir: agent.InstallDir, Path: []string{"/workspace/bin"}, Timeout: time.Minute})
			if err != nil || ran.ExitCode != 1 || !strings.Contains(string(ran.Stderr), c.want) || strings.Count(string(ran.Stderr), "\n") != 1 {
				t.Errorf("%v, exit code %d: %s", err, ran.ExitCode, ran.Stderr)
			}
		})
	}
}
