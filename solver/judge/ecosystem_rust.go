package judge

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

var (
	rustRegistries = []string{"index.crates.io", "static.crates.io", "crates.io"}
	rustTest       = regexp.MustCompile(`(?m)#\[(?:\w+::)?test\b|#\[cfg\(test\)\]`)
)

// maxRust is how many source files are searched for tests.
const maxRust = 100

// detectRust recognises Cargo packages and workspaces.
func detectRust(r *repository) (Setup, bool) {
	fetch := "cargo fetch"
	if r.has("Cargo.lock") {
		fetch += " --locked"
	}
	return Setup{
		Install: fetch,
		Test: solve.TestCommand{
			Command: "cargo test --offline --no-fail-fast 2>&1", Plain: "cargo test", Format: "cargo", Source: "Cargo.toml",
		},
		Why: "Cargo.toml with tests",
	}, r.has("Cargo.toml") && rustHasTests(r)
}

// rustHasTests looks for files of tests, then for tests in the sources. Where there are too
// many sources it says yes: cargo itself will tell.
func rustHasTests(r *repository) bool {
	sources := slices.DeleteFunc(slices.Clone(r.paths), func(p string) bool { return path.Ext(p) != ".rs" })
	testFile := func(p string) bool {
		return strings.HasPrefix(p, "tests/") && path.Ext(p) == ".rs" || strings.Contains(p, "/tests/")
	}
	return r.any(testFile) || len(sources) > maxRust ||
		slices.ContainsFunc(sources, func(p string) bool { return rustTest.MatchString(r.read(p)) })
}

var (
	cargoSuite = regexp.MustCompile(`^\s+(?:Running (?:unittests |tests )?(\S+) \(|Doc-tests (\S+))`)
	cargoTest  = regexp.MustCompile(`^test (.+?)(?: - should panic)? \.\.\. (?:.*[^a-z])?(ok|FAILED|ignored)\b`)
	cargoCount = regexp.MustCompile(`^running (\d+) tests?$`)
	cargoLine  = regexp.MustCompile(` \(line \d+\)`)
	cargoBuild = regexp.MustCompile("^error: could not compile `([^`]+)`")
)

// cargoReader reads what "cargo test" prints, both streams in one. A test has the
// name of its program's source (the tests of one crate are several programs). The name of an
// example in the documentation has no line number, because that changes with every edit.
type cargoReader struct {
	results Report
	suite   string
	runs    int // announcements of this program's tests; none counts after its results
	left    int // results that are still to come
}

func (c *cargoReader) line(line []byte, _ bool) []byte {
	text := string(trimEnd(line))
	if m := cargoSuite.FindStringSubmatch(text); m != nil {
		c.suite, c.runs, c.left = m[1]+m[2], 0, 0
	} else if m := cargoCount.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits by the pattern
		c.results.Extra = c.results.Extra || c.runs > 0 && strings.HasSuffix(c.suite, ".rs")
		c.runs, c.left = c.runs+1, c.left+n
	} else if text == "failures:" { // what follows is the output of tests
		c.runs = 0
	} else if m := cargoBuild.FindStringSubmatch(text); m != nil {
		c.results.add(clip(m[1])+markBuild, Fail)
	} else if m := cargoTest.FindStringSubmatch(text); m != nil {
		c.left--
		c.results.Extra = c.results.Extra || c.runs > 0 && c.left < 0
		name := cargoLine.ReplaceAllString(m[1], "")
		c.results.add(clip(c.suite+"."+name), map[string]Status{"ok": Pass, "FAILED": Fail, "ignored": Skip}[m[2]])
	}
	return line
}

func (c *cargoReader) report(int) (Report, error) { return c.results, nil }
