// Package presets holds the coding agents that yudai knows by name: Claude Code,
// Codex and opencode. Each is a program of package command: installed from npm by a
// lock file with the hash of every package, started without a terminal, its telemetry,
// updates and model lists off, its calls sent to the gateway, and its events turned
// into a transcript.
//
// What the three have in common: they get the task by standard input and the run's token
// by an environment variable, and write their own files below [agent.RunDir] where they
// can be told to. They ask for no permission, because the sandbox confines them. They read
// the repository's instructions (CLAUDE.md, AGENTS.md), but not its settings, hooks, plugins
// and tool servers.
package presets

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
)

//go:embed npm
var npm embed.FS

const (
	// tokenEnv holds the run's token where an agent lets us choose the name.
	tokenEnv = "YUDAI_RUN_TOKEN"
	// errorsFile is the standard error of a program; its events go to the output.
	errorsFile = agent.RunDir + "/errors.log"
)

// All are the presets, in the order in which they are listed to people.
func All() []command.Program {
	return []command.Program{ClaudeCode(), Codex(), Opencode()}
}

// install is npm ci with the embedded lock file, without the packages' own scripts,
// and then the commands given, which see the agent's directory as the current one.
func install(name, finish string) agent.Installation {
	in := agent.Installation{Hosts: []string{"registry.npmjs.org"}} // or the operator's mirror
	for _, f := range []string{"package.json", "package-lock.json"} {
		data, err := npm.ReadFile(path.Join("npm", name, f))
		if err != nil {
			panic(fmt.Sprintf("embedded %s of %s: %v", f, name, err))
		}
		in.Files = append(in.Files, agent.File{Path: path.Join(agent.InstallDir, name, f), Data: data, Mode: 0o644})
	}
	in.Command = strings.ReplaceAll(`set -e
cd NAME
if ! command -v npm >/dev/null; then
	echo "NAME comes from npm: the sandbox's image needs node (18 or newer) and npm" >&2
	exit 127
fi
npm ci --cache "$PWD/.cache" --no-audit --no-fund --no-update-notifier --ignore-scripts
rm -rf .cache
`, "NAME", name) + finish
	return in
}

// npmBin is the directory of an agent's program.
func npmBin(name string) string { return path.Join(agent.InstallDir, name, "node_modules/.bin") }

// withTaskInput starts a program with the task as its input and its errors in a file of
// their own, so that the output is events alone.
func withTaskInput(argv ...string) []string {
	const script = `task=$1 errors=$2; shift 2; exec "$@" <"$task" 2>"$errors"`
	return append([]string{"sh", "-c", script, "sh", command.TaskFile, errorsFile}, argv...)
}
