package judge

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// pythonVenv is the environment that Install makes and the tests use. Packages
// of the machine stay visible, so a machine that has pytest needs no network for it.
const pythonVenv = `python3 -m venv --system-site-packages "$HOME/venv" && . "$HOME/venv/bin/activate"`

// pytestCommand runs with the environment if there is one, goes on after files
// that cannot be loaded, and writes a report per test.
const pytestCommand = `if [ -f "$HOME/venv/bin/activate" ]; then . "$HOME/venv/bin/activate"; fi; python3 -m pytest -q --continue-on-collection-errors --junitxml=` + junitFile

var (
	pythonBuild  = regexp.MustCompile(`(?m)^\[(?:project|build-system|tool\.poetry|tool\.flit\.metadata)\]`)
	pytestConfig = regexp.MustCompile(`(?m)^\[(?:tool\.pytest\.ini_options|tool\.pytest|tool:pytest|pytest)\]`)
	tomlHeader   = regexp.MustCompile(`^\s*\[([^\[\]]+)\]`)
	tomlKey      = regexp.MustCompile(`^\s*["']?([A-Za-z0-9_.-]+)["']?\s*=`)
)

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
	steps := []string{pythonVenv, `{ python3 -c 'import pytest' 2>/dev/null || pip install -q pytest; }`}
	for _, f := range []string{
		"requirements.txt", "requirements-dev.txt", "requirements-test.txt", "requirements_dev.txt", "requirements_test.txt",
		"dev-requirements.txt", "test-requirements.txt", "requirements/dev.txt", "requirements/test.txt", "requirements/tests.txt",
	} {
		if r.files[f] {
			steps = append(steps, "pip install -q -r "+f)
		}
	}
	if r.files["setup.py"] || pythonBuild.MatchString(pyproject) || strings.Contains(cfg, "[metadata]") {
		target := "."
		if extra := testExtra(pyproject, cfg); extra != "" {
			target = fmt.Sprintf("'.[%s]'", extra)
		}
		steps = append(steps, "pip install -q -e "+target)
	}
	if group := testKey(pyproject, "dependency-groups"); group != "" {
		steps = append(steps, "{ pip install -q --group "+group+" || { pip install -q -U pip && pip install -q --group "+group+"; }; }")
	}
	return Setup{
		Install: strings.Join(steps, " && "),
		Test:    solve.TestCommand{Command: pytestCommand, Format: "junit", Report: junitFile, Source: source},
		Hosts:   []string{"pypi.org", "files.pythonhosted.org"},
		Why:     source + ", tested by pytest",
	}, true, nil
}

func pythonTest(p string) bool {
	base := path.Base(p)
	if path.Ext(base) != ".py" || foreign(path.Dir(p)) && path.Dir(p) != "." {
		return false
	}
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py")
}

// testExtra is the optional set of dependencies that the tests need.
func testExtra(pyproject, cfg string) string {
	if k := testKey(pyproject, "project.optional-dependencies"); k != "" {
		return k
	}
	if k := testKey(pyproject, "tool.poetry.extras"); k != "" {
		return k
	}
	return testKey(cfg, "options.extras_require")
}

// testKey returns the first of the usual names that a section of a TOML or INI
// file has as a key.
func testKey(text, section string) string {
	keys, in := map[string]bool{}, false
	for line := range strings.Lines(text) {
		if m := tomlHeader.FindStringSubmatch(line); m != nil {
			in = strings.TrimSpace(m[1]) == section
			continue
		}
		if m := tomlKey.FindStringSubmatch(line); in && m != nil {
			keys[m[1]] = true
		}
	}
	for _, name := range []string{"test", "tests", "testing", "dev"} {
		if keys[name] {
			return name
		}
	}
	return ""
}
