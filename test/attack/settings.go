package main

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

// configure writes the program's configuration: short times, the family's models, and what
// the family itself sets.
func (w *world) configure() error {
	base := fmt.Sprintf(`
server: {address: "127.0.0.1:0"}
github:
  web_url: %[1]s
  v3_api_url: %[2]s
  v4_api_url: %[1]s/graphql
  write: {interval: 1ms, per_hour: 1000000, progress_every: 1s, timeout: 2s, lease: 6s, settle: 6s}
store: {path: %[3]s}
models: {attempts: 2, retry_wait: 100ms}
solver:
  defaults: {models: [careful], temps: [0.0]}
  max_experiments: 500
  limits: {run_steps: 300, run_time: 3m, command_time: 20s, solve_time: 8m, parallel: 3}
  tests: {command: sh run.sh, format: junit, report: report.xml, tries: 1, cross_runs: 0}
  caps: {process: 3}
  unproven: ready
  daily: {repository: {solves: 0, usd: 0}, installation: {usd: 0}, process: {usd: 0}}
gateway: {dir: %[5]s}
sandbox:
  records: %[6]s
  local: {dir: %[4]s, allow_unlimited: true, free_disk_mib: 64, limits: {memory_mib: 512, processes: 128, disk_mib: 256}}
`, w.hub.URL(), w.hub.APIURL(), w.path("store", "yudai.db"), w.path("sandboxes"), w.path("gateway"), w.path("records"))
	var config map[string]any
	if err := yaml.Unmarshal([]byte(base), &config); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	lay(config, map[string]any{
		"models": map[string]any{"models": w.modelList()}, "agents": map[string]any{"commands": w.programs()},
	})
	if w.database != nil {
		lay(config, map[string]any{"store": map[string]any{"engine": "postgres"}})
	}
	if w.place != nil {
		lay(config, map[string]any{"sandbox": w.place.settings})
	}
	lay(config, w.Settings)
	data, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return os.WriteFile(w.path("config.yml"), data, 0o600)
}

// lay puts settings over others.
func lay(under, over map[string]any) {
	for key, value := range over {
		inner, ok := under[key].(map[string]any)
		if more, both := value.(map[string]any); ok && both {
			lay(inner, more)
			continue
		}
		under[key] = value
	}
}

// Models that are no attacks.
const (
	careful = "careful" // mends the bug; idle does nothing, slow mends it late
	crowd   = "crowd"   // tries all attacks that share a run
	keeper  = "keeper"  // has a canary in its patch, which never wins
	mend    = `sed -i 's/$2 - $3/$2 + $3/' calc.sh`
)

// modelList has a model for every attack that needs one, and fills in what it plays.
func (w *world) modelList() []any {
	secret := w.canaries["patch of another run"] // in two parts: the command tells nothing
	keep := fmt.Sprintf("printf '%%s%%s' '%s' '%s' > kept.txt", secret[:9], secret[9:])
	plays := map[string]play{
		careful: {commands: []string{mend}}, "idle": {}, "slow": {commands: []string{"sleep 4", mend}}, keeper: {commands: []string{keep}},
	}
	var together []string
	for _, a := range w.Attacks {
		switch {
		case a.As == asAgent && !a.Alone:
			together = append(together, a.run())
		case a.As == asAgent:
			plays[a.Name] = play{commands: []string{a.run()}}
		case a.As == asPatch && a.Keep:
			plays[a.Name] = play{commands: []string{a.run()}}
		case a.As == asPatch:
			plays[a.Name] = play{commands: []string{mend, a.run()}}
		case a.As == asModel:
			plays[a.Name] = play{answers: a.Answers}
		case a.As == asInstall:
			plays["install"] = play{}
		}
	}
	if len(together) > 0 {
		plays[crowd] = play{commands: together}
	}
	var list []any
	for name, p := range plays {
		w.provider.plays[name] = p
		list = append(list, map[string]any{
			"name": name, "provider": "openai", "base_url": "http://" + w.models.Addr + "/v1", "api_key_env": "OPENAI_API_KEY",
			"temperature": "accepted", "price": map[string]any{"input": 1.0, "output": 10.0}, "timeout": "15s",
		})
	}
	return list
}

// programs are the agents that live in the sandbox.
func (w *world) programs() []any {
	list := []any{}
	for _, a := range w.Attacks {
		script := a.run()
		if a.As == asModel && a.Agents {
			script = askOnce
		} else if a.As != asProgram {
			continue
		}
		list = append(list, map[string]any{"name": a.Name, "apis": []string{"chat"}, "shell": script})
	}
	return list
}

// askOnce is an agent that asks its model for a stream and reads it to its end.
const askOnce = `curl -sS -N --max-time 60 -H "Authorization: Bearer $YUDAI_TOKEN" -H 'Content-Type: application/json' \
  -d '{"model":"m","stream":true,"messages":[{"role":"user","content":"go on"}]}' "$OPENAI_BASE_URL/chat/completions" | { head -c 2000; wc -c; }`

// ended is what a script's last line prints.
const ended = "CAME-TO-ITS-END"

// run is the script with a last line, so that one that could not even try is noticed.
func (a attack) run() string { return a.Script + "\necho " + ended }
