package sweagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/sweagent"
	"github.com/yudai-dev/yudai/solve"
)

func TestProgramDoesItsWork(t *testing.T) {
	t.Parallel()
	w := setup(t)
	res := w.run(w.job("echo looked; x=1", "ask", "echo fixed $x >fix.txt", "ask", "echo done", "end submitted"), agent.ExitSubmitted)
	seen, roles := w.observations()
	if want := []string{"looked\n", "", "done\n"}; !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
	if roles != "start assistant tool assistant tool assistant tool exit" {
		t.Error(roles)
	}
	if data, err := os.ReadFile(w.machine.Host("/workspace/repo/fix.txt")); err != nil || string(data) != "fixed 1\n" {
		t.Errorf("%q %v", data, err)
	}
	p := res.Progress
	if res.Err != nil || res.Submission != "a diff" || p.Steps != 2 || p.Usage.Calls != 2 || p.Edits != 1 || p.Output != int64(len("looked\ndone\n")) {
		t.Errorf("%+v", res)
	}
	if !json.Valid(res.Trajectory) || !strings.Contains(string(res.Trajectory), `"replay_config":"[run token]"`) {
		t.Errorf("%s", res.Trajectory)
	}
	// Whoever comes when the end was stored, but not told, tells it.
	if again := w.run(w.job("echo again"), agent.ExitSubmitted); again.Reason != res.Reason || again.Submission != "a diff" {
		t.Errorf("%+v", again)
	}
}

// The program sees nothing of ours, and the token is where nobody else looks.
func TestProgramSeesNothingOfOurs(t *testing.T) {
	t.Setenv("YUDAI_TEST_CANARY", "secret-canary")
	w := setup(t)
	res := w.run(w.job("env", "argv", "files", "end submitted"), agent.ExitSubmitted)
	seen, _ := w.observations()
	if strings.Contains(seen[0], "canary") || !strings.Contains(seen[0], "YUDAI_RUN_TOKEN=[run token]") {
		t.Error(seen[0])
	}
	if strings.Contains(seen[1], "token") || !strings.Contains(seen[1], "run.yaml") {
		t.Error(seen[1])
	}
	if seen[2] != "open: " {
		t.Error("others can read", seen[2])
	}
	if all := string(w.Lines()) + string(res.Trajectory); strings.Contains(all, agenttest.Token) {
		t.Error("the token is in what is kept")
	}
	var names []string
	for line := range strings.Lines(seen[0]) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "COLUMNS HOME LANG LITELLM_LOCAL_MODEL_COST_MAP NO_PROXY PATH SWE_AGENT_TRAJECTORY_DIR TMPDIR YUDAI_RUN_TOKEN" {
		t.Error(got)
	}
	_, path, _ := strings.Cut(seen[0], "HOME=")
	path, _, _ = strings.Cut(path, "\n")
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory stays: %v", err)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for do, want := range map[string]struct{ exit, reason string }{
		"end submitted (exit_cost)":   {agent.ExitLimits, "model calls"},
		"end exit_format":             {agent.ExitFormat, "format"},
		"end submitted (exit_error)":  {"exit_error", `"submitted (exit_error)"`},
		"end exit_command":            {"exit_command", "exit_command"},
		"crash bad luck":              {agent.ExitProgram, "ValueError: bad luck"},
		"die cost limit":              {agent.ExitLimits, "model calls"},
		"die unknown error: no paper": {agent.ExitProgram, "no paper"},
		"say nothing":                 {agent.ExitProgram, "without a word"},
		"die " + agenttest.Token:      {agent.ExitProgram, "[run token]"},
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			if res := w.run(w.job(do), want.exit); !strings.Contains(res.Reason, want.reason) {
				t.Error(res.Reason)
			}
			if strings.Contains(string(w.Lines()), agenttest.Token) {
				t.Error("the token is in the transcript")
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do     []string
		change func(w *world, j *agent.Job)
		exit   string
	}{
		"edits":  {[]string{"touch a", "wait"}, func(_ *world, j *agent.Job) { j.MaxEdits = 1 }, agent.ExitEdits},
		"output": {[]string{"seq 10000", "wait"}, func(_ *world, j *agent.Job) { j.Limits.RunOutput = 1000 }, agent.ExitOutput},
		"budget, ignored": {[]string{"wait"}, func(w *world, _ *agent.Job) {
			w.trouble = fmt.Errorf("no: %w", agent.ErrBudget)
		}, agent.ExitBudget},
		"limit": {[]string{"ask"}, func(w *world, _ *agent.Job) { w.trouble = fmt.Errorf("no: %w", agent.ErrLimit) }, agent.ExitLimits},
		"model": {[]string{"ask"}, func(w *world, _ *agent.Job) { w.trouble = errors.New("the provider is down") }, agent.ExitModel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			j := w.job(c.do...)
			c.change(w, &j)
			w.run(j, c.exit)
		})
	}
}

