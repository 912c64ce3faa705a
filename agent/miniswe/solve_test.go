package miniswe_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/model/played"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
)

const token = "yrt_0123456789abcdef0123456789abcdef"

// play serves a script as a provider would.
func play(t *testing.T, steps string) *httptest.Server {
	t.Helper()
	script, err := scripted.Load([]byte("plays:\n  - steps:\n" + steps))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(played.Handler(func() (agent.Model, error) { return script.Model("m", solve.Experiment{}, agent.Price{}), nil }))
	t.Cleanup(s.Close)
	return s
}

// TestSolves runs the real program, installed from the lock, through each API.
func TestSolves(t *testing.T) {
	t.Parallel()
	base := installed(t)
	// Names that litellm knows, and treats each in its own way.
	for api, name := range map[string]string{agent.APIChat: "gpt-5-mini", agent.APIMessages: "claude-sonnet-5-5", agent.APIResponses: "gpt-5"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			server := play(t, `
      - say: I look first.
        run: cat sum.txt; printf '%s' "$OPENAI_API_KEY$ANTHROPIC_API_KEY" | wc -c
      - say: Now I repair it, in two commands.
        runs: ["echo 4 >sum.txt", "cat sum.txt; exit 3"]
`)
			m, dir := machine(t, base)
			// What a repository may hold must not become the program's configuration.
			trap := "agent: {step_limit: 1}\nmodel: {model_kwargs: {api_base: 'http://127.0.0.1:9/v1'}}\n"
			for name, text := range map[string]string{
				"sum.txt": "5\n", "mini.yaml": trap, "run.yaml": trap, ".env": "OPENAI_BASE_URL=http://127.0.0.1:9\nMSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT=1\n",
				"litellm.py": "raise SystemExit(9)\n", "sitecustomize.py": "raise SystemExit(9)\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, "repo", name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			task := "Fix {{ 2 + 2 }} {% raw %} 'sum' \"\\\t\x7f é 😀 \ufeff\u2028 # : - ${HOME} $(touch hacked)\nEnd."
			var lines transcript
			res := command.New(miniswe.Program(), command.DefaultConfig()).Run(t.Context(), agent.Job{
				Task: task, Name: "y-1-1-1", Shell: m, Machine: m,
				Limits: solve.Limits{RunTime: time.Minute, CommandTime: 1500 * time.Millisecond},
				Door: &agent.Door{
					URL: server.URL, Token: token, Model: name, APIs: []string{api},
					Usage: func() solve.Usage { return solve.Usage{} }, Trouble: func() error { return nil },
				},
				Save: lines.save,
			})
			if res.Exit != agent.ExitSubmitted || res.Err != nil {
				t.Fatalf("%+v\n%s\n%s", res, lines.lines.String(), printed(t, m.Get))
			}
			if data, err := os.ReadFile(filepath.Join(dir, "repo", "sum.txt")); err != nil || string(data) != "4\n" {
				t.Errorf("sum.txt: %q %v", data, err)
			}
			checkTranscript(t, lines.messages(t), task)
			checkFile(t, res.Trajectory)
			if bytes.Contains(res.Trajectory, []byte(token)) || bytes.Contains(lines.lines.Bytes(), []byte(token)) {
				t.Error("the token is kept")
			}
		})
	}
}

// checkTranscript compares with what the play does.
func checkTranscript(t *testing.T, messages []agent.Message, task string) {
	t.Helper()
	var roles []string
	for _, m := range messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "start system user assistant tool assistant tool tool assistant exit" {
		t.Fatal(got)
	}
	if !strings.Contains(messages[2].Content, task) {
		t.Errorf("the task did not come through:\n%s", messages[2].Content)
	}
	if m := messages[5]; len(m.ToolCalls) != 2 || m.Content != "Now I repair it, in two commands." || m.ToolCalls[1].Arguments != `{"command":"cat sum.txt; exit 3"}` && m.ToolCalls[1].Arguments != `{"command": "cat sum.txt; exit 3"}` {
		t.Errorf("%+v", m)
	}
	if m := messages[4]; !strings.Contains(m.Content, "36") || m.Extra["returncode"] != 0.0 || m.ToolCallID != messages[3].ToolCalls[0].ID {
		t.Errorf("%+v", m)
	}
	if m := messages[7]; m.Extra["returncode"] != 3.0 || m.Extra["raw_output"] != "4\n" || m.ToolCallID != messages[5].ToolCalls[1].ID {
		t.Errorf("%+v", m)
	}
}

func checkFile(t *testing.T, data []byte) {
	t.Helper()
	var f struct {
		Info struct {
			Version string `json:"mini_version"`
			Exit    string `json:"exit_status"`
			Stats   struct {
				Calls int `json:"api_calls"`
			} `json:"model_stats"`
			Config struct {
				Agent struct {
					Cost float64 `json:"cost_limit"`
				} `json:"agent"`
				Environment struct {
					Timeout int `json:"timeout"`
				} `json:"environment"`
			} `json:"config"`
		} `json:"info"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if f.Info.Version != "2.4.6" || f.Info.Exit != "Submitted" || f.Info.Stats.Calls != 3 || f.Info.Config.Agent.Cost != 0 || f.Info.Config.Environment.Timeout != 2 {
		t.Errorf("%+v", f.Info)
	}
}
