package patch_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

func TestMatchPath(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{ // paths it covers | paths it does not
		"docs/":        "docs/a.md docs/x/y.md | docs src/docs.md",
		"docs":         "docs docs/a.md src/docs/x | docs2/a mydocs",
		"/docs":        "docs docs/a.md | src/docs/x",
		"*.lock":       "a.lock x/y/b.lock x/b.lock/c | a.locks lock",
		"src/*.go":     "src/a.go src/a.go/x | src/x/a.go a.go x/src/a.go",
		"src/**/*.go":  "src/a.go src/x/y/a.go | a.go src/a.py",
		"**/vendor/**": "vendor/x a/b/vendor/c/d | vendor myvendor/x",
		"a/**/b/**/c":  "a/b/c a/x/b/y/z/c a/b/b/c a/b/c/c | a/c b/c a/x/c",
		"/Makefile":    "Makefile | x/Makefile makefile",
		"**":           "a a/b/c |",
		"v[0-9].txt":   "v1.txt x/v2.txt | va.txt",
	} {
		yes, no, _ := strings.Cut(want, "|")
		for _, p := range strings.Fields(yes) {
			if !patch.MatchPath(pattern, p) {
				t.Errorf("%s does not cover %s", pattern, p)
			}
		}
		for _, p := range strings.Fields(no) {
			if patch.MatchPath(pattern, p) {
				t.Errorf("%s covers %s", pattern, p)
			}
		}
		if bad := patch.BadPattern(pattern); bad != "" {
			t.Errorf("%s %s", pattern, bad)
		}
	}
	for _, p := range []string{"", "/", "a//b", "../x", "./x", "a/../b", "[a", `a\`} {
		if patch.BadPattern(p) == "" {
			t.Errorf("%q is no bad pattern", p)
		}
	}
}

// TestManyStarsAreQuick: a pattern of a repository cannot stall the program.
func TestManyStarsAreQuick(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat("**/a/", 200) + "b"
	if patch.MatchPath(pattern, strings.Repeat("a/", 500)+"c") {
		t.Error("it matches")
	}
}

// TestProtectedPaths: whatever a change does to a protected file, the patch is refused.
func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	rules := solve.PatchRules{Protected: []string{"docs/", "*.lock"}}
	for name, c := range map[string]struct {
		change  solve.FileChange
		refused bool
	}{
		"added":     {solve.FileChange{Path: "docs/new.md", Op: "add", Mode: "100644"}, true},
		"changed":   {solve.FileChange{Path: "x/go.lock", Op: "modify", Mode: "100644"}, true},
		"deleted":   {solve.FileChange{Path: "docs/a.md", Op: "delete", Mode: "100644"}, true},
		"moved out": {solve.FileChange{Path: "a.md", OldPath: "docs/a.md", Op: "rename"}, true},
		"beside it": {solve.FileChange{Path: "docs.go", Op: "modify", Mode: "100644"}, false},
	} {
		_, refused := patch.Check(patch.Difference{Changes: []solve.FileChange{c.change}}, rules)
		if (refused != "") != c.refused {
			t.Errorf("%s: %q", name, refused)
		}
		if c.refused && (!strings.Contains(refused, ".github/yudai.yml") || !strings.Contains(refused, "protects")) {
			t.Errorf("%s: the reason does not say why: %s", name, refused)
		}
	}
}