// A cancelled run takes the program and its children with it.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan agent.Result)
	go func() { done <- w.agent.Run(ctx, w.job("child", "sleep 300 >/dev/null 2>&1 &", "wait")) }()
	w.await("pid ")
	w.await("sleep 300 ")
	cancel(agent.ErrCancelled)
	res := <-done
	if res.Exit != agent.ExitCancelled || res.Err != nil {
		t.Errorf("%+v", res)
	}
	seen, roles := w.observations()
	var pid int
	if _, err := fmt.Sscanf(seen[0], "pid %d", &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err == nil && alive(pid) {
		t.Error("the child of the program lives")
	}
	if !strings.HasSuffix(roles, "exit") {
		t.Error(roles)
	}
	w.nothingRuns()
}

// alive tells a process from what is left of one until its parent asks.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// A run that yudai's end broke off begins anew.
func TestRestart(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ctx, stop := context.WithCancelCause(t.Context())
	done := make(chan agent.Result)
	go func() { done <- w.agent.Run(ctx, w.job("echo begun", "wait")) }()
	w.await("begun")
	stop(errors.New("the process stops"))
	if res := <-done; res.Err == nil {
		t.Errorf("%+v", res)
	}
	if _, roles := w.observations(); strings.Contains(roles, "exit") {
		t.Error("the run has ended:", roles)
	}
	w.nothingRuns()
	if res := w.agent.Run(t.Context(), w.job("echo again")); !errors.Is(res.Err, agent.ErrProgramLost) {
		t.Errorf("%+v", res)
	}
	if _, roles := w.observations(); strings.Contains(roles, "exit") {
		t.Error("the run has ended:", roles)
	}
}

func TestNotSetUp(t *testing.T) {
	t.Parallel()
	for path, says := range map[string]string{"": "set swe_agent.command", "/no/such/program": "names /no/such/program"} {
		c := sweagent.DefaultConfig()
		if path != "" {
			c.Command = []string{path}
		}
		a := sweagent.New(c, time.Minute)
		if err := a.Ready(); err == nil || !strings.Contains(err.Error(), says) {
			t.Error(err)
		}
		w := setup(t)
		if res := a.Run(t.Context(), w.job("x")); res.Exit != agent.ExitProgram || !strings.Contains(res.Reason, says) {
			t.Errorf("%+v", res)
		}
	}
	if err := setup(t).agent.Ready(); err != nil {
		t.Error(err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	var told []string
	c := sweagent.Config{Command: []string{"sweagent", "a\nb"}, Config: "my.yaml"}
	c.Validate(func(key, _ string) { told = append(told, key) })
	if got := strings.Join(told, " "); got != "command command.1 config" {
		t.Error(got)
	}
	sweagent.Config{Command: []string{"/opt/x"}, Config: "/etc/x"}.Validate(func(key, problem string) { t.Error(key, problem) })
}

// A transcript that cannot be stored ends the run.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	w := setup(t)
	j := w.job("echo x", "wait")
	save := j.Save
	j.Save = func(ctx context.Context, lines []byte, p solve.Progress) error {
		if strings.Contains(string(lines), "assistant") {
			return solve.ErrLeaseLost
		}
		return save(ctx, lines, p)
	}
	if res := w.run(j, agent.ExitStore); !errors.Is(res.Err, solve.ErrLeaseLost) {
		t.Error(res.Err)
	}
}
