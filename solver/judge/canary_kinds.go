package judge

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// canaryKind is a runner that canaries can be given to.
type canaryKind struct {
	format string
	call   *regexp.Regexp // the call of the runner, which goes on after a failing test
	// file has two groups for a test's path: what stands before the name and what stands behind it.
	file *regexp.Regexp
	head func(sample string) string // of a file beside the sample; "" is no place
	body func(c *canaries) string
	near func(ctx context.Context, sb sandbox.Sandbox, files []string) ([]CanaryPlace, error)
}

var (
	jsTestFile     = regexp.MustCompile(`^(.*/)?[^/]+?((?:[._-](?:test|spec))?\.[cm]?[jt]sx?)$`)
	pythonTestFile = regexp.MustCompile(`^(|.*/)(?:test_[^/]+(\.py)|[^/]+(_test\.py))$`)
	nothing        = func(string) string { return "// \n" }
)

// canaryKinds are the runners that report tests by their names. The first that fits counts.
var canaryKinds = []canaryKind{
	{
		format: "go", call: regexp.MustCompile(`\bgo test\b`), file: regexp.MustCompile(`^(.*/)?[^/]+(_test\.go)$`),
		head: goHead, near: goNear, body: func(c *canaries) string {
			return c.tests("func TestZ%s(t *testing.T) {\n\tif %d+%d != %d {\n\t\tt.Error(\"sum\")\n\t}\n}\n\n")
		},
	},
	{
		format: "junit", call: regexp.MustCompile(`\bpytest\b`), file: pythonTestFile, head: func(string) string { return "\n" },
		body: func(c *canaries) string { return c.tests("def test_%s():\n    assert %d + %d == %d\n\n\n") },
	},
	{
		format: "jest", call: regexp.MustCompile(`\bjest\b`), file: jsTestFile, head: nothing,
		body: func(c *canaries) string { return c.tests("test(\"%s\", () => { expect(%d + %d).toBe(%d); });\n") },
	},
	{
		format: "junit", call: regexp.MustCompile(`\bvitest run\b`), file: jsTestFile,
		head: func(string) string { return "import { expect, test } from \"vitest\";\n" },
		body: func(c *canaries) string { return c.tests("test(\"%s\", () => { expect(%d + %d).toBe(%d); });\n") },
	},
	{
		format: "junit", call: regexp.MustCompile(`\b_?mocha\b`), file: jsTestFile, head: nothing,
		body: func(c *canaries) string {
			return c.tests("it(\"%s\", () => { if (%d + %d !== %d) throw new Error(\"sum\"); });\n")
		},
	},
	{
		format: "junit", call: regexp.MustCompile(`\b(?:node|tsx)\b.*\s--test\b`), file: jsTestFile, head: nodeHead,
		body: func(c *canaries) string { return c.tests("test(\"%s\", () => " + nodeAssertions + ");\n") },
	},
	{
		format: "cargo", call: regexp.MustCompile(`\bcargo test\b.*--no-fail-fast`), file: regexp.MustCompile(`^(?:.*/)?src/(?:lib|main)\.rs$`),
		head: nothing, near: rustNear, body: func(c *canaries) string {
			return "#[cfg(test)]\nmod " + c.stem + " {\n" + c.tests("    #[test]\n    fn %s() {\n        assert_eq!(%d + %d, %d);\n    }\n") + "}\n"
		},
	},
	{
		format: "junit", call: regexp.MustCompile(`\bmvnw?\b.*-Dmaven\.test\.failure\.ignore=true|\bgradlew?\b.*--continue`),
		file: regexp.MustCompile(`^(.*src/test/java/(?:.*/)?)[^/]+(Test\.java)$`), head: javaHead,
		body: func(c *canaries) string {
			return "public class " + c.stem + "Test {\n" +
				c.tests("    @Test public void %s() { if (%d + %d != %d) throw new AssertionError(\"sum\"); }\n") + "}\n"
		},
	},
}

// tests are the two canaries, in random order.
func (c *canaries) tests(form string) string {
	a, b := 10+rand.IntN(80), 10+rand.IntN(80)
	pair := []string{fmt.Sprintf(form, c.pass, a, b, a+b), fmt.Sprintf(form, c.fail, b, a, a+b+1)}
	rand.Shuffle(2, func(i, j int) { pair[i], pair[j] = pair[j], pair[i] })
	return strings.Join(pair, "")
}

