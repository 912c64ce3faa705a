package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// TestTestsInsideSources: which changes of a source weaken the tests inside it.
func TestTestsInsideSources(t *testing.T) {
	t.Parallel()
	const rust = "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert_eq!(f(), \"{}\");\n    }\n}\n"
	const doc = "/// Adds.\n/// ```\n/// assert_eq!(m::f(), 1);\n/// ```\nfn f() {}\n"
	const python = "def f():\n    \"\"\"Adds.\n\n    >>> f()\n    1\n    \"\"\"\n    return 1\n"
	const vitest = "export const f = () => 1\nif (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest\n  it('adds', () => {\n    expect(f()).toBe(1)\n  })\n}\n"
	for name, c := range map[string]struct {
		file, before, after string
		weaker              int
	}{
		"Rust, the code":            {"a.rs", rust, "fn f() { g() }\n" + rust[10:], 0},
		"Rust, one more":            {"a.rs", rust, rust[:len(rust)-2] + "    #[test]\n    fn two() {}\n}\n", 0},
		"Rust, another value":       {"a.rs", rust, replace(rust, `"{}"`, "2"), 1},
		"Rust, ignored":             {"a.rs", rust, replace(rust, "#[test]", "#[test]\n    #[ignore]"), 1},
		"Rust, deleted":             {"a.rs", rust, "fn f() {}\n", 1},
		"Rust, indented":            {"a.rs", rust, replace(rust, "        assert", "            assert"), 0},
		"Rust, an example":          {"a.rs", doc, replace(doc, "1)", "2)"), 1},
		"Rust, a comment":           {"a.rs", doc, replace(doc, "Adds", "Sums"), 0},
		"Python, the code":          {"a.py", python, replace(python, "return 1", "return 2"), 0},
		"Python, another value":     {"a.py", python, replace(python, "    1\n", "    2\n"), 1},
		"Python, skipped":           {"a.py", python, replace(python, "f()\n    1", "f()  # doctest: +SKIP\n    1"), 1},
		"Python, one more":          {"a.py", python, replace(python, "    >>> f()", "    >>> f() + 1\n    2\n    >>> f()"), 0},
		"vitest, the code":          {"a.ts", vitest, replace(vitest, "=> 1", "=> 2"), 0},
		"vitest, another value":     {"a.ts", vitest, replace(vitest, "toBe(1)", "toBe(2)"), 1},
		"tests of other frameworks": {"a.ts", "it('x', () => { y(1) })\n", "it('x', () => { y(2) })\n", 0},
		"no test at all":            {"a.go", rust, "", 0},
	} {
		if got := judge.WeakenedInside(c.file, c.before, c.after); len(got) != c.weaker || c.before == c.after {
			t.Errorf("%s: %q", name, got)
		}
	}
	for test, file := range map[string]string{
		"src/lib.rs.tests::small": "src/lib.rs", "src/lib.rs.cart::tests::small": "src/cart.rs", "src/main.rs.cart::t": "src/cart/mod.rs",
		"shop.src/lib.rs - total": "src/lib.rs", "shop.cart.shop.cart.total": "shop/cart.py", "src/a.ts.adds": "src/a.ts",
	} {
		if !judge.InsideOf(file, test) {
			t.Errorf("%s is in %s", test, file)
		}
	}
	if judge.InsideOf("src/lib.rs", "tests/cents.rs.cents") || judge.InsideOf("src/a.rs", "src/lib.rs.b::tests::small") {
		t.Error("a test of another file is in the source")
	}
}

// TestWeakerDoctest with a real runner: it fixes nothing, and the file is told.
func TestWeakerDoctest(t *testing.T) {
	t.Parallel()
	b := prepareFrom(t, withPytest(t), `printf 'def two():\n    """\n    >>> two()\n    2\n    """\n    return 3\n' > m.py`,
		solve.TestCommand{
			Command: ". " + sandbox.VenvDir + "/bin/activate; python3 -m pytest -q --doctest-modules --junitxml=r.xml", Format: "junit", Report: "r.xml", Source: "config",
		})
	for script, want := range map[string]struct {
		fixed   int
		weakens []string
	}{
		`sed -i 's/return 3/return 2/' m.py`: {1, nil},
		`sed -i 's/^    2/    3/' m.py`:      {0, []string{"m.py"}},
	} {
		v, log := b.judge(t, b.candidate(t, script))
		if v.Outcome != solve.Passed || v.Fixed != want.fixed || !slices.Equal(v.Weakens, want.weakens) {
			t.Errorf("%s: %+v\n%s", script, v, log)
		}
	}
}

func replace(text, from, to string) string { return strings.Replace(text, from, to, 1) }
