package patch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

// What git diff itself writes is read whole: names with spaces and umlauts,
// renames, modes, binaries, symlinks, deletions, a change of type.
func TestParseReadsGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.autocrlf=false"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("a.go", "one\ntwo\nthree\n")
	write("old name.txt", strings.Repeat("line\n", 20))
	write("gone.txt", "-- x\n++ y\n")
	write("kind", "text\n")
	write("run.sh", "#!/bin/sh\n")
	git("add", "-A")
	git("commit", "-qm", "base")

	write("a.go", "one\n2\nthree\nfour") // without the last newline
	do(os.Rename(filepath.Join(dir, "old name.txt"), filepath.Join(dir, "new name.txt")))
	do(os.Remove(filepath.Join(dir, "gone.txt")))
	do(os.Remove(filepath.Join(dir, "kind")))
	do(os.Symlink("a.go", filepath.Join(dir, "kind")))
	do(os.Chmod(filepath.Join(dir, "run.sh"), 0o755))
	write("straße/ü_test.go", "x\n")
	write("empty", "")
	write("pic.bin", "\x00\x01"+strings.Repeat("\x02", 300))
	git("add", "-A")
	text := git("diff", "--cached", "--binary", "--full-index", "-M", "HEAD")

	got, err := patch.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []solve.FileChange{
		{Path: "a.go", Op: "modify", Mode: "100644", Added: 2, Deleted: 1},
		{Path: "empty", Op: "add", Mode: "100644"},
		{Path: "gone.txt", Op: "delete", Mode: "100644", Deleted: 2},
		{Path: "kind", Op: "modify", Mode: "120000", Added: 1, Deleted: 1},
		{Path: "new name.txt", OldPath: "old name.txt", Op: "rename"},
		{Path: "pic.bin", Op: "add", Mode: "100644", Binary: true},
		{Path: "run.sh", Op: "modify", Mode: "100755"},
		{Path: "straße/ü_test.go", Op: "add", Mode: "100644", Added: 1, Test: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	flags, refused := patch.Check(patch.Difference{Changes: got, Text: []byte(text), Files: []solve.CommitFile{{Path: "kind", Mode: "120000", Data: []byte("a.go")}}}, solve.PatchRules{})
	if refused != "" {
		t.Errorf("refused: %s", refused)
	}
	if diff := cmp.Diff([]string{"new binary files: pic.bin", "symlinks: kind"}, flags); diff != "" {
		t.Error(diff)
	}
}

func modify(path string) string {
	return "diff --git a/" + path + " b/" + path + "\nindex 1..2 100644\n--- a/" + path + "\n+++ b/" + path + "\n@@ -1 +1 @@\n-a\n+b\n"
}

func add(path, mode, text string) string {
	return "diff --git a/" + path + " b/" + path + "\nnew file mode " + mode + "\nindex 0..1\n--- /dev/null\n+++ b/" + path +
		"\n@@ -0,0 +1 @@\n+" + text + "\n\\ No newline at end of file\n"
}

// difference is that of a text alone: the files are what it adds, whatever was there before.
func difference(changes []solve.FileChange, text string) patch.Difference {
	d := patch.Difference{Changes: changes, Text: []byte(text)}
	for _, c := range changes {
		if c.Op == "delete" {
			continue
		}
		only, _ := patch.Only([]byte(text), func(p string) bool { return p == c.Path })
		_, hunk, _ := strings.Cut(string(only), "\n@@ ")
		var data []string
		for line := range strings.SplitSeq(hunk, "\n") {
			if added, ok := strings.CutPrefix(line, "+"); ok {
				data = append(data, added+"\n")
			}
			if strings.HasPrefix(line, `\ No newline`) && len(data) > 0 {
				data[len(data)-1] = strings.TrimSuffix(data[len(data)-1], "\n")
			}
		}
		d.Files = append(d.Files, solve.CommitFile{Path: c.Path, Mode: c.Mode, Data: []byte(strings.Join(data, ""))})
	}
	return d
}

// Text that this program would skip and another one might read is refused.
func TestParseRefusesWhatGitDoesNotWrite(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"preamble":          "From: me\n\n" + modify("a"),
		"text between":      modify("a") + "hello\n" + modify("b"),
		"traditional":       "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
		"traditional glued": modify("a") + "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
		"trailing text":     modify("a") + "-- \n2.40.0\n",
		"short hunk":        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,5 +1,5 @@\n-a\n+b\n",
		"long hunk":         "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n-c\n+b\n",
		"huge hunk":         "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,99999999999999999999 +1 @@\n-a\n+b\n",
		"negative hunk":     "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ --1 +1 @@\n-a\n+b\n",
		"two names":         "diff --git a/a b/b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-a\n+b\n",
		"copy":              "diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n",
		"self rename":       "diff --git a/a b/a\nsimilarity index 100%\nrename from a\nrename to a\n",
		"twice":             modify("a") + modify("a"),
		"no name":           "diff --git\n",
		"new and deleted":   "diff --git a/a b/a\nnew file mode 100644\ndeleted file mode 100644\n",
		"binary and text":   "diff --git a/a b/a\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n@@ -1 +1 @@\n-a\n+b\n",
		"bad utf-8 header":  "diff --git a/\xff b/\xff\nindex 1..2 100644\n--- a/\xff\n+++ b/\xff\n@@ -1 +1 @@\n-a\n+b\n",
	} {
		if got, err := patch.Parse([]byte(text)); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		} else if !strings.HasPrefix(err.Error(), "parse patch: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := patch.Parse(nil); err != nil || got != nil {
		t.Errorf("empty: %v %v", got, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	all := solve.PatchRules{MaxBytes: 2000, MaxFiles: 3, RefuseInstructions: true}
	for name, c := range map[string]struct{ patch, want string }{
		"bytes":             {add("a", "100644", strings.Repeat("x", 2000)), "solver.patch.max_kib"},
		"files":             {modify("a") + modify("b") + modify("c") + modify("d"), "solver.patch.max_files"},
		"up":                {modify("a/../../x"), ".. component"},
		"dot":               {modify("./x"), ". or .."},
		"absolute":          {"diff --git a//etc/passwd b//etc/passwd\nold mode 100644\nnew mode 100755\n", "absolute"},
		"drive":             {modify("C:x"), "absolute"},
		"git":               {modify(".git/hooks/pre-commit"), "leads into .git"},
		"git deep":          {modify("sub/.GIT/config"), "leads into .git"},
		"git space":         {modify(".git /config"), "leads into .git"},
		"git dots":          {modify(".git.../config"), "leads into .git"},
		"git stream":        {modify(".git::$INDEX_ALLOCATION/config"), "leads into .git"},
		"git short":         {modify("GIT~1/config"), "leads into .git"},
		"git hfs":           {modify(".g\u200cit/config"), "leads into .git"},
		"git backslash":     {modify(`a\.git\config`), "leads into .git"},
		"up backslash":      {modify(`a\..\x`), ".. component"},
		"right to left":     {modify("gpj\u202e.sh"), "turn the direction"},
		"zero width":        {modify("a\u200bb"), "invisible characters"},
		"emoji mark":        {modify("calc\uFE0F.sh"), "invisible characters"},
		"modules fold":      {modify(".gitmodule\u017F"), "submodules"},
		"workflow fold":     {modify(".github/workflow\u017F/x.yml"), "workflows"},
		"modules":           {modify(".gitmodules"), "submodules"},
		"modules short":     {modify("GITMOD~1"), "submodules"},
		"control":           {"diff --git \"a/x\\ny\" \"b/x\\ny\"\nold mode 100644\nnew mode 100755\n", "control characters"},
		"not utf-8":         {"diff --git \"a/x\\377\" \"b/x\\377\"\nold mode 100644\nnew mode 100755\n", "UTF-8"},
		"submodule":         {add("lib", "160000", "Subproject commit 1"), "submodule"},
		"setuid":            {add("a", "104755", "x"), "mode 104755"},
		"odd mode":          {"diff --git a/a b/a\nold mode 100644\nnew mode 40000\n", "mode 040000"},
		"workflow":          {add(".github/workflows/x.yml", "100644", "x"), "workflows"},
		"workflow case":     {add(".GitHub/Workflows/x.yml", "100644", "x"), "workflows"},
		"workflow renamed":  {"diff --git a/.github/workflows/x b/x\nsimilarity index 100%\nrename from .github/workflows/x\nrename to x\n", "workflows"},
		"own settings":      {modify(".github/yudai.yml"), "only people may change it"},
		"instructions":      {modify("docs/AGENTS.md"), "refuse_instructions"},
		"instructions dir":  {modify(".claude/settings.json"), "refuse_instructions"},
		"instructions link": {add(".claude", "120000", "x"), "refuse_instructions"},
		"instructions here": {add(".github/prompts", "120000", "../x"), "refuse_instructions"},
		"link up":           {add("a", "120000", "../x"), "leaves the repository"},
		"link deep up":      {add("d/e/a", "120000", "../../../x"), "leaves the repository"},
		"link absolute":     {add("a", "120000", "/etc/passwd"), "absolute"},
		"link into git":     {add("a", "120000", ".git/config"), "leads into .git"},
		"link through":      {add("d/a", "120000", "b/../../x"), ".. component"},
		"link backslash":    {add("a", "120000", `..\x`), "backslash"},
		"link lines":        {"diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n", "no readable target"},
		"link newline":      {"diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", "no readable target"},
		"link binary":       {"diff --git a/a b/a\nnew file mode 120000\nindex 0..1\nBinary files /dev/null and b/a differ\n", "no readable target"},
		"becomes a link":    {"diff --git a/a b/a\nold mode 100644\nnew mode 120000\n", "no readable target"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := patch.Parse([]byte(c.patch))
			if err != nil {
				t.Fatal(err)
			}
			flags, refused := patch.Check(difference(changes, c.patch), all)
			if !strings.Contains(refused, c.want) || flags != nil {
				t.Errorf("refused %q, flags %q; want %q", refused, flags, c.want)
			}
		})
	}
}

func TestCheckLetsHonestPatchesThrough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch string
		flags []string
	}{
		"plain":          {modify("src/a.go"), nil},
		"like git":       {modify(".gitignore") + modify("src/git/x.go") + modify("a.git/x"), nil},
		"dots in names":  {modify("a..b/c...d"), nil},
		"link beside":    {add("d/a", "120000", "../b/c"), []string{"symlinks: d/a"}},
		"link here":      {add("d/a", "120000", "./b"), []string{"symlinks: d/a"}},
		"link to dir":    {add("d/a", "120000", ".."), []string{"symlinks: d/a"}},
		"github":         {modify(".github/CODEOWNERS"), []string{"changes who must approve: .github/CODEOWNERS"}},
		"copilot":        {modify(".github/copilot-instructions.md"), []string{"touches files that instruct coding agents: .github/copilot-instructions.md"}},
		"agents":         {modify("CLAUDE.md") + modify("x/.cursorrules"), []string{"touches files that instruct coding agents: CLAUDE.md, x/.cursorrules"}},
		"attributes":     {modify("x/.gitattributes"), []string{"changes how git treats files: x/.gitattributes"}},
		"test config":    {modify("pytest.ini"), []string{"test configuration: pytest.ini"}},
		"deleted a link": {"diff --git a/a b/a\ndeleted file mode 120000\nindex 1..0\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-/etc\n\\ No newline at end of file\n", []string{"symlinks: a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := patch.Parse([]byte(c.patch))
			if err != nil {
				t.Fatal(err)
			}
			flags, refused := patch.Check(difference(changes, c.patch), solve.PatchRules{MaxBytes: 10_000, MaxFiles: 10})
			if refused != "" {
				t.Fatalf("refused: %s", refused)
			}
			if diff := cmp.Diff(c.flags, flags); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A megabyte of hostile text is read in a moment.
func TestParseIsQuick(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("diff --git a/x b/x\n", 50_000),
		"diff --git a/" + strings.Repeat("x ", 500_000) + "\n",
		strings.Repeat("diff --git a/"+strings.Repeat("x ", 190)+strings.Repeat("y", 15_000)+"\n", 64),
		strings.Repeat("diff --git \"a/"+strings.Repeat("\\", 15_000)+"\n", 64),
		"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,400000 @@\n" + strings.Repeat("+\n", 400_000),
	} {
		began := time.Now()
		changes, err := patch.Parse([]byte(text))
		patch.Check(difference(changes, text), solve.PatchRules{})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%.20q took %s (%v)", text, took, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(modify("a") + add("b", "120000", "a")))
	f.Add([]byte("diff --git a/a b/b\nsimilarity index 90%\nrename from a\nrename to b\n"))
	f.Add([]byte("diff --git a/a b/a\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n"))
	f.Add([]byte("diff --git \"a/\\303\\274\" \"b/\\303\\274\"\nold mode 100644\nnew mode 100755\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		changes, err := patch.Parse(text)
		if err != nil {
			if changes != nil {
				t.Error("an error with changes")
			}
			return
		}
		_, refused := patch.Check(difference(changes, string(text)), solve.PatchRules{MaxFiles: 100})
		seen := map[string]bool{}
		for _, c := range changes {
			if c.Path == "" || seen[c.Path] || c.Added < 0 || c.Deleted < 0 {
				t.Errorf("%+v", c)
			}
			seen[c.Path] = true
			if refused == "" && (strings.Contains("/"+c.Path+"/", "/../") || strings.Contains(strings.ToLower("/"+c.Path+"/"), "/.git/") || c.Path[0] == '/') {
				t.Errorf("%q was let through", c.Path)
			}
		}
	})
}