// stops finds settings by which a runner stops after the first test that fails.
const stops = `(^|[^a-z])(bail|maxfail|exitfirst|fail-?fast)([^a-z]|$)|addopts.*[" =]-x([" ]|$)`

var (
	stopsRunner = regexp.MustCompile(`(?i)` + stops + `|\s-x\b`)
	startsIn    = regexp.MustCompile(`^cd ([\w./-]+) && `)
)

// canaryKindOf is the runner of a test command; nil if none is known, or if it would stop, or
// something would not be run after it, because of a test that fails.
func canaryKindOf(cmd solve.TestCommand) *canaryKind {
	text := strings.NewReplacer("--no-fail-fast", "", "2>&1", "").Replace(cmd.Command)
	for i, k := range canaryKinds {
		at := k.call.FindStringIndex(cmd.Command)
		if k.format != cmd.Format || at == nil {
			continue
		}
		if rest := strings.ReplaceAll(cmd.Command[at[0]:], "2>&1", ""); strings.ContainsAny(rest, ";|&\n") || stopsRunner.MatchString(text) {
			return nil
		}
		return &canaryKinds[i]
	}
	return nil
}

// listScript prints the files of a directory, nothing if its runner would stop.
const listScript = `cd -- "$1" || exit 0
grep -qisE "$2" pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg pyproject.toml package.json \
	jest.config.* vitest.config.* vite.config.* .mocharc* && exit 0
find . -type d \( -name '[._]?*' -o -name node_modules -o -name vendor -o -name testdata -o -name fixtures -o -name target -o -name build \
	-o -name dist -o -name e2e -o -name __mocks__ \) -prune -o -type f -printf '%P\n'
`

// listFiles lists the files below the directory that the test command works in; none if its runner would stop.
func (t Trial) listFiles(ctx context.Context, sb sandbox.Sandbox) (dir string, paths []string, err error) {
	dir = "."
	if m := startsIn.FindStringSubmatch(t.Test.Command); m != nil {
		dir = m[1]
	}
	var out bytes.Buffer
	if err := ourScript(ctx, sb, listScript, &out, dir, stops); err != nil {
		return dir, nil, err
	}
	for p := range strings.Lines(out.String()) {
		paths = append(paths, strings.TrimSuffix(p, "\n"))
	}
	return dir, paths, nil
}

// findPlace finds out where canaries can be put on the base: beside most of the tests.
func (t Trial) findPlace(ctx context.Context, sb sandbox.Sandbox) (*CanaryPlace, error) {
	kind := canaryKindOf(t.Test)
	if kind == nil {
		return nil, nil
	}
	dir, paths, err := t.listFiles(ctx, sb)
	if err != nil {
		return nil, err
	}
	for i, p := range paths {
		paths[i] = path.Join(dir, p)
	}
	places, samples := kind.places(paths)
	for _, at := range places[:min(len(places), 5)] {
		data, err := read(ctx, sb, samples[at])
		if err != nil {
			return nil, err
		}
		if head := kind.head(string(data)); head != "" {
			return &CanaryPlace{Path: at, Head: head}, nil
		}
	}
	return nil, nil
}

// places are the paths, with "*", of tests beside test files, where most of them are first; with a file of each.
func (k *canaryKind) places(paths []string) (places []string, samples map[string]string) {
	samples, count := map[string]string{}, map[string]int{}
	for _, p := range paths {
		if at := k.placeBeside(p); at != "" {
			count[at]++
			samples[at] = p
		}
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], len(a)-len(b), strings.Compare(a, b))
	}), samples
}

// placeBeside is the path, with "*", of tests beside a test file; "" if it is none.
func (k *canaryKind) placeBeside(p string) string {
	m := k.file.FindStringSubmatch(p)
	switch {
	case m == nil:
		return ""
	case len(m) == 1: // a source in which tests are
		return p
	case !patch.IsTestFile(p):
		return ""
	case strings.HasPrefix(path.Base(p), "test_") && path.Ext(p) == ".py":
		return m[1] + "test_*.py"
	}
	return m[1] + "*" + m[len(m)-1]
}

