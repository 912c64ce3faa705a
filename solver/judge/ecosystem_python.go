package judge

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// pythonVenv makes the environment of the tests. Packages of the machine stay visible, so that
// a machine with pytest needs no network for it. The environment is in the PATH of sandboxes,
// so that the agent uses this python, too.
const pythonVenv = `python3 -m venv --system-site-packages ` + sandbox.VenvDir + ` && . ` + sandbox.VenvDir + `/bin/activate`

// pytestCommand runs with the environment if there is one, goes on after files
// that cannot be loaded, and writes a report per test.
const pytestCommand = `if [ -f ` + sandbox.VenvDir + `/bin/activate ]; then . ` + sandbox.VenvDir + `/bin/activate; fi; ` +
	`python3 -m pytest -q --continue-on-collection-errors --junitxml=` + junitFile

var (
	pythonRegistries = []string{"pypi.org", "files.pythonhosted.org"}

	pythonBuild  = regexp.MustCompile(`(?m)^\[(?:project|build-system|tool\.poetry|tool\.flit\.metadata)\]`)
	pytestConfig = regexp.MustCompile(`(?m)^\[(?:tool\.pytest\.ini_options|tool\.pytest|tool:pytest|pytest)\]`)
	poetryGroup  = regexp.MustCompile(`(?m)^\[tool\.poetry\.(?:group\.[\w-]+\.dependencies|dev-dependencies)\]`)
	requirements = regexp.MustCompile(`^(?:requirements|requirements[-_.](?:` + testSet + `)|` +
		`(?:` + testSet + `)[-_.]requirements|requirements/(?:base|main|` + testSet + `))\.txt$`)
	iniHeader = regexp.MustCompile(`^\[([^\]]+)\]`)
	iniKey    = regexp.MustCompile(`^([A-Za-z0-9_-]+)\s*[=:]`)
)

// testSet are the names that projects give to what their tests need.
const testSet = `tests?|testing|dev|develop|development|ci`

// detectPython recognises packages (pyproject.toml, setup.py, setup.cfg) and plain
// directories with requirements, tested by pytest.
func detectPython(r *repository) (Setup, bool) {
	pyproject, cfg := r.read("pyproject.toml"), r.read("setup.cfg")
	source := cmp.Or(r.first("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt"), "tests")
	configured := r.has("pytest.ini") || pytestConfig.MatchString(pyproject) || pytestConfig.MatchString(cfg)
	install, unlocked := pythonInstall(r, pyproject, cfg)
	return Setup{
		Install: install, Unlocked: unlocked,
		Test: solve.TestCommand{Command: pytestCommand, Plain: "python3 -m pytest", Format: "junit", Report: junitFile, Source: source},
		Why:  source + ", tested by pytest",
	}, configured || r.any(pythonTest)
}

// pythonInstall makes the tests' environment: pytest, then what the lock file names. Without one, or if
// it cannot be obeyed, what the repository's other files name.
func pythonInstall(r *repository, pyproject, cfg string) (install string, unlocked []string) {
	steps := []string{pythonVenv, `{ python3 -c 'import pytest' 2>/dev/null || pip install -q pytest; }`}
	open := pythonUnlocked(r, pyproject, cfg)
	lock, locked := pythonLocked(r, pyproject, cfg)
	if lock == "" {
		return strings.Join(append(steps, open...), " && "), nil
	}
	note := notObeyed(lock)
	open = append([]string{printing(note)}, open...)
	return strings.Join(append(steps, "{ "+locked+" || { "+strings.Join(open, " && ")+"; }; }"), " && "), []string{note}
}

// pythonUnlocked installs what requirements files and groups name, then the package itself. It is last
// because a dependency of the tests may depend on the package and would replace it by a released version.
func pythonUnlocked(r *repository, pyproject, cfg string) (steps []string) {
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
	if poetryGroup.MatchString(pyproject) {
		return append(steps, pythonTool("poetry", "install -q --no-interaction"))
	}
	return append(steps, pythonPackage(r, pyproject, cfg)...)
}

// pythonPackage installs the package itself, if the repository is one.
func pythonPackage(r *repository, pyproject, cfg string) []string {
	if !r.has("setup.py") && !pythonBuild.MatchString(pyproject) && !strings.Contains(cfg, "[metadata]") {
		return nil
	}
	target := "."
	if extra := testExtra(pyproject, cfg); extra != "" {
		target = fmt.Sprintf("'.[%s]'", extra)
	}
	return []string{"pip install -q -e " + target}
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
	return cmp.Or(testKey(pyproject, "project", "optional-dependencies"), testKey(pyproject, "tool", "poetry", "extras"), testExtraOf(cfg))
}

// testKey returns the first of the usual names that a table of a TOML file has as a key;
// "" if the file has no such table or is not TOML.
func testKey(text string, table ...string) string {
	var file map[string]any
	if _, err := toml.Decode(text, &file); err != nil {
		return ""
	}
	for _, name := range table {
		file, _ = file[name].(map[string]any)
	}
	return testName(func(name string) bool { return file[name] != nil })
}

// testExtraOf is testKey for the section of extras in a setup.cfg.
func testExtraOf(cfg string) string {
	var keys []string
	section := ""
	for line := range strings.Lines(cfg) {
		if m := iniHeader.FindStringSubmatch(line); m != nil {
			section = m[1]
		} else if m := iniKey.FindStringSubmatch(line); m != nil && section == "options.extras_require" {
			keys = append(keys, m[1])
		}
	}
	return testName(func(name string) bool { return slices.Contains(keys, name) })
}

// testName is the first of the names that projects give to what their tests need.
func testName(has func(name string) bool) string {
	names := []string{"test", "tests", "testing", "dev"}
	if i := slices.IndexFunc(names, has); i >= 0 {
		return names[i]
	}
	return ""
}
