package miniswe_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/test/require"
)

const token = agenttest.Token

// TestSolves runs the real program, installed from the lock, through each API.
func TestSolves(t *testing.T) {
	t.Parallel()
	require.Long(t)
	base := installed(t)
	// Names that litellm knows, and treats each in its own way.
	for api, name := range map[string]string{agent.APIChat: "gpt-5-mini", agent.APIMessages: "claude-sonnet-5-5", agent.APIResponses: "gpt-5"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(agenttest.Played(t, `
plays:
  - steps:
      - say: I look first.
        run: cat sum.txt; printf '%s' "$OPENAI_API_KEY$ANTHROPIC_API_KEY" | wc -c
      - say: Now I repair it, in two commands.
        runs: ["echo 4 >sum.txt", "cat sum.txt; exit 3"]
`))
			defer server.Close()
			m := agenttest.With(t, base)
			// What a repository may hold must not become the program's configuration.
			trap := "agent: {step_limit: 1}\nmodel: {model_kwargs: {api_base: 'http://127.0.0.1:9/v1'}}\n"
			for name, text := range map[string]string{
				"sum.txt": "5\n", "mini.yaml": trap, "run.yaml": trap, ".env": "OPENAI_BASE_URL=http://127.0.0.1:9\nMSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT=1\n",
				"litellm.py": "raise SystemExit(9)\n", "sitecustomize.py": "raise SystemExit(9)\n",
			} {
				if err := os.WriteFile(m.Host("/workspace/repo/"+name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			task := "Fix {{ 2 + 2 }} {% raw %} 'sum' \"\\\t\x7f é 😀 \ufeff\u2028 # : - ${HOME} $(touch hacked)\nEnd."
			var store agenttest.Store
			j := store.Job(task, m, server.URL, api)
			j.Limits.CommandTime, j.Gateway.Model = 1500*time.Millisecond, name
			res := command.New(miniswe.Program(), command.DefaultConfig()).Run(t.Context(), j)
			if res.Exit != agent.ExitSubmitted || res.Err != nil {
				t.Fatalf("%+v\n%s\n%s", res, store.Lines(), printed(t, m.Get))
			}
			if data, err := os.ReadFile(m.Host("/workspace/repo/sum.txt")); err != nil || string(data) != "4\n" {
				t.Errorf("sum.txt: %q %v", data, err)
			}
			checkTranscript(t, store.Messages(), task)
			checkFile(t, res.Trajectory)
			if bytes.Contains(res.Trajectory, []byte(token)) || bytes.Contains(store.Lines(), []byte(token)) {
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