var (
	packageLine = regexp.MustCompile(`(?m)^package \w+`)
	imports     = regexp.MustCompile(`(?m)^import\b`)
	javaParts   = regexp.MustCompile(`(?m)^(?:package [\w.]+|import org\.junit\.(?:jupiter\.api\.)?Test);`)
)

func goHead(sample string) string {
	if clause := packageLine.FindString(sample); clause != "" && !strings.Contains(sample, "func TestMain(") {
		return clause + "\n\nimport \"testing\"\n\n"
	}
	return ""
}

// nodeAssertions fails if all assertions do of which each must fail where the sum is wrong. A
// candidate that makes one of them forgive makes it pass.
const nodeAssertions = `((a, b, sum) => {
  const each = [assert, assert.strict].flatMap(on => [
    () => on.equal(a + b, sum), () => on.strictEqual(a + b, sum), () => on.deepEqual([a + b], [sum]),
    () => on.deepStrictEqual([a + b], [sum]), () => on.ok(a + b === sum), () => on(a + b === sum),
  ]);
  let failed = 0;
  for (const check of each) { try { check(); } catch { failed++; } }
  if (failed === each.length) throw new Error("sum");
})(%d, %d, %d)`

// inSample finds the modules that a test loads, by either kind of its imports.
var inSample = regexp.MustCompile(`(?m)^import\s+(?:[\w*{][^;'"]*?\sfrom\s*)?(['"][^'"\n]+['"])|\brequire\((['"][^'"\n]+['"])\)`)

// nodeHead loads what the sample loads, so that the code that is tested is in the process of the
// canaries. What would keep that alive ends after a while.
func nodeHead(sample string) string {
	head, load := "const test = require(\"node:test\"), assert = require(\"node:assert\");\n", "require(%s);\n"
	if imports.MatchString(sample) {
		head, load = "import test from \"node:test\";\nimport assert from \"node:assert\";\n", "import %s;\n"
	}
	for _, m := range inSample.FindAllStringSubmatch(sample, 20) {
		module := m[1] + m[2]
		if !strings.Contains(m[0], "import type") && !strings.Contains(module, "node:") && !strings.Contains(module, ".json") {
			head += fmt.Sprintf(load, module)
		}
	}
	return head + "setTimeout(() => process.exit(1), 20000).unref();\n"
}

func javaHead(sample string) string {
	parts := javaParts.FindAllString(sample, -1)
	if !slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, "import") }) {
		return ""
	}
	return strings.Join(parts, "\n") + "\n"
}

// rustNear are the files themselves, where they are tests: each is a program of its own.
func rustNear(_ context.Context, _ sandbox.Sandbox, files []string) (places []CanaryPlace, err error) {
	for _, f := range files {
		if rustTestFile.MatchString(f) {
			places = append(places, CanaryPlace{Path: f})
		}
	}
	return places, nil
}

// goNearScript prints a directory and the package of its tests for each that has tests and no TestMain.
const goNearScript = `for d; do
	for f in "$d"/*_test.go; do
		[ -f "$f" ] && ! grep -qs 'func TestMain(' "$d"/*_test.go && printf '%s\t%s\n' "$d" "$(grep -m1 -o '^package [A-Za-z0-9_]*' "$f")"
		break
	done
done
exit 0
`

// goNear are places in the packages of files: each package is a program of its own.
func goNear(ctx context.Context, sb sandbox.Sandbox, files []string) ([]CanaryPlace, error) {
	var dirs []string
	for _, f := range files {
		if path.Ext(f) == ".go" && !slices.Contains(dirs, path.Dir(f)) && len(dirs) < 4 {
			dirs = append(dirs, path.Dir(f))
		}
	}
	if len(dirs) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	if err := ourScript(ctx, sb, goNearScript, &out, dirs...); err != nil {
		return nil, err
	}
	var places []CanaryPlace
	for line := range strings.Lines(out.String()) {
		dir, clause, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if head := goHead(clause); head != "" {
			places = append(places, CanaryPlace{Path: path.Join(dir, "*_test.go"), Head: head})
		}
	}
	return places, nil
}
