package sweagent

import (
	_ "embed" // the defaults
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// tokenEnv is the variable with the run's token.
const tokenEnv = "YUDAI_RUN_TOKEN"

// object is a part of a configuration file.
type object = map[string]any

// defaults are our prompts and tools; the operator's file may change them.
//
//go:embed defaults.yaml
var defaults []byte

// settings are what belongs to the run, whatever the operator's file says.
func (r *run) settings(port int) object {
	gateway, limits := r.rec.Job.Gateway, r.rec.Job.Limits
	seconds := func(d time.Duration, none int) int {
		if d <= 0 {
			return none
		}
		return int(math.Ceil(d.Seconds()))
	}
	const day = 24 * 60 * 60
	return object{
		"agent": object{
			"tools": object{
				"execution_timeout":       seconds(limits.CommandTime, day),
				"total_execution_timeout": seconds(limits.RunTime, 30*day),
			},
			"model": object{
				"name": "openai/" + gateway.Model, "api_base": gateway.URL + "/v1", "api_key": "$" + tokenEnv,
				"per_instance_cost_limit": 0, "total_cost_limit": 0, "per_instance_call_limit": limits.RunSteps,
				"top_p": nil, "max_input_tokens": 0, "max_output_tokens": 0,
				"retry": object{"retries": 4, "min_wait": 1, "max_wait": 15}, // the gateway has retried already
			},
		},
		"env": object{
			"deployment": object{"type": "remote", "host": "http://127.0.0.1", "port": port, "auth_token": r.secret, "timeout": 60},
			// A path below the root: SWE-agent puts the slash before it.
			"repo": object{"type": "preexisting", "repo_name": "workspace/repo", "reset": false},
		},
		"problem_statement": object{"type": "text_file", "path": r.path("task.md"), "id": instance},
		"output_dir":        r.path("out"),
		"env_var_path":      r.path("empty.env"), // else a file .env beside its source is read
		"actions":           object{"open_pr": false, "apply_patch_locally": false},
	}
}

// instance is the name that the run has for SWE-agent.
const instance = "run"

func (r *run) path(name string) string { return filepath.Join(r.dir, name) }

// write puts the files of the run into its directory, which is nobody else's.
func (r *run) write(port int) error {
	task, err := agent.TaskText(r.rec.Job)
	if err != nil {
		return err
	}
	settings, err := json.Marshal(r.settings(port)) // JSON is YAML
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	files := map[string][]byte{"task.md": []byte(task), "empty.env": nil, "defaults.yaml": defaults, "run.yaml": settings}
	for name, data := range files {
		if err := os.WriteFile(r.path(name), data, 0o600); err != nil {
			return fmt.Errorf("write settings: %w", err)
		}
	}
	for _, name := range []string{"home", "tmp", "out"} {
		if err := os.Mkdir(r.path(name), 0o700); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	return nil
}

// argv is the command line. It holds no secret: the token of the endpoint is in a file,
// the run's is in the environment.
func (r *run) argv() []string {
	argv := append(append([]string{}, r.agent.cfg.Command...), "run", "--config", r.path("defaults.yaml"))
	if r.agent.cfg.Config != "" {
		argv = append(argv, "--config", r.agent.cfg.Config)
	}
	return append(argv, "--config", r.path("run.yaml"))
}

// environ is the whole environment: nothing of yudai's.
func (r *run) environ() []string {
	path := []string{filepath.Dir(r.agent.cfg.Command[0]), "/usr/local/bin", "/usr/bin", "/bin"}
	return []string{
		"PATH=" + strings.Join(path, ":"), "HOME=" + r.path("home"), "TMPDIR=" + r.path("tmp"), "LANG=C.UTF-8",
		"COLUMNS=200", "NO_PROXY=*", "LITELLM_LOCAL_MODEL_COST_MAP=True", "SWE_AGENT_TRAJECTORY_DIR=" + r.path("out"),
		tokenEnv + "=" + r.rec.Job.Gateway.Token,
	}
}
