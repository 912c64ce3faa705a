package sweagent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fakeArg makes the test's own binary a SWE-agent: it reads the files that it is given,
// works in the sandbox through the endpoint, asks the model, and writes its trajectory.
const fakeArg = "__fake-swe-agent"

type fakeConfig struct {
	Agent struct {
		Model struct {
			Name    string `json:"name"`
			APIBase string `json:"api_base"`
			APIKey  string `json:"api_key"`
		} `json:"model"`
	} `json:"agent"`
	Env struct {
		Deployment struct {
			Port  int    `json:"port"`
			Token string `json:"auth_token"`
		} `json:"deployment"`
		Repo struct {
			Name string `json:"repo_name"`
		} `json:"repo"`
	} `json:"env"`
	Problem struct {
		Path string `json:"path"`
		ID   string `json:"id"`
	} `json:"problem_statement"`
	Out string `json:"output_dir"`
}

type fake struct {
	fakeConfig
	steps []map[string]any
}

// runFake plays the words of the task that begin with "do:", one step each.
func runFake(args []string) int {
	var f fake
	for i, a := range args {
		if a != "--config" || filepath.Base(args[i+1]) == "defaults.yaml" {
			continue
		}
		data, err := os.ReadFile(args[i+1])
		if err != nil {
			return f.fail(err)
		}
		if err := json.Unmarshal(data, &f.fakeConfig); err != nil {
			return f.fail(err)
		}
	}
	task, err := os.ReadFile(f.Problem.Path)
	if err != nil {
		return f.fail(err)
	}
	if _, err := f.call("create_session", map[string]any{}); err != nil {
		return f.fail(err)
	}
	for line := range strings.Lines(string(task)) {
		what, ok := strings.CutPrefix(strings.TrimSpace(line), "do: ")
		if !ok {
			continue
		}
		if done, code := f.do(what); done {
			return code
		}
	}
	return 0
}

// do is one step.
func (f *fake) do(what string) (done bool, code int) {
	word, rest, _ := strings.Cut(what, " ")
	switch word {
	case "end": // with a status
		return true, f.end(rest)
	case "crash":
		fmt.Println("Traceback (most recent call last):\nValueError: " + rest + "\nbye")
		return true, 1
	case "say":
		fmt.Println(rest)
	case "die":
		fmt.Println("WARN Exit due to " + rest)
		return true, 1
	case "env":
		out := strings.Join(os.Environ(), "\n")
		f.record("env", out)
	case "argv":
		f.record("argv", strings.Join(os.Args, " "))
	case "files":
		out, _ := exec.Command("find", filepath.Dir(f.Problem.Path), "-type", "f", "-perm", "/077").CombinedOutput()
		f.record("files", "open: "+string(out))
	case "child": // that does not end by itself
		c := exec.Command("sleep", "300")
		if err := c.Start(); err != nil {
			return true, f.fail(err)
		}
		f.record("child", fmt.Sprint("pid ", c.Process.Pid))
	case "wait":
		select {}
	case "ask":
		if err := f.ask(); err != nil {
			return true, f.fail(err)
		}
	default:
		out, err := f.call("run_in_session", map[string]any{"action_type": "bash", "command": what, "check": "silent", "timeout": 20})
		if err != nil {
			return true, f.fail(err)
		}
		text, _ := out["output"].(string)
		f.record(what, text)
	}
	return false, 0
}

func (f *fake) fail(err error) int {
	fmt.Println("Error:", err)
	return 1
}

func (f *fake) end(status string) int {
	f.write(map[string]any{"exit_status": status, "submission": "a diff"})
	return 0
}

func (f *fake) record(action, observation string) {
	f.steps = append(f.steps, map[string]any{"action": action, "observation": observation, "thought": "I do " + action, "response": ""})
	f.write(map[string]any{"exit_status": nil})
}

func (f *fake) write(info map[string]any) {
	dir := filepath.Join(f.Out, f.Problem.ID)
	data, err := json.Marshal(map[string]any{"trajectory": f.steps, "info": info, "replay_config": f.Env.Deployment.Token})
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, f.Problem.ID+".traj"), data, 0o600)
	}
	if err != nil {
		f.fail(err)
	}
}

// call asks the endpoint.
func (f *fake) call(path string, body map[string]any) (map[string]any, error) {
	return post(fmt.Sprintf("http://127.0.0.1:%d/%s", f.Env.Deployment.Port, path), "X-API-Key", f.Env.Deployment.Token, body)
}

// ask asks the model.
func (f *fake) ask() error {
	key := os.Getenv(strings.TrimPrefix(f.Agent.Model.APIKey, "$"))
	_, err := post(f.Agent.Model.APIBase+"/chat/completions", "Authorization", "Bearer "+key, map[string]any{"model": strings.TrimPrefix(f.Agent.Model.Name, "openai/")})
	return err
}

func post(url, header, value string, body map[string]any) (map[string]any, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r.Header.Set(header, value)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s: %w", url, resp.Status, text, err)
	}
	var out map[string]any
	return out, json.Unmarshal(text, &out)
}
