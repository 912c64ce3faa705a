package judge_test

import (
	"errors"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solver/judge"
)

// detect looks at a repository that is given as files and content.
func detect(files map[string]string) (judge.Setup, error) {
	return judge.Detect(slices.Sorted(maps.Keys(files)), func(p string) ([]byte, error) {
		text, ok := files[p]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	})
}

func TestDetect(t *testing.T) {
	t.Parallel()
	type want struct {
		install, command, format, report, source string
		hosts                                    bool
	}
	const path = `export PATH="$PWD/node_modules/.bin:$PATH"; `
	const junit, jest = "/workspace/keep/report/junit.xml", "/workspace/keep/report/jest.json"
	cases := map[string]struct {
		files map[string]string
		want  want
	}{
		"go without requirements": {
			map[string]string{"go.mod": "module m\n\ngo 1.26\n", "a_test.go": "", "package.json": `{"scripts":{"test":"jest"}}`},
			want{"", "go test ./...", "go", "", "go.mod", false},
		},
		"go": {
			map[string]string{"go.mod": "module m\n\nrequire (\n\tx.org/y v1.0.0\n)\n", "p/a_test.go": ""},
			want{"go mod download", "go test ./...", "go", "", "go.mod", true},
		},
		"go, vendored": {
			map[string]string{"go.mod": "module m\nrequire x.org/y v1.0.0\n", "a_test.go": "", "vendor/modules.txt": ""},
			want{"", "go test ./...", "go", "", "go.mod", false},
		},
		"go workspace": {
			map[string]string{"go.work": "use ./a\n", "a/go.mod": "module a", "a/a_test.go": ""},
			want{"go mod download", "go list -m -f '{{.Dir}}/...' | xargs go test -json", "go", "", "go.work", true},
		},
		"go without tests, but make": {
			map[string]string{"go.mod": "module m\n", "a.go": "", "Makefile": "all:\n\ntest: all\n\t./t\n"},
			want{"", "make test", "exit", "", "Makefile", false},
		},
		"rust": {
			map[string]string{"Cargo.toml": "[package]", "Cargo.lock": "", "src/lib.rs": "#[cfg(test)]\nmod tests {}\n"},
			want{"cargo fetch --locked", "cargo test --offline --no-fail-fast 2>&1", "cargo", "", "Cargo.toml", true},
		},
		"python package with test extra": {
			map[string]string{
				"pyproject.toml": "[project]\nname = \"x\"\n[project.optional-dependencies]\ndocs = [\"sphinx\"]\ntest = [\n  \"pytest\",\n]\n", "tests/test_x.py": "",
				"requirements-dev.txt": "", "package.json": `{"scripts":{"test":"jest"}}`,
			},
			want{"pip install -q -r requirements-dev.txt && pip install -q -e '.[test]'", "python3 -m pytest -q --continue-on-collection-errors --junitxml=" + junit, "junit", junit, "pyproject.toml", true},
		},
		"python with a dependency group": {
			map[string]string{"pyproject.toml": "[build-system]\n[dependency-groups]\ndev = []\n", "src/x/x_test.py": ""},
			want{"&& pip install -q --group dev; }; } && pip install -q -e .", "python3 -m pytest", "junit", junit, "pyproject.toml", true},
		},
		"python, the extra as a dotted key": {
			map[string]string{"pyproject.toml": "[project]\noptional-dependencies.docs = [ \"x\" ]\noptional-dependencies.tests = [\n  \"test==1\",\n]\n[[tool.x]]\ntest = 1\n", "tests/test_x.py": ""},
			want{"&& pip install -q -e '.[tests]'", "python3 -m pytest", "junit", junit, "pyproject.toml", true},
		},
		"python, the extra in braces": {
			map[string]string{"pyproject.toml": "[project]\noptional-dependencies = { docs = [\"x\"], dev = [\"test==1\"] } # test\n", "tests/test_x.py": ""},
			want{"&& pip install -q -e '.[dev]'", "python3 -m pytest", "junit", junit, "pyproject.toml", true},
		},
		"python, no extra, but a requirement that looks like one": {
			map[string]string{"pyproject.toml": "[project]\n[project.optional-dependencies]\ndocs = [\n\"test==1\",\n]\n", "tests/test_x.py": ""},
			want{"&& pip install -q -e .", "python3 -m pytest", "junit", junit, "pyproject.toml", true},
		},
		"python, requirements under other names": {
			map[string]string{"setup.py": "", "dev.requirements.txt": "", "requirements/tests.txt": "", "requirements.txt": "", "docs/requirements.txt": "", "requirements-docs.txt": "", "test_x.py": ""},
			want{"&& pip install -q -r dev.requirements.txt && pip install -q -r requirements.txt && pip install -q -r requirements/tests.txt && pip install -q -e .", "python3 -m pytest", "junit", junit, "setup.py", true},
		},
		"poetry": {
			map[string]string{"pyproject.toml": "[tool.poetry]\n[tool.poetry.group.test.dependencies]\npytest = \"*\"\n", "tests/test_x.py": ""},
			want{`PATH="$PATH:$HOME/poetry/bin" poetry install -q --no-interaction; }`, "python3 -m pytest", "junit", junit, "pyproject.toml", true},
		},
		"python, old style": {
			map[string]string{"setup.py": "", "setup.cfg": "[options.extras_require]\ntesting =\n    pytest\n", "test_x.py": ""},
			want{"pip install -q -e '.[testing]'", "python3 -m pytest", "junit", junit, "setup.py", true},
		},
		"python, tests only": {
			map[string]string{"tests/test_x.py": "", "x.py": ""},
			want{"pip install -q pytest; }", "python3 -m pytest", "junit", junit, "tests", true},
		},
		"python for the documentation only": {
			map[string]string{"requirements.txt": "sphinx", "package.json": `{"scripts":{"test":"make check"}}`},
			want{"", "npm test", "exit", "", "package.json", false},
		},
		"npm, no dependencies": {
			map[string]string{"package.json": `{"scripts":{"test":"./check.sh && ./more.sh"}}`},
			want{"", "npm test", "exit", "", "package.json", false},
		},
		"npm, lock file, jest": {
			map[string]string{"package.json": `{"scripts":{"test":"jest"},"devDependencies":{"jest":"1"}}`, "package-lock.json": ""},
			want{"{ npm ci --no-audit --no-fund || { echo 'once more, without the scripts of packages' && npm ci --no-audit --no-fund --ignore-scripts; }; }", "jest --json --outputFile=" + jest, "jest", jest, "package.json", true},
		},
		"npm, no lock file, jest with reporter": {
			map[string]string{"package.json": `{"scripts":{"test":"NODE_ENV=test npx jest --ci src"},"devDependencies":{"jest":"1","jest-junit":"1"}}`},
			want{"npm install --no-audit --no-fund --no-package-lock", "NODE_ENV=test jest --ci src --json --outputFile=" + jest, "jest", jest, "package.json", true},
		},
		"pnpm, vitest": {
			map[string]string{"package.json": `{"scripts":{"test":"vitest"},"devDependencies":{"vitest":"1"}}`, "pnpm-lock.yaml": ""},
			want{"pnpm install --frozen-lockfile", `vitest run --reporter=default --reporter=junit --outputFile.junit=` + junit, "junit", junit, "package.json", true},
		},
		"yarn": {
			map[string]string{"package.json": `{"scripts":{"test":"tsc && ava"}}`, "yarn.lock": ""},
			want{"yarn install --frozen-lockfile --non-interactive", "tsc && ava --tap", "tap", "", "package.json", true},
		},
		"yarn, newer": {
			map[string]string{"package.json": `{"scripts":{"test":"ava"}}`, "yarn.lock": "", ".yarnrc.yml": ""},
			want{"yarn install --immutable", "ava --tap", "tap", "", "package.json", true},
		},
		"mocha": {
			map[string]string{"package.json": `{"scripts":{"test":"mocha --recursive"}}`},
			want{"", `mocha --recursive --reporter xunit --reporter-option output=` + junit, "junit", junit, "package.json", false},
		},
		"node --test": {
			map[string]string{"package.json": `{"scripts":{"test":"node --test test/*.js"}}`},
			want{"", "--test-reporter=junit --test-reporter-destination=" + junit + " --test test/*.js", "junit", junit, "package.json", false},
		},
		"node --test after something else": {
			map[string]string{"package.json": `{"scripts":{"pretest":"tsc","test":"node --test"}}`},
			want{"", "tsc && node --test-reporter=spec", "junit", junit, "package.json", false},
		},
		"tape behind scripts, coverage, a linter and an audit": {
			map[string]string{"package.json": `{"scripts":{"pretest":"npm run lint","lint":"eslint .","test":"npm run tests-only","tests-only":"nyc --lines 100 tape 'test/**/*.js'","posttest":"npx npm@'>=10.2' audit --production"}}`},
			want{"", path + "tape 'test/**/*.js'", "tap", "", "package.json", false},
		},
		"tape with a pretty printer": {
			map[string]string{"package.json": `{"scripts":{"test":"NODE_ENV=test tape test/*.js | tap-spec"}}`},
			want{"", path + "NODE_ENV=test tape test/*.js", "tap", "", "package.json", false},
		},
		"node --test, then a linter": {
			map[string]string{"package.json": `{"scripts":{"test":"c8 --check-coverage --lines=100 npm run test:unit && npm run test:types","test:unit":"node --import tsx --test","test:types":"tsd || exit 1"}}`},
			want{"", "--test-reporter-destination=" + junit + " --import tsx --test", "junit", junit, "package.json", false},
		},
		"two runners": {
			map[string]string{"package.json": `{"scripts":{"test":"npm run lint && mocha && ava","lint":"xo"}}`},
			want{"", path + "mocha && ava", "exit", "", "package.json", false},
		},
		"a script that is more than commands in a row": {
			map[string]string{"package.json": `{"scripts":{"pretest":"eslint .","test":"for f in test/*.js; do node $f || exit 1; done"}}`},
			want{"", path + "( for f in test/*.js; do node $f || exit 1; done )", "exit", "", "package.json", false},
		},
		"scripts that call each other for ever": {
			map[string]string{"package.json": `{"scripts":{"test":"npm run a","a":"npm run b","b":"npm run a"}}`},
			want{"", "npm test", "exit", "", "package.json", false},
		},
		"a script for unit tests only": {
			map[string]string{"package.json": `{"scripts":{"test:unit":"./check.sh"}}`},
			want{"", "npm run test:unit", "exit", "", "package.json", false},
		},
		"a runner without a script": {
			map[string]string{"package.json": `{"devDependencies":{"vitest":"1"}}`, "package-lock.json": ""},
			want{"npm ci --no-audit --no-fund", "vitest run --reporter=default", "junit", junit, "package.json", true},
		},
		"maven": {
			map[string]string{"pom.xml": "", "src/test/java/XTest.java": ""},
			want{"mvn -B -q test", "mvn -B -o test -Dmaven.test.failure.ignore=true", "junit", "**/target/surefire-reports/TEST-*.xml", "pom.xml", true},
		},
		"gradle with wrapper": {
			map[string]string{"build.gradle.kts": "", "gradlew": "", "app/src/test/kotlin/XTest.kt": ""},
			want{"sh ./gradlew --no-daemon", "sh ./gradlew --no-daemon --offline test --continue", "junit", "**/build/test-results/**/TEST-*.xml", "build.gradle.kts", true},
		},
		"one module below": {
			map[string]string{"README.md": "", "the code/go.mod": "module m\nrequire x v1\n", "the code/x_test.go": "", "docs/package.json": `{"scripts":{"test":"x"}}`, "examples/a/go.mod": "", "examples/a/a_test.go": ""},
			want{"cd 'the code' && go mod download", "cd 'the code' && go test ./...", "go", "", "the code/go.mod", true},
		},
		"one module below, with a report": {
			map[string]string{"app/pom.xml": "", "app/src/test/java/XTest.java": ""},
			want{"cd app && ", "cd app && mvn", "junit", "app/**/target/surefire-reports/TEST-*.xml", "app/pom.xml", true},
		},
	}
	for name, c := range cases {
		s, err := detect(c.files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, host := range s.Hosts {
			if !slices.Contains(judge.Registries(), host) {
				t.Errorf("%s is not among the registries, so no repository could name it", host)
			}
		}
		got := want{s.Install, s.Test.Command, s.Test.Format, s.Test.Report, s.Test.Source, len(s.Hosts) > 0}
		// Long commands are named by a part.
		if c.want.install != "" && strings.Contains(got.install, c.want.install) {
			got.install = c.want.install
		}
		if strings.Contains(got.command, c.want.command) {
			got.command = c.want.command
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if s.Why == "" {
			t.Errorf("%s: no reason given", name)
		}
		for _, shell := range []string{s.Install, s.Test.Command} {
			if out, err := exec.Command("bash", "-n", "-c", shell).CombinedOutput(); err != nil {
				t.Errorf("%s: %q is no shell: %s", name, shell, out)
			}
		}
	}
}

// TestCommandForPeople: what people are told to run in a clone has no path of a sandbox.
func TestCommandForPeople(t *testing.T) {
	t.Parallel()
	const vitest = `{"scripts":{"test":"vitest"},"devDependencies":{"vitest":"1"}}`
	for want, files := range map[string]map[string]string{
		"go test ./...":        {"go.mod": "module m", "a_test.go": ""},
		"python3 -m pytest":    {"setup.py": "", "tests/test_x.py": ""},
		"cd sub && cargo test": {"sub/Cargo.toml": "", "sub/tests/b.rs": ""},
		"npm test":             {"package.json": vitest},
		"pnpm test":            {"package.json": vitest, "pnpm-lock.yaml": ""},
		"cargo test":           {"Cargo.toml": "", "tests/b.rs": ""},
		"mvn test":             {"pom.xml": "", "src/test/java/XTest.java": ""},
		"sh ./gradlew test":    {"build.gradle": "", "gradlew": "", "src/test/java/XTest.java": ""},
		"make test":            {"Makefile": "test:\n\ttrue\n"},
	} {
		if s, err := detect(files); err != nil || s.Test.ForPeople() != want {
			t.Errorf("%q, want %q (%v)", s.Test.ForPeople(), want, err)
		}
	}
}

func TestDetectNothing(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"empty":            {},
		"prose":            {"README.md": "", "docs/test_plan.md": ""},
		"no test script":   {"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`},
		"broken package":   {"package.json": `{`},
		"no target test":   {"Makefile": "test := x\ntests:\n\tx\n.PHONY: test\n"},
		"vendored only":    {"vendor/x/go.mod": "", "vendor/x/x_test.go": "", "node_modules/y/package.json": `{"scripts":{"test":"z"}}`},
		"no rust tests":    {"Cargo.toml": "", "src/main.rs": "fn main() {}"},
		"no java tests":    {"pom.xml": "", "src/main/java/X.java": ""},
		"python, no tests": {"setup.py": "", "x.py": ""},
	} {
		s, err := detect(files)
		if !errors.Is(err, judge.ErrNoTests) || !strings.Contains(err.Error(), "--test of yudai solve, with solver.tests.command") {
			t.Errorf("%s: %+v, %v, want ErrNoTests that names the flag and the setting", name, s, err)
		}
	}
	two := map[string]string{"a/go.mod": "", "a/a_test.go": "", "b/Cargo.toml": "", "b/tests/b.rs": ""}
	if _, err := detect(two); !errors.Is(err, judge.ErrNoTests) || !strings.Contains(err.Error(), "2 directories") {
		t.Errorf("two modules: %v", err)
	}
}

func TestDetectPassesReadErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	_, err := judge.Detect([]string{"go.mod", "a_test.go"}, func(string) ([]byte, error) { return nil, boom })
	if !errors.Is(err, boom) || errors.Is(err, judge.ErrNoTests) {
		t.Errorf("error = %v, want the reader's", err)
	}
}
