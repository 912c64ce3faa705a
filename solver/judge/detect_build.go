package judge

import (
	"path"
	"regexp"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

var (
	goRequire  = regexp.MustCompile(`(?m)^\s*require\b`)
	rustTest   = regexp.MustCompile(`(?m)#\[(?:\w+::)?test\b|#\[cfg\(test\)\]`)
	makeTest   = regexp.MustCompile(`(?m)^test\s*:(?:[^=]|$)`)
	mavenProxy = `p=${HTTPS_PROXY:-${https_proxy:-}}; if [ -n "$p" ]; then p=${p#*://}; p=${p%/}; o="-Dhttps.proxyHost=${p%:*} -Dhttps.proxyPort=${p##*:} -Dhttp.proxyHost=${p%:*} -Dhttp.proxyPort=${p##*:}"; export MAVEN_OPTS="$o" GRADLE_OPTS="$o"; fi; `
)

// detectGo knows modules and workspaces. Vendored modules need no install.
func detectGo(r repository) (Setup, bool, error) {
	name := r.first("go.mod", "go.work")
	if name == "" || !r.any(func(p string) bool { return strings.HasSuffix(p, "_test.go") }) {
		return Setup{}, false, nil
	}
	text, err := r.read(name)
	if err != nil {
		return Setup{}, false, err
	}
	s := Setup{
		Test: solve.TestCommand{Command: "go test ./...", Format: "go", Source: name},
		Why:  name + " with tests",
	}
	if name == "go.work" {
		s.Test.Command = `go list -m -f '{{.Dir}}/...' | xargs go test -json`
	}
	if (name == "go.work" || goRequire.MatchString(text)) && !r.files["vendor/modules.txt"] {
		s.Install = "go mod download"
		s.Hosts = goRegistry()
	}
	return s, true, nil
}

// maxRust is how many source files are searched for tests.
const maxRust = 100

// detectRust knows Cargo packages and workspaces.
func detectRust(r repository) (Setup, bool, error) {
	if !r.files["Cargo.toml"] {
		return Setup{}, false, nil
	}
	tests := r.any(func(p string) bool {
		return strings.HasPrefix(p, "tests/") && path.Ext(p) == ".rs" || strings.Contains(p, "/tests/")
	})
	looked := 0
	for _, p := range r.paths {
		if tests || path.Ext(p) != ".rs" {
			continue
		}
		if looked++; looked > maxRust {
			tests = true // cargo itself will tell
			break
		}
		text, err := r.read(p)
		if err != nil {
			return Setup{}, false, err
		}
		tests = rustTest.MatchString(text)
	}
	if !tests {
		return Setup{}, false, nil
	}
	fetch := "cargo fetch"
	if r.files["Cargo.lock"] {
		fetch += " --locked"
	}
	return Setup{
		Install: fetch,
		Test:    solve.TestCommand{Command: "cargo test --offline --no-fail-fast 2>&1", Format: "cargo", Source: "Cargo.toml"},
		Hosts:   rustRegistry(),
		Why:     "Cargo.toml with tests",
	}, true, nil
}

// detectMaven runs the tests once while there is network: the plugins that run
// tests are fetched only then.
func detectMaven(r repository) (Setup, bool, error) {
	if !r.files["pom.xml"] || !r.any(jvmTest) {
		return Setup{}, false, nil
	}
	mvn := "mvn"
	if r.files["mvnw"] {
		mvn = "sh ./mvnw"
	}
	return Setup{
		Install: mavenProxy + mvn + " -B -q test -Dmaven.test.failure.ignore=true",
		Test: solve.TestCommand{
			Command: mvn + " -B -o test -Dmaven.test.failure.ignore=true", Format: "junit",
			Report: "**/target/surefire-reports/TEST-*.xml", Source: "pom.xml",
		},
		Hosts: mavenRegistry(),
		Why:   "pom.xml with tests",
	}, true, nil
}

// detectGradle does as detectMaven does.
func detectGradle(r repository) (Setup, bool, error) {
	name := r.first("build.gradle.kts", "build.gradle")
	if name == "" || !r.any(jvmTest) {
		return Setup{}, false, nil
	}
	gradle := "gradle"
	if r.files["gradlew"] {
		gradle = "sh ./gradlew"
	}
	return Setup{
		Install: mavenProxy + gradle + " --no-daemon -q test --continue || " + gradle + " --no-daemon -q testClasses",
		Test: solve.TestCommand{
			Command: gradle + " --no-daemon --offline test --continue", Format: "junit",
			Report: "**/build/test-results/**/TEST-*.xml", Source: name,
		},
		Hosts: gradleRegistry(),
		Why:   name + " with tests",
	}, true, nil
}

func jvmTest(p string) bool {
	switch path.Ext(p) {
	case ".java", ".kt", ".scala", ".groovy":
		return strings.HasPrefix(p, "src/test/") || strings.Contains(p, "/src/test/")
	}
	return false
}

// detectMake knows a Makefile with a target "test".
func detectMake(r repository) (Setup, bool, error) {
	name := r.first("GNUmakefile", "makefile", "Makefile")
	text, err := r.read(name)
	if err != nil || !makeTest.MatchString(text) {
		return Setup{}, false, err
	}
	return Setup{
		Test: solve.TestCommand{Command: "make test", Format: "exit", Source: name},
		Why:  name + ` with a target "test"`,
	}, true, nil
}
