package judge

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// pythonVenv is the environment that Install makes and the tests use. Packages
// of the machine stay visible, so a machine that has pytest needs no network for
// it. Sandboxes have its programs in their PATH: the agent, too, gets this python.
const pythonVenv = `python3 -m venv --system-site-packages ` + sandbox.VenvDir + ` && . ` + sandbox.VenvDir + `/bin/activate`

// pytestCommand runs with the environment if there is one, goes on after files
// that cannot be loaded, and writes a report per test.
const pytestCommand = `if [ -f ` + sandbox.VenvDir + `/bin/activate ]; then . ` + sandbox.VenvDir + `/bin/activate; fi; python3 -m pytest -q --continue-on-collection-errors --junitxml=` + junitFile

// poetryInstall keeps poetry and what it needs out of the tests' environment.
const poetryInstall = `{ python3 -m venv "$HOME/poetry" && "$HOME/poetry/bin/pip" install -q poetry && "$HOME/poetry/bin/poetry" install -q --no-interaction; }`

var (
	pythonBuild  = regexp.MustCompile(`(?m)^\[(?:project|build-system|tool\.poetry|tool\.flit\.metadata)\]`)
	pytestConfig = regexp.MustCompile(`(?m)^\[(?:tool\.pytest\.ini_options|tool\.pytest|tool:pytest|pytest)\]`)
	poetryGroup  = regexp.MustCompile(`(?m)^\[tool\.poetry\.(?:group\.[\w-]+\.dependencies|dev-dependencies)\]`)
	requirements = regexp.MustCompile(`^(?:requirements|requirements[-_.](?:` + testSet + `)|(?:` + testSet + `)[-_.]requirements|requirements/(?:base|main|` + testSet + `))\.txt$`)
)

// testSet are the names that projects give to what their tests need.
const testSet = `tests?|testing|dev|develop|development|ci`

// detectPython knows packages (pyproject.toml, setup.py, setup.cfg) and plain
// directories with requirements, tested by pytest.
func detectPython(r repository) (Setup, bool, error) {
	pyproject, err := r.read("pyproject.toml")
	if err != nil {
		return Setup{}, false, err
	}
	cfg, err := r.read("setup.cfg")
	if err != nil {
		return Setup{}, false, err
	}
	source := r.first("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt")
	tests := r.any(pythonTest)
	if r.files["pytest.ini"] || pytestConfig.MatchString(pyproject) || pytestConfig.MatchString(cfg) {
		tests = true
	}
	if !tests {
		return Setup{}, false, nil
	}
	if source == "" {
		source = "tests"
	}
	return Setup{
		Install: strings.Join(pythonInstall(r, pyproject, cfg), " && "),
		Test:    solve.TestCommand{Command: pytestCommand, Format: "junit", Report: junitFile, Source: source},
		Hosts:   pythonRegistry(),
		Why:     source + ", tested by pytest",
	}, true, nil
}

// pythonInstall are the steps that make the tests' environment: pytest, what
// requirements files and groups name, then the package itself. It comes last: what
// tests need may itself need the package, and would replace it by a released one.
func pythonInstall(r repository, pyproject, cfg string) []string {
	steps := []string{pythonVenv, `{ python3 -c 'import pytest' 2>/dev/null || pip install -q pytest; }`}
	for _, f := range slices.SortedFunc(slices.Values(r.paths), func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, ".txt"), strings.TrimSuffix(b, ".txt")) // requirements.txt first
	}) {
		if requirements.MatchString(f) {
			steps = append(steps, "pip install -q -r "+f)
		}
	}
	if group := testKey(pyproject, "dependency-groups"); group != "" {
		steps = append(steps, "{ pip install -q --group "+group+" || { pip install -q -U pip && pip install -q --group "+group+"; }; }")
	}
	switch {
	case poetryGroup.MatchString(pyproject):
		steps = append(steps, poetryInstall)
	case r.files["setup.py"] || pythonBuild.MatchString(pyproject) || strings.Contains(cfg, "[metadata]"):
		target := "."
		if extra := testExtra(pyproject, cfg); extra != "" {
			target = fmt.Sprintf("'.[%s]'", extra)
		}
		steps = append(steps, "pip install -q -e "+target)
	}
	return steps
}

func pythonTest(p string) bool {
	base := path.Base(p)
	if path.Ext(base) != ".py" || notOwnCode(path.Dir(p)) && path.Dir(p) != "." {
		return false
	}
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py")
}

// testExtra is the optional set of dependencies that the tests need.
func testExtra(pyproject, cfg string) string {
	if k := testKey(pyproject, "project", "optional-dependencies"); k != "" {
		return k
	}
	if k := testKey(pyproject, "tool", "poetry", "extras"); k != "" {
		return k
	}
	return testExtraOf(cfg)
}
