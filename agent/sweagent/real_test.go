package sweagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/sweagent"
	"github.com/yudai-dev/yudai/model/played"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/shell"
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
		need(t, "swe-agent", errors.New(realEnv+" is not set to the program of SWE-agent"))
	}
	s, err := scripted.Load([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	model := httptest.NewServer(played.Handler(func() (agent.Model, error) {
		return s.Model("m", solve.Experiment{Model: "m"}, agent.Price{}), nil
	}))
	defer model.Close()
	m := box(t)
	out, err := m.Run(t.Context(), "git init -q . && mkdir sub && echo wrong >sum.txt && echo x >sub/x && printf 'all:\\n\\t@echo made it\\n' >Makefile && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm base", time.Minute)
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%+v %v", out, err)
	}
	var transcript bytes.Buffer
	j := agent.Job{
		Task: "The sum is wrong.", Name: "real", Machine: m, Shell: m,
		Limits: solve.Limits{CommandTime: 3 * time.Second, RunTime: 4 * time.Minute, RunSteps: 20},
		Door: &agent.Door{
			URL: model.URL, Token: doorToken, Model: "m", APIs: []string{agent.APIChat},
			Usage: func() solve.Usage { return solve.Usage{Calls: 1} }, Trouble: func() error { return nil },
		},
		Save: func(_ context.Context, lines []byte, _ solve.Progress) error {
			transcript.Write(lines)
			return nil
		},
	}
	res := sweagent.New(sweagent.Config{Command: command}).Run(t.Context(), j)
	t.Logf("%s", transcript.String())
	if res.Exit != agent.ExitSubmitted || res.Err != nil || !strings.Contains(res.Submission, "+right") {
		t.Errorf("%q (%s) %v\n%s", res.Exit, res.Reason, res.Err, res.Submission)
	}
	text := transcript.String()
	for _, want := range []string{"/workspace/repo", "made it", "kept in /workspace/repo/sub", "has been edited"} {
		if !strings.Contains(text, want) {
			t.Errorf("the transcript does not have %q", want)
		}
	}
	if strings.Contains(text+string(res.Trajectory), doorToken) || !json.Valid(res.Trajectory) {
		t.Error("the trajectory holds the token, or is none")
	}
	if on, err := m.Launched(t.Context()); on || err != nil {
		t.Error("something still runs", err)
	}
}

// box is a machine that is a real sandbox.
func box(t *testing.T) machine {
	t.Helper()
	_, err := exec.LookPath("bwrap")
	need(t, "bubblewrap", err)
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited, c.FreeDiskMiB = t.TempDir(), true, 16
	d, err := local.New(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep at the end: %v", err)
		}
	})
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "swe", Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return machine{shell.New(sb)}
}

// machine is a sandbox whose work tree yudai did not lay.
type machine struct{ *shell.Machine }

func (m machine) Tree(ctx context.Context) (string, error) {
	out, err := m.Run(ctx, "git add -N . && git diff | cksum", time.Minute)
	return out.Text, err
}
