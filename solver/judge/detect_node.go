package judge

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// nodePackage is what of a package.json matters here.
type nodePackage struct {
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]string `json:"dependencies"`
	DevDependencies map[string]string `json:"devDependencies"`
	PackageManager  string            `json:"packageManager"`
}

// noScript is what npm init writes where there are no tests.
const noScript = "no test specified"

// localBin is where a package manager that the machine lacks is installed.
const localBin = `export PATH="$HOME/.local/bin:$PATH"; `

// detectNode knows packages with a script for tests, or with a known runner
// among what they depend on. The script is followed to the one runner behind it,
// which is asked for a report per test; what only checks style, types, coverage
// or known holes says nothing of a candidate's behaviour, often needs a network,
// and is left out. Where no runner is found the exit code counts.
func detectNode(r repository) (Setup, bool, error) {
	text, err := r.read("package.json")
	if err != nil || text == "" {
		return Setup{}, false, err
	}
	var p nodePackage
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Setup{}, false, nil //nolint:nilerr // npm cannot read it either: no tests here
	}
	script := p.testScript()
	if script == "" {
		return Setup{}, false, nil
	}
	manager, install := nodeInstall(r, p)
	s := Setup{
		Install: install,
		Test:    p.test(script, manager),
		Why:     fmt.Sprintf("package.json with a script %q, run by %s", script, manager),
	}
	if install != "" {
		s.Hosts = nodeRegistry()
	}
	if manager != "npm" {
		s.Test.Command = localBin + s.Test.Command
	}
	return s, true, nil
}

// testScript names the script that runs the tests, "" if there is none. A runner
// that is installed and that no script calls gets one.
func (p *nodePackage) testScript() string {
	for _, name := range []string{"test", "test:unit", "unit"} {
		if s := p.Scripts[name]; s != "" && !strings.Contains(s, noScript) {
			return name
		}
	}
	for _, runner := range []string{"vitest", "jest", "mocha", "ava"} {
		if p.DevDependencies[runner] != "" {
			if p.Scripts == nil {
				p.Scripts = map[string]string{}
			}
			p.Scripts["test"] = runner
			return "test"
		}
	}
	return ""
}

// test is the command of a script's tests.
func (p nodePackage) test(script, manager string) solve.TestCommand {
	whole := solve.TestCommand{Command: manager + " run " + script, Format: "exit", Source: "package.json"}
	if script == "test" {
		whole.Command = manager + " test"
	}
	steps, dropped := p.steps(script)
	report := whole
	found := 0
	for i, step := range steps {
		if command, format, file, ok := reporting(step); ok {
			found++
			steps[i], report.Format, report.Report = command, format, file
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

// nodeInstall chooses the package manager by the lock file and returns its
// command. Where that fails it is tried without the packages' own scripts: many
// only fetch what tests do not need (browsers, prebuilt programs, git hooks), from
// hosts that are not package registries.
func nodeInstall(r repository, p nodePackage) (manager, install string) {
	get := func(name string) string {
		return localBin + fmt.Sprintf(`{ command -v %s >/dev/null || npm install -g --silent --prefix "$HOME/.local" %s; } && `, name, name)
	}
	twice := func(command, without string) string {
		return fmt.Sprintf("{ %s || { echo 'once more, without the scripts of packages' && %s %s; }; }", command, command, without)
	}
	switch {
	case r.files["pnpm-lock.yaml"] || strings.HasPrefix(p.PackageManager, "pnpm@"):
		return "pnpm", get("pnpm") + twice("pnpm install --frozen-lockfile", "--ignore-scripts")
	case r.files["yarn.lock"] && r.files[".yarnrc.yml"]:
		return "yarn", get("yarn") + twice("yarn install --immutable", "--mode=skip-build")
	case r.files["yarn.lock"]:
		return "yarn", get("yarn") + twice("yarn install --frozen-lockfile --non-interactive", "--ignore-scripts")
	case r.files["package-lock.json"] || r.files["npm-shrinkwrap.json"]:
		return "npm", twice("npm ci --no-audit --no-fund", "--ignore-scripts")
	case len(p.Dependencies)+len(p.DevDependencies) > 0:
		return "npm", twice("npm install --no-audit --no-fund --no-package-lock", "--ignore-scripts")
	}
	return "npm", ""
}
