package patch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

func TestLines(t *testing.T) {
	t.Parallel()
	lines := func(files ...string) []string {
		out, err := patch.Lines([]byte(strings.Join(files, "")))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := lines(added("a.go", "}", "", "x := 1"))
	if !slices.Contains(one, "+d10b36aa") || len(one) != 2 { // SHA-256 of "}"
		t.Errorf("%v", one)
	}
	if same := lines(added("b.go", "\tx  :=1", "  }", "}")); !slices.Equal(one, same) {
		t.Errorf("white space, order and repeats count: %v and %v", one, same)
	}
	if deleted := lines(modify("a.go")); !slices.ContainsFunc(deleted, func(l string) bool { return l[0] == '-' }) {
		t.Errorf("%v", deleted)
	}
	if test := lines(added("a_test.go", "x")); test != nil {
		t.Errorf("lines of a test: %v", test)
	}
	var many []string
	for i := range 3 * solve.MaxLines {
		many = append(many, fmt.Sprint("line ", i))
	}
	whole := lines(added("a.go", many...))
	if len(whole) != solve.MaxLines || !slices.Contains(lines(added("a.go", append(many, "more")...)), whole[0]) {
		t.Errorf("%d lines", len(whole))
	}
	if _, err := patch.Lines([]byte("no patch")); err == nil {
		t.Error("no error for what is no patch")
	}
}

// added is the patch that adds a file with these lines.
func added(path string, lines ...string) string {
	return fmt.Sprintf("diff --git a/%s b/%s\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n+%s\n",
		path, path, path, len(lines), strings.Join(lines, "\n+"))
}

func TestOnly(t *testing.T) {
	t.Parallel()
	source, test, hidden := added("a.go", "x", "diff --git a/b b/b"), added("a_test.go", "y"), modify("c.go")
	got, err := patch.Only([]byte(source+test+hidden), patch.IsTestFile)
	if err != nil || string(got) != test {
		t.Errorf("%v: %s", err, got)
	}
	all, err := patch.Only([]byte(source+test+hidden), func(string) bool { return true })
	if err != nil || string(all) != source+test+hidden {
		t.Errorf("%v: %s", err, all)
	}
	if none, err := patch.Only([]byte(source), patch.IsTestFile); err != nil || len(none) != 0 {
		t.Errorf("%v: %s", err, none)
	}
	if _, err := patch.Only([]byte("no patch"), patch.IsTestFile); err == nil {
		t.Error("no error for what is no patch")
	}
}
