package judge_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// TestHalvesAreTestedOrNamed: Go's modules are tested together; what has another runner is named.
func TestHalvesAreTestedOrNamed(t *testing.T) {
	t.Parallel()
	const node, py = `{"scripts":{"test":"jest"}}`, "[project]\n"
	for name, c := range map[string]struct {
		files             map[string]string
		command, untested string
	}{
		"one":      {map[string]string{"go.mod": "", "a_test.go": "", "Makefile": "test:\n\tx\n", "web/README.md": ""}, "go test ./...", ""},
		"beside":   {map[string]string{"pyproject.toml": py, "tests/test_a.py": "", "package.json": node}, "pytest", "the JavaScript tests of package.json"},
		"below":    {map[string]string{"setup.py": "", "test_a.py": "", "web/package.json": node}, "pytest", "the JavaScript tests in web"},
		"no tests": {map[string]string{"package.json": node, "server/setup.py": "", "tool/go.mod": ""}, "jest", ""},
		"modules": {
			map[string]string{"go.mod": "", "a_test.go": "", "x y/go.mod": "", "x y/b_test.go": "", "examples/go.mod": "", "examples/c_test.go": ""},
			"printf '%s\\0' . 'x y' | xargs -0 -I DIR env -C DIR go test -json ./...", "",
		},
		"no root": {map[string]string{"a/go.mod": "", "a/a_test.go": "", "b/go.mod": "", "b/b_test.go": ""}, "printf '%s\\0' a b | xargs", ""},
		"npm workspaces": {
			map[string]string{"package.json": `{"workspaces":["p/*"]}`, "p/a/package.json": node, "p/b/package.json": node},
			"npm run test --workspaces --if-present", "",
		},
		"pnpm workspaces": {
			map[string]string{"package.json": "{}", "pnpm-workspace.yaml": "", "pnpm-lock.yaml": "", "p/a/package.json": node, "p/b/package.json": node},
			"pnpm -r --no-bail run test", "",
		},
		"workspaces without tests": {
			map[string]string{"package.json": `{"workspaces":["p/*"]}`, "p/a/package.json": "{}", "Makefile": "test:\n\tx\n"}, "make test", "",
		},
		"workspace": {map[string]string{"go.mod": "", "a_test.go": "", "go.work": "use (\n.\n./a\n)", "a/go.mod": "", "a/a_test.go": "", "b/go.mod": "", "b/b_test.go": ""}, "go list -m", "the tests of the module in b"},
	} {
		s, err := detect(c.files)
		if err != nil || !strings.Contains(s.Test.Command, c.command) {
			t.Errorf("%s: %q, %v", name, s.Test.Command, err)
		}
		if !strings.Contains(s.Untested, c.untested) || (s.Untested == "") != (c.untested == "") {
			t.Errorf("%s: %q, want %q", name, s.Untested, c.untested)
		}
	}
}

// TestALinkIsNoManifest: a name in the list of files that leads to no file of the repository.
func TestALinkIsNoManifest(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{fs.ErrNotExist: true, os.ErrDeadlineExceeded: false} {
		s, got := judge.Detect([]string{"a_test.go", "go.mod", "web/Makefile"}, func(p string) ([]byte, error) {
			if p == "web/Makefile" {
				return nil, err
			}
			return nil, nil
		})
		if (got == nil) != want || want && s.Test.Command != "go test ./..." {
			t.Errorf("%v: %q, %v", err, s.Test.Command, got)
		}
	}
}

// TestAModuleThatCannotBeDownloaded below the root refuses nothing; the root must be.
func TestAModuleThatCannotBeDownloaded(t *testing.T) {
	t.Parallel()
	s, err := detect(map[string]string{"go.mod": "require x v1\n", "a_test.go": "", "sub/go.mod": "require y v1\n", "sub/b_test.go": ""})
	must(t, err)
	for bad, want := range map[string]string{"sub": s.Unlocked[0] + "\n", "root": "", "none": ""} {
		// The shell writes the program: a test that forks meanwhile would keep it open for writing.
		run := exec.CommandContext(t.Context(), "bash", "-c", `mkdir -p bin root/sub && printf '#!/bin/sh\ntest "${PWD##*/}" != `+bad+
			`' > bin/go && chmod +x bin/go && PATH=$PWD/bin:$PATH && cd root && `+s.Install)
		run.Dir = t.TempDir()
		out, err := run.Output()
		if string(out) != want || (err != nil) != (bad == "root") {
			t.Errorf("%s: %q, %v", bad, out, err)
		}
	}
}

// TestModulesAreTestedTogether runs the command of two modules.
func TestModulesAreTestedTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{}
	for _, m := range []string{"one", "two's"} {
		files[m+"/go.mod"] = "module example.com/" + m[:3] + "\n\ngo 1.21\n"
		files[m+"/x_test.go"] = "package x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.FailNow() }\n"
		if err := os.Mkdir(filepath.Join(dir, m), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := detect(files)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "bash", "-c", s.Test.Command)
	run.Dir = dir
	out, err := run.Output()
	if err == nil {
		t.Error("the command succeeds although tests fail")
	}
	for _, want := range []string{`"Action":"fail","Package":"example.com/one","Test":"TestX"`, `"Action":"fail","Package":"example.com/two","Test":"TestX"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}

// TestModulesAreJudged: canaries among the tests of several modules fail nobody. They end xargs with a code of its own.
func TestModulesAreJudged(t *testing.T) {
	t.Parallel()
	const modules = `for m in a b; do mkdir $m; printf "module example.com/$m\n\ngo 1.21\n" > $m/go.mod
printf 'package x\n\nfunc One() int { return 1 }\n' > $m/x.go
printf 'package x\n\nimport "testing"\n\nfunc TestX(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Error(1)\n\t}\n}\n' > $m/x_test.go; done
`
	files := map[string]string{"a/go.mod": "", "a/x_test.go": "", "b/go.mod": "", "b/x_test.go": ""}
	for name, work := range map[string]string{"side by side": "", "workspace": "go 1.21\n\nuse (\n\t./a\n\t./b\n)\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, has := modules, maps.Clone(files)
			if work != "" {
				script, has["go.work"] = modules+"printf '"+work+"' > go.work", work
			}
			setup, err := detect(has)
			must(t, err)
			b := prepareFrom(t, warmGo(t), script, setup.Test)
			if b.report.Canaries == nil || b.report.Counts.Exit != 0 || b.report.Runs > 1 {
				t.Fatalf("base: %+v", b.report)
			}
			v, log := b.judge(t, b.candidate(t, "sed -i 's/return 1/return 2 - 1/' b/x.go"))
			if v.Outcome != solve.Passed || v.Kept != 2 {
				t.Errorf("%+v\n%s", v, log)
			}
		})
	}
}
