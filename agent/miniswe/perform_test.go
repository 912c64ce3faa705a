package miniswe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/test/hostmachine"
)

// A token of the priced model costs a dollar.
const prices = `{"openai/priced": {"input_cost_per_token": 1.0, "output_cost_per_token": 0.0, "litellm_provider": "openai", "mode": "chat"}}`

// perform runs all takes with the real program's command line, in one process.
func perform(t *testing.T, base, url string, takes []take) error {
	dir := t.TempDir()
	env := map[string]string{}
	var all [][]string
	for i, k := range takes {
		start, err := miniswe.Program().Prepare(command.Task{
			Text: "Play.", API: k.api, Steps: k.Limits.Steps, CommandTime: k.commandTime(),
			Gateway: agent.GatewaySession{URL: url, Token: token, Model: "priced"},
		})
		if err != nil {
			return err
		}
		maps.Copy(env, start.Env)
		own := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		if err := os.WriteFile(own, start.Files[0].Data, 0o600); err != nil {
			return err
		}
		var args []string
		for _, a := range start.Argv[1:] {
			switch {
			case a == start.Files[0].Path:
				a = own
			case strings.HasPrefix(a, agent.InstallDir):
				a = filepath.Join(base, strings.TrimPrefix(a, agent.InstallDir))
			case a == trajectory:
				a = k.file()
			}
			args = append(args, a)
		}
		at := url + "/" + k.Name
		if k.api != agent.APIMessages {
			at += "/v1"
		}
		all = append(all, append(args, "--config", "environment.cwd="+k.machine.Host("/workspace/repo"), "--config", "model.model_kwargs.api_base="+at,
			"--config", fmt.Sprintf("agent.cost_limit=%g", k.Limits.USD), "--config", fmt.Sprintf("agent.wall_time_limit_seconds=%d", k.Limits.Wall)))
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	env["MSWEA_GLOBAL_CONFIG_DIR"], env["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] = filepath.Join(dir, "state"), "2"
	env["LITELLM_MODEL_REGISTRY_PATH"] = filepath.Join(dir, "prices.json")
	for name, data := range map[string][]byte{"jobs.json": data, "prices.json": []byte(prices)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return python(t, base, env, "every run ended", "testdata/driver.py", filepath.Join(dir, "jobs.json"))
}

// python runs a script of ours in the agent's environment; it says at its end that it
// came so far.
func python(t *testing.T, base string, env map[string]string, end string, args ...string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(base, miniswe.Name, "bin", "python"), args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8", "TERM=dumb", "PYTHONDONTWRITEBYTECODE=1"}
	for k, v := range env {
		c.Env = append(c.Env, k+"="+v)
	}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), end) {
		return fmt.Errorf("%s: %w\n%.20000s", args[0], err, out)
	}
	return nil
}

// inspect opens trajectories in the real inspector, and one of ours and one of the
// program's by the command, on a terminal.
func inspect(t *testing.T, base string, files []string) {
	t.Helper()
	env := map[string]string{"MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1", "MSWEA_GLOBAL_CONFIG_DIR": t.TempDir()}
	if err := python(t, base, env, "every file shows", append([]string{"testdata/pages.py"}, files...)...); err != nil {
		t.Error(err)
	}
	if err := python(t, base, env, "every file opens", "testdata/terminal.py", files[0], files[1]); err != nil {
		t.Error(err)
	}
}

// tree is the names and contents of what the scene left.
func tree(t *testing.T, m *hostmachine.Machine) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", `cd "$1" && find . -type f -exec sha256sum {} + | sort`, "-", m.Host("/workspace/repo")).CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	return string(out)
}
