package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// nodePackage is the part of a package.json that matters here.
type nodePackage struct {
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]string `json:"dependencies"`
	DevDependencies map[string]string `json:"devDependencies"`
	PackageManager  string            `json:"packageManager"`
	Workspaces      json.RawMessage   `json:"workspaces"`
}

var nodeRegistries = []string{"registry.npmjs.org", "registry.yarnpkg.com"}

// noScript is what npm init writes where there are no tests.
const noScript = "no test specified"

// localBin is where a package manager that the machine lacks is installed.
const localBin = `export PATH="$HOME/.local/bin:$PATH"; `

// detectNode recognises packages with a script for tests, or with a known runner
// among what they depend on. It follows the script to the one runner behind it and asks that
// for a report of each test. It leaves out what only checks style, types, coverage or known
// vulnerabilities: that says nothing of a candidate's behaviour and often needs a network.
// Where no runner is found the exit code counts.
func detectNode(r *repository) (Setup, bool) {
	var p nodePackage
	if json.Unmarshal([]byte(r.read("package.json")), &p) != nil { // npm cannot read it either
		return Setup{}, false
	}
	script := p.testScript()
	manager, install := nodeInstall(r, p)
	test := p.test(script, manager)
	if script == "" {
		script, test = "test", workspaceTest(r, p, manager)
	}
	if test.Command == "" {
		return Setup{}, false
	}
	var unlocked []string
	if lock := r.first("bun.lock", "bun.lockb", "deno.lock"); lock != "" && strings.Contains(install, "--no-package-lock") {
		unlocked = []string{notObeyed(lock)}
		install = printing(unlocked[0]) + " && " + install
	}
	s := Setup{
		Install: install, Unlocked: unlocked,
		Test: test,
		Why:  fmt.Sprintf("package.json with a script %q, run by %s", script, manager),
	}
	if manager != "npm" {
		s.Test.Plain = cmp.Or(s.Test.Plain, s.Test.Command)
		s.Test.Command = localBin + s.Test.Command
	}
	return s, true
}

// workspaceTest runs the tests of all workspaces, where the root has none of its own; "" if there are none.
func workspaceTest(r *repository, p nodePackage, manager string) solve.TestCommand {
	command := map[string]string{"npm": "npm run test --workspaces --if-present", "pnpm": "pnpm -r --no-bail run test"}[manager]
	tested := r.any(func(name string) bool {
		var member nodePackage
		return path.Base(name) == "package.json" && !notOwnCode(path.Dir(name)) && json.Unmarshal([]byte(r.read(name)), &member) == nil &&
			member.testScript() == "test"
	})
	if !tested || len(p.Workspaces) == 0 && !r.has("pnpm-workspace.yaml") || command == "" {
		return solve.TestCommand{}
	}
	return solve.TestCommand{Command: command, Format: "exit", Source: "package.json"}
}

// testScript names the script that runs the tests, "" if there is none. A runner
// that is installed and that no script calls gets one.
func (p *nodePackage) testScript() string {
	for _, name := range []string{"test", "test:unit", "unit"} {
		if s := p.Scripts[name]; s != "" && !strings.Contains(s, noScript) {
			return name
		}
	}
	runners := []string{"vitest", "jest", "mocha", "ava"}
	i := slices.IndexFunc(runners, func(name string) bool { return p.DevDependencies[name] != "" })
	if i < 0 {
		return ""
	}
	if p.Scripts == nil {
		p.Scripts = map[string]string{}
	}
	p.Scripts["test"] = runners[i]
	return "test"
}

// test is the command of a script's tests.
func (p nodePackage) test(script, manager string) solve.TestCommand {
	whole := solve.TestCommand{Command: manager + " run " + script, Format: "exit", Source: "package.json"}
	if script == "test" {
		whole.Command = manager + " test"
	}
	whole.Plain = whole.Command
	steps, dropped := p.steps(script)
	report := whole
	found := 0
	for i, step := range steps {
		if command, runner, ok := reporting(step); ok {
			found++
			steps[i], report.Format, report.Report = command, runner.format, runner.report
		}
	}
	const bin = `export PATH="$PWD/node_modules/.bin:$PATH"; `
	switch {
	case found == 1:
		report.Command = bin + strings.Join(steps, " && ")
		return report
	case dropped && len(steps) > 0:
		steps, _ = p.steps(script)
		whole.Command = bin + strings.Join(steps, " && ")
	}
	return whole
}

// nodeInstall chooses the package manager by the lock file and returns its command. If that
// fails, the command runs again without the scripts of packages: many of them only fetch what
// tests do not need (browsers, prebuilt programs, git hooks) from other hosts.
func nodeInstall(r *repository, p nodePackage) (manager, install string) {
	get := func(name string) string {
		return localBin + fmt.Sprintf(`{ command -v %[1]s >/dev/null || npm install -g --silent --prefix "$HOME/.local" %[1]s; } && `, name)
	}
	twice := func(command, without string) string {
		return fmt.Sprintf("{ %s || { echo 'once more, without the scripts of packages' && %s %s; }; }", command, command, without)
	}
	switch {
	case r.has("pnpm-lock.yaml") || strings.HasPrefix(p.PackageManager, "pnpm@"):
		return "pnpm", get("pnpm") + twice("pnpm install --frozen-lockfile", "--ignore-scripts")
	case r.has("yarn.lock") && r.has(".yarnrc.yml"):
		return "yarn", get("yarn") + twice("yarn install --immutable", "--mode=skip-build")
	case r.has("yarn.lock"):
		return "yarn", get("yarn") + twice("yarn install --frozen-lockfile --non-interactive", "--ignore-scripts")
	case r.has("package-lock.json") || r.has("npm-shrinkwrap.json"):
		return "npm", twice("npm ci --no-audit --no-fund", "--ignore-scripts")
	case len(p.Dependencies)+len(p.DevDependencies)+len(p.Workspaces) > 0:
		return "npm", twice("npm install --no-audit --no-fund --no-package-lock", "--ignore-scripts")
	}
	return "npm", ""
}
