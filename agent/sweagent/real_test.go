package sweagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/sweagent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/localtest"
	"github.com/yudai-dev/yudai/test/require"
)

// realEnv names the program of a SWE-agent on this machine, with its first arguments.
const realEnv = "YUDAI_SWE_AGENT"

// script is what the model does: it looks, runs make (which SWE-agent refuses by
// default), keeps state, uses the editing tool, meets a timeout, and submits.
const script = `
plays:
  - steps:
      - say: I look at the repository.
        run: pwd; ls; git status --short; WORD=kept; cd sub
      - say: I run make.
        run: make -C .. || true
      - say: The shell keeps its state.
        run: echo "$WORD in $PWD"; cd ..
      - say: This takes too long.
        run: sleep 60
      - raw:
          content: I edit the file.
          tool_calls:
            - name: str_replace_editor
              arguments: '{"command": "str_replace", "path": "/workspace/repo/sum.txt", "old_str": "wrong", "new_str": "right"}'
`

// TestRealProgram runs the real SWE-agent in a real sandbox with a played model.
func TestRealProgram(t *testing.T) {
	t.Parallel()
	command := strings.Fields(os.Getenv(realEnv))
	if len(command) == 0 {
		require.Need(t, "swe-agent", errors.New(realEnv+" is not set to the program of SWE-agent"))
	}
	model := httptest.NewServer(agenttest.Played(t, script))
	defer model.Close()
	m := machine{localtest.Open(t, sandbox.Spec{Name: "swe", Launch: true}).(launching)}
	out, err := m.run(t.Context(), "git init -q . && mkdir sub && echo wrong >sum.txt && echo x >sub/x && printf 'all:\\n\\t@echo made it\\n' >Makefile && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm base")
	if err != nil {
		t.Fatalf("%s %v", out, err)
	}
	var store agenttest.Store
	j := store.Job("The sum is wrong.", m, model.URL, agent.APIChat)
	j.Limits = solve.Limits{CommandTime: 3 * time.Second, RunTime: 4 * time.Minute, RunSteps: 20}
	res := sweagent.New(sweagent.Config{Command: command}, 10*time.Second).Run(t.Context(), j)
	text := string(store.Lines())
	t.Log(text)
	if res.Exit != agent.ExitSubmitted || res.Err != nil || !strings.Contains(res.Submission, "+right") {
		t.Errorf("%q (%s) %v\n%s", res.Exit, res.Reason, res.Err, res.Submission)
	}
	for _, want := range []string{"/workspace/repo", "made it", "kept in /workspace/repo/sub", "has been edited"} {
		if !strings.Contains(text, want) {
			t.Errorf("the transcript does not have %q", want)
		}
	}
	if strings.Contains(text+string(res.Trajectory), agenttest.Token) || !json.Valid(res.Trajectory) {
		t.Error("the trajectory holds the token, or is none")
	}
	if on, err := m.Launched(t.Context()); on || err != nil {
		t.Error("something still runs", err)
	}
}

// machine is a sandbox whose work tree yudai did not lay.
type machine struct{ launching }

type launching interface {
	sandbox.Sandbox
	sandbox.Launcher
}

func (m machine) Tree(ctx context.Context) (string, error) {
	return m.run(ctx, "git add -N . && git diff | cksum")
}

func (m machine) run(ctx context.Context, text string) (string, error) {
	out, res, err := sandbox.Output(ctx, m, sandbox.Command{Shell: text, Timeout: time.Minute})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("exit status %d", res.ExitCode)
	}
	return out, err
}
