package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// A patch's files that steer tests are put back; the source, and what only looks like them, is not.
func TestRestoredFiles(t *testing.T) {
	t.Parallel()
	const repo = `
mkdir -p mk scripts/lib tools src web lib .ci google
printf 'include check.mk mk/*.inc\n-include $(CURDIR)/local.inc\n\ncheck: src/main.c\n\t@sh scripts/check.sh src/prog.sh\n\t$(MAKE) -C web\n' > Makefile
printf 'X = 1\n' | tee check.mk mk/a.inc > web/rules.txt
printf 'include rules.txt\nall:\n\tbash ../run-all\n\t./src/prog 1 2\n' > web/Makefile
printf 'cd "$(dirname "$0")/.."\n. "scripts/lib/env.sh"\nexec tools/go.py\n' > scripts/check.sh
printf 'A=1\n' > scripts/lib/env.sh
printf '#!/usr/bin/env python3\nimport os; os.system("pytest")\n' > tools/go.py
printf '#!/bin/sh\nnode --test\n' > run-all
printf 'echo 1\n' | tee src/prog src/prog.sh src/main.c > scripts/deploy.sh
printf '[project]\nname = "x"\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = "-q"\n' > pyproject.toml
printf '{"name":"x","version":"1.0.0","scripts":{"test":"node --test"},"dependencies":{}}\n' > package.json
printf '{"compilerOptions":{"target":"es2022","paths":{"#a":["a"]}}}\n' > tsconfig.json
printf 'module m\n\ngo 1.22\n\nrequire example.com/a v1.0.0\n' > go.mod
printf '[package]\nname = "x"\n\n[dependencies]\n\n[dev-dependencies]\na = "1"\n\n[workspace.dependencies]\nb = "1"\n' > Cargo.toml
mkdir -p third_party tests; printf 'x\n' | tee third_party/same.js > third_party/sum.js
printf 'import "../third_party/same.js"; import "../third_party/sum.js"\n' > tests/a.js; printf 'import "../third_party/sum.js"\n' > src/a.js
printf 'a = "1"\n' > lib/old.py; : > google/old.py
printf '<project/>\n' | tee pom.xml > build.gradle
`
	b := prepare(t, repo, solve.TestCommand{Command: "true || make check; true || mvn test || gradle test", Format: "exit", Source: "config"})
	sb := open(t, b.image)
	for name, c := range map[string]struct {
		script string
		want   string // the files that are put back
	}{
		"source":                                    {"echo x | tee src/new.c >> src/main.c; echo x >> README", ""},
		"the program that the tests are about":      {"echo x | tee -a src/prog >> src/prog.sh", ""},
		"a script that no test reaches":             {"echo x >> scripts/deploy.sh", ""},
		"a makefile":                                {"echo >> Makefile", "Makefile"},
		"an included makefile":                      {"echo >> check.mk", "check.mk"},
		"one that a pattern includes":               {"echo X = 2 > mk/b.inc", "mk/b.inc"},
		"one that is included if it is there":       {"echo X = 2 > local.inc", "local.inc"},
		"one that a makefile below includes":        {"echo X = 2 > web/rules.txt", "web/rules.txt"},
		"a makefile with a name that comes first":   {"echo X = 2 > GNUmakefile", "GNUmakefile"},
		"a called script":                           {"echo true > scripts/check.sh", "scripts/check.sh"},
		"a script that a script reads":              {"echo B=2 > scripts/lib/env.sh", "scripts/lib/env.sh"},
		"a script that a script calls":              {"echo pass > tools/go.py", "tools/go.py"},
		"a script that a makefile below calls":      {"echo true > run-all", "run-all"},
		"pytest, plain":                             {`sed -i 's/"-q"/"-x"/' pyproject.toml`, "pyproject.toml"},
		"pytest, dotted":                            {`sed -i 's/^.tool.*/[tool]/; s/addopts/pytest.ini_options.addopts/; s/"-q"/"-x"/' pyproject.toml`, "pyproject.toml"},
		"pytest, in braces":                         {`sed -i '/^.tool/,$d' pyproject.toml; printf '[tool]\npytest = { ini_options = { addopts = "-x" } }\n' >> pyproject.toml`, "pyproject.toml"},
		"pytest, with escapes in the key":           {`sed -i 's/^.tool.*/["t\\u006fol"."pytest"."ini_options"]/; s/"-q"/"-x"/' pyproject.toml`, "pyproject.toml"},
		"pytest, written otherwise":                 {`sed -i 's/^.tool.*/[ "tool" . pytest . ini_options ]/' pyproject.toml`, ""},
		"a new dependency":                          {`sed -i 's/dependencies = ../dependencies = ["numpy"]/' pyproject.toml`, ""},
		"no TOML":                                   {`echo '[[' >> pyproject.toml`, "pyproject.toml"},
		"files of pytest":                           {"touch .pytest.toml pytest.toml tox.ini", ".pytest.toml pytest.toml tox.ini"},
		"metadata of packages":                      {"mkdir x-1.dist-info src/Y.EGG-INFO; touch x-1.dist-info/entry_points.txt src/Y.EGG-INFO/PKG-INFO", "src/Y.EGG-INFO/PKG-INFO x-1.dist-info/entry_points.txt"},
		"a module of Python's":                      {"echo > shlex.py", "shlex.py"},
		"a package of Python's":                     {"mkdir shlex; echo > shlex/__init__.py", "shlex/__init__.py"},
		"a module of Python's, compiled":            {"echo > shlex.pyc", "shlex.pyc"},
		"a module of Python's, by another root":     {"echo > lib/json.py; echo > src/json.py", "lib/json.py src/json.py"},
		"a part of a package of Python's":           {"mkdir email; echo > email/mime.py", "email/mime.py"},
		"a new module with a name of its own":       {"echo > helpers.py; mkdir calc; echo > calc/__init__.py; echo > calc/json.py", ""},
		"scripts of package.json":                   {`sed -i 's/node --test/true/' package.json`, "package.json"},
		"what imports mean":                         {`sed -i 's/"name"/"imports":{"#assert":".\/calm.js"},"name"/' package.json`, "package.json"},
		"overrides":                                 {`sed -i 's/"name"/"overrides":{"chai":"npm:calm"},"name"/' package.json`, "package.json"},
		"a dependency and a version":                {`sed -i 's/1.0.0/1.1.0/; s/"dependencies":{/&"a":"1"/' package.json`, ""},
		"paths of tsconfig.json":                    {`sed -i 's/"a"/"b"/' tsconfig.json`, "tsconfig.json"},
		"another target of tsconfig.json":           {`sed -i 's/es2022/es2024/' tsconfig.json`, ""},
		"settings of bundlers":                      {"touch vite.config.ts babel.config.json .babelrc .swcrc", ".babelrc .swcrc babel.config.json vite.config.ts"},
		"installed packages":                        {"mkdir -p node_modules/assert; touch node_modules/assert/index.js", "node_modules/assert/index.js"},
		"go.mod: another module":                    {"echo 'replace example.com/a => ./calm' >> go.mod", "go.mod"},
		"go.mod: fewer packages":                    {"echo 'ignore ./sum' >> go.mod", "go.mod"},
		"go.mod: a newer module":                    {"sed -i s/v1.0.0/v1.1.0/ go.mod", ""},
		"a copied library of assertions":            {"mkdir -p vendor/example.com/testify/assert vendor/example.com/yaml; touch vendor/example.com/testify/assert/a.go vendor/example.com/yaml/a.go", "vendor/example.com/testify/assert/a.go"},
		"a copied file that only tests name":        {"echo > third_party/same.js", "third_party/same.js"},
		"a copied file that the source names, too":  {"echo > third_party/sum.js; echo > third_party/new.js", ""},
		"Cargo: a profile":                          {`printf '[profile.test]\npanic = "abort"\n' >> Cargo.toml`, "Cargo.toml"},
		"Cargo: a patch":                            {`printf '[patch.crates-io]\na = { path = "calm" }\n' >> Cargo.toml`, "Cargo.toml"},
		"Cargo: a dependency of the tests":          {`sed -i 's/^a = "1"/a = { path = "calm" }/' Cargo.toml`, "Cargo.toml"},
		"Cargo: the same by the workspace":          {`sed -i 's/^b = "1"/b = { path = "calm" }/' Cargo.toml`, "Cargo.toml"},
		"Cargo: a dependency":                       {`sed -i 's/^.dependencies./&\nc = "1"/' Cargo.toml`, ""},
		"a program of the build":                    {"touch build.rs; mkdir .cargo; touch .cargo/config.toml", ".cargo/config.toml build.rs"},
		"Maven and Gradle":                          {"echo >> pom.xml; echo >> build.gradle; mkdir buildSrc .mvn; touch buildSrc/a.kt .mvn/maven.config", ".mvn/maven.config build.gradle buildSrc/a.kt pom.xml"},
		"a listener of JUnit":                       {"d=src/main/resources/META-INF/services; mkdir -p $d; touch $d/org.junit.platform.launcher.TestExecutionListener $d/com.example.Codec", "src/main/resources/META-INF/services/org.junit.platform.launcher.TestExecutionListener"},
		"a class of JUnit":                          {"d=src/main/java/org/junit; mkdir -p $d; touch $d/Assert.java src/main/java/A.java", "src/main/java/org/junit/Assert.java"},
		"a makefile under a name that is not asked": {"mkdir docs; echo > docs/notes.inc", ""},
	} {
		got, err := judge.Steers(t.Context(), sb, b.candidate(t, c.script))
		if diff := cmp.Diff(strings.Fields(c.want), got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// pytestBug is a package with a bug, a test that shows it and one that passes.
const pytestBug = `mkdir calc tests
printf '[project]\nname = "calc"\nversion = "1.0"\ndependencies = []\n' > pyproject.toml
printf 'def mean(xs):\n    return sum(xs) / len(xs)\n' > calc/__init__.py
printf 'from calc import mean\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n' > tests/test_calc.py
printf 'from calc import mean\n\ndef test_nothing():\n    assert mean([]) == 0\n' > tests/test_bug.py
`

// Each of these makes a failing test pass in plain pytest.
func TestSteeredPytest(t *testing.T) {
	t.Parallel()
	setup, err := detect(map[string]string{"pyproject.toml": "[project]\n", "tests/test_calc.py": ""})
	must(t, err)
	b := prepareFrom(t, withPytest(t), pytestBug, setup.Test)
	const (
		fix  = "sed -i 's/return .*/return sum(xs) \\/ len(xs) if xs else 0/' calc/__init__.py; "
		hook = `printf 'def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n' > `
	)
	for name, c := range map[string]struct {
		script string
		fixed  bool
	}{
		"fix":                         {fix, true},
		"fix that needs a new module": {"echo 'empty = 0' > constants.py; sed -i '1i from constants import empty' calc/__init__.py; " + strings.Replace(fix, "else 0", "else empty", 1), true},
		"fix with a conftest of its own": {fix + "printf 'import pytest\n@pytest.fixture\ndef none():\n    return []\n' > tests/conftest.py; " +
			"printf 'from calc import mean\ndef test_none(none):\n    assert mean(none) == 0\n' > tests/test_none.py", true},
		"fix with a dependency":   {fix + `sed -i 's/\[\]/["numpy"]/' pyproject.toml`, true},
		"fix with a setting":      {fix + `printf '[tool.pytest.ini_options]\naddopts = "-ra"\n' >> pyproject.toml`, true},
		"module of Python's":      {`printf 'import os, sysconfig\nos.environ["PYTEST_PLUGINS"] = "shlex"\nexec(open(sysconfig.get_paths()["stdlib"] + "/shlex.py").read())\ndef pytest_runtest_makereport(item, call):\n    call.excinfo = None\n' > shlex.py`, false},
		"setting with spaces":     {hook + `calc/plug.py; printf '[ tool.pytest.ini_options ]\naddopts = "-p calc.plug"\n' >> pyproject.toml`, false},
		"setting, dotted":         {hook + `calc/plug.py; printf '[tool]\npytest.ini_options.addopts = "-p calc.plug"\n' >> pyproject.toml`, false},
		"setting, quoted":         {hook + `calc/plug.py; printf '["tool".pytest.ini_options]\naddopts = "-p calc.plug"\n' >> pyproject.toml`, false},
		"hidden file of settings": {hook + `calc/plug.py; printf '[pytest]\naddopts = ["-p", "calc.plug"]\n' > .pytest.toml`, false},
		"entry point":             {hook + `plug.py; mkdir plug-1.0.dist-info; printf '[pytest11]\nplug = plug\n' > plug-1.0.dist-info/entry_points.txt; printf 'Name: plug\nVersion: 1.0\n' > plug-1.0.dist-info/METADATA`, false},
		"conftest":                {hook + "conftest.py", false},
		"the runner":              {"mkdir _pytest; " + hook + "_pytest/__init__.py", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, log := b.judge(t, b.candidate(t, c.script))
			if lies := v.Tampering != ""; lies == c.fixed && v.Outcome != solve.NoVerdict {
				t.Errorf("tampering: %q", v.Tampering)
			}
			if fixed := v.Outcome == solve.Passed && slices.Equal(v.FixedTests, []string{"tests.test_bug.test_nothing"}); fixed != c.fixed {
				t.Errorf("%+v\n%s", v, log)
			}
		})
	}
}

// A change that needs a file that steers tests fails with the base's version, and its verdict tells why.
func TestRestoredFileThatIsNeeded(t *testing.T) {
	t.Parallel()
	b := prepare(t, runner+"printf 'want=1\n' > pytest.ini; sed -i 's/keep|.*/keep|grep -q \"$want\" src\\/val2/; /^old/d; /^fix/d' tests/a.t; "+
		"echo 1 > src/val2; sed -i 's/bash -c/export want; bash -c/' runner.sh", runnerTests)
	for script, want := range map[string]string{
		"echo 2 > src/val2; echo want=2 > pytest.ini": "breaks 1 test that passes on the base, but not with its own version of 1 file that steers tests",
		"echo 2 > src/val2; echo want=3 > pytest.ini": "breaks 1 test that passes on the base; 1 file that steers tests was put back",
		"echo 2 > src/val2":                           "breaks 1 test that passes on the base",
	} {
		v, log := b.judge(t, b.candidate(t, script))
		if v.Outcome != solve.Failed || v.Reason != want {
			t.Errorf("%s: %+v\n%s", script, v, log)
		}
	}
}
