package judge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

// TestLockFilesAreObeyed: the install takes the versions of a lock file, and prints a sentence if it goes on without.
func TestLockFilesAreObeyed(t *testing.T) {
	t.Parallel()
	const project = "[project]\nname = \"x\"\n[project.optional-dependencies]\ntest = []\n[dependency-groups]\ndev = []\n"
	for lock, c := range map[string]struct {
		pyproject, locked, open string
	}{
		"uv.lock": {
			project, "uv export -q --frozen --no-hashes --no-header -o \"$HOME/locked.txt\" --extra test --group dev; } && pip install -q -r \"$HOME/locked.txt\" || {",
			"pip install -q -e '.[test]'",
		},
		"poetry.lock": {
			"[tool.poetry]\n[tool.poetry.extras]\ntest = []\n", "poetry install -q --no-interaction -E test; } || {", "pip install -q -e '.[test]'",
		},
		"Pipfile.lock": {project, "> \"$HOME/locked.txt\" && pip install -q -r \"$HOME/locked.txt\" && pip install -q -e '.[test]' || {", "pip install -q -e '.[test]'"},
	} {
		s, err := detect(map[string]string{"pyproject.toml": c.pyproject, "tests/test_x.py": "", lock: ""})
		note := lock + " was not obeyed, so versions may differ from those that the repository names"
		if err != nil || !slices.Equal(s.Unlocked, []string{note}) {
			t.Errorf("%s: %v, %q", lock, err, s.Unlocked)
		}
		_, otherwise, found := strings.Cut(s.Install, c.locked)
		if !found || !strings.Contains(otherwise, "echo '"+note+"' && ") || !strings.Contains(otherwise, c.open) {
			t.Errorf("%s: installed by %s", lock, s.Install)
		}
		if out, err := exec.Command("bash", "-n", "-c", s.Install).CombinedOutput(); err != nil {
			t.Errorf("%s: %q is no shell: %s", lock, s.Install, out)
		}
	}
	s, err := detect(map[string]string{"package.json": `{"scripts":{"test":"jest"},"devDependencies":{"jest":"1"}}`, "bun.lock": ""})
	if err != nil || len(s.Unlocked) != 1 || !strings.HasPrefix(s.Install, "echo 'bun.lock was not obeyed") {
		t.Errorf("bun: %v, %q, %s", err, s.Unlocked, s.Install)
	}
}

// TestPipfileRequirements runs the line that reads a Pipfile.lock.
func TestPipfileRequirements(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Needs("python3")
		t.Skip("needs python3")
	}
	s, err := detect(map[string]string{"Pipfile.lock": "", "tests/test_x.py": ""})
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(s.Install, "{ python3 -c '\n")
	script, _, _ = strings.Cut(script, "\n'")
	dir := t.TempDir()
	const lock = `{"default": {"six": {"version": "==1.15.0", "extras": ["a", "b"]}, "me": {"path": "."}}, "develop": {"six": {"version": "==1"}, "w": {"version": "==2", "markers": "x"}}}`
	if err := os.WriteFile(filepath.Join(dir, "Pipfile.lock"), []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(python, "-c", script)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil || string(out) != "six[a,b]==1.15.0\nw==2; x\n" {
		t.Errorf("%v, %q of %s", err, out, script)
	}
}
