package judge

import (
	"encoding/json"
	"fmt"
	"regexp"
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

// detectNode knows packages with a script "test". Runners that can write JUnit
// reports without anything new are asked for one when the script is a single
// plain call of them; else the exit code counts.
func detectNode(r repository) (Setup, bool, error) {
	text, err := r.read("package.json")
	if err != nil || text == "" {
		return Setup{}, false, err
	}
	var p nodePackage
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Setup{}, false, nil //nolint:nilerr // npm cannot read it either: no tests here
	}
	script := p.Scripts["test"]
	if script == "" || strings.Contains(script, noScript) {
		return Setup{}, false, nil
	}
	manager, install := nodeInstall(r, p)
	s := Setup{
		Install: install,
		Test:    solve.TestCommand{Command: manager + " test", Format: "exit", Source: "package.json"},
		Why:     fmt.Sprintf("package.json with a script %q, run by %s", "test", manager),
	}
	if install != "" {
		s.Hosts = []string{"registry.npmjs.org", "registry.yarnpkg.com"}
	}
	if command := nodeJUnit(script, p); command != "" {
		s.Test.Command, s.Test.Format, s.Test.Report = command, "junit", junitFile
	}
	if manager != "npm" {
		s.Test.Command = localBin + s.Test.Command
	}
	return s, true, nil
}

// nodeInstall chooses the package manager by the lock file and returns its command.
func nodeInstall(r repository, p nodePackage) (manager, install string) {
	get := func(name string) string {
		return localBin + fmt.Sprintf(`{ command -v %s >/dev/null || npm install -g --silent --prefix "$HOME/.local" %s; } && `, name, name)
	}
	switch {
	case r.files["pnpm-lock.yaml"] || strings.HasPrefix(p.PackageManager, "pnpm@"):
		return "pnpm", get("pnpm") + "pnpm install --frozen-lockfile"
	case r.files["yarn.lock"] && r.files[".yarnrc.yml"]:
		return "yarn", get("yarn") + "yarn install --immutable"
	case r.files["yarn.lock"]:
		return "yarn", get("yarn") + "yarn install --frozen-lockfile --non-interactive"
	case r.files["package-lock.json"] || r.files["npm-shrinkwrap.json"]:
		return "npm", "npm ci --no-audit --no-fund"
	case len(p.Dependencies)+len(p.DevDependencies) > 0:
		return "npm", "npm install --no-audit --no-fund --no-package-lock"
	}
	return "npm", ""
}

// plainCall is a script without anything of a shell's: words, and settings before them.
var plainCall = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_]*=[A-Za-z0-9_./:-]* )*(?:npx )?((?:[A-Za-z0-9_./:@=,*\[\]{}^$?+'"-]+ ?)+)$`)

// nodeJUnit turns the script into a command that also writes a JUnit report, ""
// if that is not known to work. It calls what npm would call: with the package's
// own programs first in the path.
func nodeJUnit(script string, p nodePackage) string {
	m := plainCall.FindStringSubmatch(script)
	if m == nil || p.Scripts["pretest"] != "" || p.Scripts["posttest"] != "" {
		return ""
	}
	words := strings.Fields(m[1])
	prefix := strings.TrimSuffix(script, m[1])
	prefix = strings.TrimSuffix(prefix, "npx ")
	call := func(name string, rest []string) string {
		return `export PATH="$PWD/node_modules/.bin:$PATH"; ` + prefix + strings.Join(append([]string{name}, rest...), " ")
	}
	switch {
	case words[0] == "vitest":
		rest := words[1:]
		if len(rest) == 0 || rest[0] != "run" {
			rest = append([]string{"run"}, rest...)
		}
		if strings.Contains(script, "--reporter") {
			return ""
		}
		return call("vitest", append(rest, "--reporter=default", "--reporter=junit", "--outputFile.junit="+junitFile))
	case words[0] == "mocha" && !strings.Contains(script, "--reporter") && !strings.Contains(script, " -R"):
		return call("mocha", append(words[1:], "--reporter", "xunit", "--reporter-option", "output="+junitFile))
	case words[0] == "jest" && p.DevDependencies["jest-junit"] != "" && !strings.Contains(script, "--reporters"):
		return "export JEST_JUNIT_OUTPUT_FILE=" + junitFile + "; " + call("jest", append(words[1:], "--reporters=default", "--reporters=jest-junit"))
	case words[0] == "node" && len(words) > 1 && words[1] == "--test" && !strings.Contains(script, "--test-reporter"):
		return call("node", append([]string{
			"--test", "--test-reporter=spec", "--test-reporter-destination=stdout",
			"--test-reporter=junit", "--test-reporter-destination=" + junitFile,
		}, words[2:]...))
	}
	return ""
}
