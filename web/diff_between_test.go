package web

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// patched is a text with some lines changed, and git's patch that changes them.
func patched(t *testing.T, base string, change func(lines []string) []string) (text, patch string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a": base, "b": strings.Join(change(strings.SplitAfter(base, "\n")), "")} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "f.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := exec.CommandContext(t.Context(), "git", "diff", "--no-index", "--no-prefix", "a", "b")
	git.Dir = dir
	out, err := git.Output()
	if err != nil && git.ProcessState.ExitCode() != 1 {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "b", "f.go"))
	if err != nil {
		t.Fatal(err)
	}
	return string(after), string(out)
}

// applied makes the second result of the first one by the rows that were shown.
func applied(t *testing.T, first string, rows []diffRow) string {
	t.Helper()
	lines := strings.SplitAfter(first, "\n")
	fresh, gone := map[int][]string{}, map[int]bool{}
	at := 1
	for _, row := range rows {
		old, _ := strconv.Atoi(row.Old)
		switch row.Class {
		case "del", "":
			if got := strings.TrimSuffix(lines[old-1], "\n"); got != row.Text {
				t.Fatalf("line %d is %q, the row says %q", old, got, row.Text)
			}
			at, gone[old] = old+1, row.Class == "del"
		case "add":
			fresh[at] = append(fresh[at], row.Text+"\n")
		case "at":
			fmt.Sscanf(row.Text, "@@ −%d", &at) // a region that begins with + has no number
		}
	}
	var out []string
	for i, line := range append(lines, "") {
		if out = append(out, fresh[i+1]...); !gone[i+1] {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// TestDiffBetween: of two patches of one base alone, the rows lead from the first result to the second, whatever they change.
func TestDiffBetween(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		dice := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test that fails must fail again
		var base strings.Builder
		for n := range 60 {
			fmt.Fprintf(&base, "line %d\n", n%17) // some are alike
		}
		change := func(lines []string) []string {
			for range 1 + dice.IntN(5) {
				at := dice.IntN(len(lines) - 1)
				switch dice.IntN(3) {
				case 0:
					lines = slices.Delete(lines, at, at+1)
				case 1:
					lines = slices.Insert(lines, at, fmt.Sprintf("new %d\n", dice.IntN(3)))
				default:
					lines[at] = fmt.Sprintf("other %d\n", dice.IntN(3))
				}
			}
			return lines
		}
		first, one := patched(t, base.String(), change)
		second, two := patched(t, base.String(), change)
		v, err := diffBetween([]byte(one), []byte(two))
		if err != nil {
			t.Fatal(err)
		}
		var rows []diffRow
		if len(v.Files) > 0 {
			rows = v.Files[0].Rows
		}
		if got := applied(t, first, rows); got != second {
			t.Fatalf("seed %d: the rows %v lead to\n%s\nnot to\n%s", seed, rows, got, second)
		}
		if first == second && len(rows) > 0 {
			t.Errorf("seed %d: equal results differ: %v", seed, rows)
		}
	}
}

// TestDiffBetweenWholeFiles: a file that one patch alone adds or deletes, one that both add, moved files and binary ones.
func TestDiffBetweenWholeFiles(t *testing.T) {
	t.Parallel()
	const adds = "diff --git a/new.go b/new.go\nnew file mode 100644\n--- /dev/null\n+++ b/new.go\n@@ -0,0 +1,2 @@\n+one\n+%s\n"
	const deletes = "diff --git a/old.go b/old.go\ndeleted file mode 100644\n--- a/old.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
	const moves = "diff --git a/x.go b/y.go\nsimilarity index 100%\nrename from x.go\nrename to y.go\n"
	const binary = "diff --git a/p.png b/p.png\nindex 111..222 100644\nBinary files a/p.png and b/p.png differ\n"
	v, err := diffBetween([]byte(fmt.Sprintf(adds, "two")+moves), []byte(fmt.Sprintf(adds, "three")+deletes+binary))
	if err != nil {
		t.Fatal(err)
	}
	want := "[{new.go 1 1 [{at    @@ −1 +1 @@} { 1 1  one} {del 2  − two} {add  2 + three}]}" +
		" {old.go 0 1 [{at    @@ −1 +… @@} {del 1  − old}]}" +
		" {p.png 0 0 [{at    binary: not compared}]}" +
		" {x.go 0 0 [{at    − named y.go, + named x.go}]}]"
	if got := fmt.Sprint(v.Files); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := diffBetween([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-x\n"), nil); err == nil {
		t.Error("what is no patch was compared")
	}
	room := 3
	if got := fmt.Sprint(edits([]string{"a", "b"}, []string{"b", "a"}, &room)); got != "[{del   − a} {del   − b} {add   + b} {add   + a}]" {
		t.Errorf("without room: %s", got)
	}
}

// TestDiffBetweenUnseen: results that differ in the newline at the end, or in the mode, say so.
func TestDiffBetweenUnseen(t *testing.T) {
	t.Parallel()
	const (
		text  = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"
		bare  = "\\ No newline at end of file\n"
		mode  = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
		adds  = "diff --git a/f b/f\nnew file mode 100%d\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+new\n"
		index = "diff --git a/f b/f\nindex 111..222 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"
	)
	const gone = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
	const other = "[{at    − mode 100644, + mode 100755}"
	for _, c := range [][3]string{
		{text, text + bare, "[{at    @@ −1 +… @@} {del 1  − new} {add  1 + new} {at    \\ No newline at end of file}]"},
		{text + bare, text + bare, "[]"},
		{"", mode, other + "]"},
		{mode, mode, "[]"},
		{text, mode, other + " {at    @@ −1 +… @@} {del 1  − new} {add  1 + old}]"},
		{index, mode, other + " {at    @@ −1 +… @@} {del 1  − new} {add  1 + old}]"},
		{fmt.Sprintf(adds, 644), fmt.Sprintf(adds, 755), other + "]"},
		{gone, mode, "[{at    @@ −… +1 @@} {add  1 + old}]"},
		{"", fmt.Sprintf(adds, 755), "[{at    @@ −… +1 @@} {add  1 + new}]"},
	} {
		v, err := diffBetween([]byte(c[0]), []byte(c[1]))
		rows := []diffRow{}
		for _, f := range v.Files {
			rows = append(rows, f.Rows...)
		}
		if got := fmt.Sprint(rows); err != nil || got != c[2] {
			t.Errorf("%q\n%q:\n%v %s\nwant  %s", c[0], c[1], err, got, c[2])
		}
	}
}
