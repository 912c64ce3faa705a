package tree_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/tree"
)

// project is a small repository with what is awkward in one.
const project = `
mkdir -p src tests
printf 'one\ntwo\nthree\n' > src/a.txt
printf 'old\n' > tests/a_test.txt
printf 'crlf\r\n' > crlf.txt
printf '#!/bin/sh\n' > run.sh
ln -s src/a.txt link
printf '*.log\n/out/\n' > .gitignore
printf '* text=auto\n*.txt eol=lf\ncrlf.txt -text\n' > .gitattributes
`

func TestLay(t *testing.T) {
	t.Parallel()
	data, sha := pack(t, project)
	b := &box{Sandbox: open(t, ""), t: t}
	must(t, tree.LayOut(t.Context(), b, bytes.NewReader(data)))
	if got := b.repo("git rev-parse HEAD; git branch --show-current; git status --porcelain --ignored"); got != sha+"\nmain" {
		t.Errorf("the agent's repository: %q", got)
	}
	if got := b.repo("git remote; ls .git/hooks 2>/dev/null || true; git config --get-regexp 'remote|url|credential' || true"); got != "" {
		t.Errorf("the agent's repository has %q", got)
	}
	if got := b.repo("printf x > new; git add new; git commit -q -m mine; git log -1 --format='%an %ae %s'"); got != "yudai yudai@localhost mine" {
		t.Errorf("a commit by the agent: %q", got)
	}
	if got := b.repo("git log --oneline | wc -l; git show HEAD~1:src/a.txt; cat link; od -c crlf.txt | head -1; readlink link"); !strings.HasPrefix(got, "2\none") || !strings.Contains(got, `\r  \n`) {
		t.Errorf("history and files: %q", got)
	}
	if err := tree.LayOut(t.Context(), b, bytes.NewReader(nil)); err == nil {
		t.Error("laying out twice succeeded")
	}
}

func TestLayRefusesWhatIsNoPack(t *testing.T) {
	t.Parallel()
	sb := open(t, "")
	if err := tree.LayOut(t.Context(), sb, strings.NewReader("no tar")); err == nil {
		t.Error("a file that is no tar was laid out")
	}
}

func TestHarvestOfAnUntouchedTreeIsEmpty(t *testing.T) {
	t.Parallel()
	b := laid(t, project)
	b.repo("touch src/a.txt; echo x > debug.log; mkdir out empty; echo y > out/z")
	if patch := b.harvest(); patch != "" {
		t.Errorf("patch = %s", patch)
	}
}

// files lists what a patch changes, one "status path" each, as git on the base sees it.
func files(patch string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^diff --git a/(.*) b/(.*)$`).FindAllStringSubmatch(patch, -1) {
		out = append(out, m[2])
	}
	slices.Sort(out)
	return out
}

func TestHarvestTakesWhatTheAgentDid(t *testing.T) {
	t.Parallel()
	b := laid(t, project)
	b.repo(`printf 'one\n2\nthree\n' > src/a.txt
		echo committed > c.txt; git add c.txt; git commit -q -m c
		echo staged > s.txt; git add s.txt
		echo untracked > u.txt
		printf 'a\0b' > bin.dat
		printf 'x' > 'odd
name "q" ü.txt'
		printf 'crlf\r\nmore\r\n' > crlf.txt
		chmod +x run.sh; git rm -q tests/a_test.txt; ln -sf nowhere link
		echo forced > forced.log; git add -f forced.log; git commit -q -m forced
		echo ignored > ignored.log`)
	patch := b.harvest()
	want := []string{"bin.dat", "c.txt", "crlf.txt", "forced.log", "link", "run.sh", "s.txt", "src/a.txt", "tests/a_test.txt", "u.txt"}
	got := slices.DeleteFunc(files(patch), func(p string) bool { return strings.HasPrefix(p, `"`) })
	if !slices.Equal(got, want) {
		t.Errorf("files = %q, want %q", got, want)
	}
	for _, part := range []string{"GIT binary patch", `"b/odd\nname \"q\" `, "old mode 100644\nnew mode 100755", "+more\r\n", "-two\n+2\n", "deleted file mode 100644"} {
		if !strings.Contains(patch, part) {
			t.Errorf("the patch lacks %q:\n%s", part, patch)
		}
	}

	// The same patch on a fresh copy gives the same tree.
	fresh := laid(t, project)
	must(t, tree.ApplyPatch(t.Context(), fresh, []byte(patch)))
	list := "find . -name .git -prune -o \\( -type f -o -type l \\) ! -name ignored.log -print0 | sort -z | xargs -0 ls -ld --time-style=+ | awk '{print $1, $5}'; find . -name .git -prune -o -type f ! -name ignored.log -print0 | sort -z | xargs -0 sha1sum"
	if a, f := b.repo(list), fresh.repo(list); a != f {
		t.Errorf("the patched copy differs:\n%s\n---\n%s", a, f)
	}
}

func TestHarvestFindsRenames(t *testing.T) {
	t.Parallel()
	b := laid(t, "seq 100 > old.txt")
	b.repo("git mv old.txt new.txt; echo 101 >> new.txt")
	patch := b.harvest()
	if !strings.Contains(patch, "rename from old.txt\nrename to new.txt") || strings.Count(patch, "\n+") != 2 {
		t.Errorf("patch = %s", patch)
	}
}

// A moved link shows its mode and target, or nobody could tell where it leads now.
func TestHarvestSpellsMovedLinksOut(t *testing.T) {
	t.Parallel()
	b := laid(t, "mkdir -p a/b; ln -s ../../x a/b/up; seq 100 > old.txt")
	b.repo("git mv a/b/up up; git mv old.txt new.txt")
	diff := b.harvest()
	if strings.Contains(diff, "rename ") || !strings.Contains(diff, "new file mode 120000") || !strings.Contains(diff, "+../../x") {
		t.Fatalf("patch = %s", diff)
	}
	changes, err := patch.Parse([]byte(diff))
	must(t, err)
	up := []solve.CommitFile{{Path: "up", Mode: "120000", Data: []byte("../../x")}}
	if _, refused := patch.Check(patch.Difference{Files: up, Changes: changes, Text: []byte(diff)}, solve.PatchRules{}); refused != `the symlink "up" leaves the repository` {
		t.Errorf("refused: %q", refused)
	}
}

// However an agent leaves its repository and tree, the work is taken out and
// nothing else is.
func TestHarvestOfABrokenOrHostileTree(t *testing.T) {
	t.Parallel()
	const work = "printf 'one\\n2\\nthree\\n' > src/a.txt; echo new > n.txt; "
	cases := map[string]struct {
		script string
		want   []string
	}{
		"no repository":             {"rm -rf .git", nil},
		"another repository":        {"rm -rf .git; git init -q .; git add -A; git -c user.name=x -c user.email=x commit -q -m x", nil},
		"a file for a repository":   {"rm -rf .git; echo 'gitdir: /nowhere' > .git", nil},
		"a link for a repository":   {"rm -rf .git; ln -s /proc/self .git", nil},
		"broken configuration":      {"echo '[[[' > .git/config", nil},
		"another branch":            {"git checkout -q --orphan x; git rm -rqf --cached .", nil},
		"an older commit":           {"git stash -q -u; git checkout -q --detach; git stash pop -q", nil},
		"assume unchanged":          {"git update-index --assume-unchanged src/a.txt; git update-index --skip-worktree src/a.txt", nil},
		"hidden by exclude":         {"echo '*' > .git/info/exclude", nil},
		"hidden by global ignore":   {"echo '*' > ~/.gitignore; git config --global core.excludesFile ~/.gitignore", nil},
		"work tree elsewhere":       {"git config core.worktree /tmp; git config core.bare true", nil},
		"a filter and a diff":       {"git config filter.f.clean 'echo owned'; git config filter.f.required true; git config diff.f.command 'echo owned'; git config --global filter.f.clean 'echo owned'; echo '* filter=f diff=f' > .git/info/attributes", nil},
		"fsmonitor that hangs":      {"git config core.fsmonitor 'sleep 1000'; git config core.hooksPath /tmp", nil},
		"configured prefixes":       {"git config --global diff.noprefix true; git config --global diff.external 'echo owned'; git config --global core.quotePath false; git config --global color.ui always", nil},
		"attributes that hide text": {"echo '* binary -diff filter=f working-tree-encoding=UTF-16 ident eol=crlf' > .gitattributes", []string{".gitattributes"}},
		"repository inside":         {"mkdir sub; cd sub; git init -q; echo x > s.txt; git add -A; git -c user.name=x -c user.email=x commit -q -m x", []string{"sub/s.txt"}},
		"empty repository inside":   {"mkdir sub; cd sub; git init -q; echo x > s.txt", []string{"sub/s.txt"}},
		"repository over a file":    {"rm run.sh; mkdir run.sh; cd run.sh; git init -q; echo x > s.txt; git add -A; git -c user.name=x -c user.email=x commit -q -m x", []string{"run.sh", "run.sh/s.txt"}},
		"repository over files":     {"cd src; git init -q; git add -A; git -c user.name=x -c user.email=x commit -q -m x", nil},
		"pipe and socket":           {"mkfifo pipe; rm run.sh; mkfifo run.sh", []string{"run.sh"}},
		"unreadable":                {"mkdir d; echo x > d/f; chmod 000 d/f src/a.txt; chmod 000 d src", []string{"d/f"}},
		"stale locks":               {"touch .git/index.lock /workspace/keep/index.lock /workspace/keep/harvest.lock", nil},
		"directory for a file":      {"rm run.sh; mkdir run.sh; echo x > run.sh/f", []string{"run.sh", "run.sh/f"}},
		"file for a directory":      {"rm -r tests; echo x > tests", []string{"tests", "tests/a_test.txt"}},
		"a tampered index of ours":  {"GIT_WORK_TREE=. GIT_DIR=/workspace/keep/base.git GIT_INDEX_FILE=/workspace/keep/index git update-index --assume-unchanged src/a.txt", nil},
		"same size and time":        {"touch -r run.sh src/a.txt", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := laid(t, project)
			b.repo(work + c.script)
			patch := b.harvest()
			want := append([]string{"n.txt", "src/a.txt"}, c.want...)
			slices.Sort(want)
			if got := files(patch); !slices.Equal(got, want) {
				t.Errorf("files = %q, want %q\n%s", got, want, patch)
			}
			if !strings.Contains(patch, "-two\n+2\n") || strings.Contains(patch, "owned") || strings.Contains(patch, "160000") {
				t.Errorf("patch = %s", patch)
			}
		})
	}
}

func TestHarvestOfAnEmptiedTree(t *testing.T) {
	t.Parallel()
	b := laid(t, project)
	b.sh("cd /; rm -rf /workspace/repo/* /workspace/repo/.[!.]*")
	patch := b.harvest()
	if n := strings.Count(patch, "\ndeleted file mode "); n != 7 {
		t.Errorf("%d files deleted, want 7", n)
	}
}

func tooLarge(err error) bool {
	_, is := errors.AsType[tree.TooLarge](err)
	return is
}

func TestHarvestLimits(t *testing.T) {
	t.Parallel()
	b := laid(t, project)
	b.repo("head -c 100000 /dev/urandom > big")
	_, err := tree.CollectPatch(t.Context(), b, b.base, 50<<10)
	if !tooLarge(err) || !strings.Contains(err.Error(), "50 KiB") {
		t.Errorf("error = %v, want TooLarge that names the limit", err)
	}
	if patch, err := tree.CollectPatch(t.Context(), b, b.base, 1<<20); err != nil || len(patch) < 100000 {
		t.Errorf("under the limit: %d bytes, %v", len(patch), err)
	}
	b.repo("truncate -s 100M huge")
	if _, err := tree.CollectPatch(t.Context(), b, b.base, 1<<20); !tooLarge(err) || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("100 MiB: %v, want TooLarge", err)
	}
	b.repo("mv huge huge.log; rm big") // ignored: of no interest
	if patch, err := tree.CollectPatch(t.Context(), b, b.base, 1<<20); err != nil || len(patch) != 0 {
		t.Errorf("ignored: %d bytes, %v", len(patch), err)
	}
}

// A large file of the base is no hindrance as long as it stays what it is.
func TestHarvestBesideALargeFile(t *testing.T) {
	t.Parallel()
	const repo = "truncate -s 65M large; echo one > a"
	b := laid(t, repo)
	b.repo("echo two > a; touch large; cp large copy; mv copy large")
	if got := files(b.harvest()); !slices.Equal(got, []string{"a"}) {
		t.Errorf("files = %q", got)
	}
	b.repo("printf x >> large")
	if _, err := tree.CollectPatch(t.Context(), b, b.base, 1<<20); !tooLarge(err) {
		t.Errorf("%v, want TooLarge", err)
	}
}

func TestHarvestWithoutTheKeptRepository(t *testing.T) {
	t.Parallel()
	b := laid(t, project)
	b.sh("rm -rf /workspace/keep/base.git")
	if _, err := tree.CollectPatch(t.Context(), b, b.base, 1<<20); !errors.Is(err, tree.ErrKeep) {
		t.Errorf("error = %v, want ErrKeep", err)
	}
}

func TestIgnoreLeftoversKeepsPreparedFilesOut(t *testing.T) {
	t.Parallel()
	b := laid(t, project)
	b.repo(`echo changed > src/a.txt; rm run.sh
		mkdir -p build/deep pkg.egg-info; echo x > build/deep/o.bin; echo x > pkg.egg-info/PKG
		echo x > 'generated [x]* #!.txt'; printf x > '#hash'; printf x > 'new
line'; echo x > ' space '`)
	must(t, tree.IgnoreLeftovers(t.Context(), b))
	if got := b.repo("cat src/a.txt | head -1; ls run.sh; git status --porcelain"); got != "one\nrun.sh" {
		t.Errorf("after settling: %q", got)
	}
	b.repo("echo more > build/later.bin; echo changed >> 'generated [x]* #!.txt'; mkdir -p new/__pycache__; echo c > new/__pycache__/m.pyc; echo s > new/m.py; echo x > 'generated x.txt'; echo y > space")
	patch := b.harvest()
	if got, want := files(patch), []string{"generated x.txt", "new/m.py", "space"}; !slices.Equal(got, want) {
		t.Errorf("files = %q, want %q", got, want)
	}
	if got := b.repo("ls build/deep/o.bin"); got != "build/deep/o.bin" {
		t.Errorf("the prepared file is gone: %q", got)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := laid(t, project)
	look := func() string {
		t.Helper()
		f, err := tree.Fingerprint(ctx, b)
		must(t, err)
		return f
	}
	base := look()
	for _, same := range []string{
		"touch src/a.txt; cat src/a.txt > /dev/null", "echo x > debug.log; mkdir -p out; echo x > out/y", "git commit -q --allow-empty -m x; git checkout -q -b y",
		"echo x > n; rm n", "cp -p src/a.txt /tmp/a; echo x > src/a.txt; cp -p /tmp/a src/a.txt",
	} {
		b.repo(same)
		if look() != base {
			t.Errorf("%q changed the fingerprint", same)
		}
	}
	seen := map[string]string{base: "base"}
	for _, other := range []string{
		"echo x > n", "echo y > n", "git add n; git commit -q -m n; echo z > n", "chmod +x run.sh", "rm tests/a_test.txt", "ln -sf other link",
		"mkdir sub; cd sub; git init -q; echo 1 > f", "echo 22 > sub/f",
		"cd sub; git add f; git -c user.name=x -c user.email=x commit -q -m x; echo 333 > f", "mkfifo pipe; echo x > m; chmod 000 m", "rm -rf .git; echo q > q",
	} {
		b.repo(other)
		f := look()
		if by, ok := seen[f]; ok {
			t.Errorf("%q has the fingerprint of %q", other, by)
		}
		seen[f] = other
		if look() != f {
			t.Errorf("%q: the fingerprint is not stable", other)
		}
	}
}

// counting counts commands.
type counting struct {
	*box
	n int
}

// Exec counts.
func (c *counting) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	c.n++
	return c.box.Exec(ctx, cmd)
}

func TestWatcherLooksOnlyWhenTheStampMoved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := laid(t, project)
	if _, ok := b.Sandbox.(sandbox.Stamper); !ok {
		t.Skip("the driver gives no stamps")
	}
	c := &counting{box: b}
	w := tree.NewWatcher(c)
	first, err := w.Fingerprint(ctx)
	must(t, err)
	n := c.n
	b.repo("cat src/a.txt")
	if again, err := w.Fingerprint(ctx); again != first || err != nil || c.n != n {
		t.Errorf("untouched: %q, %v after %d commands, want %q after %d", again, err, c.n, first, n)
	}
	b.repo("echo x >> src/a.txt")
	if now, err := w.Fingerprint(ctx); now == first || err != nil {
		t.Errorf("changed: the fingerprint stayed (%v)", err)
	}
}

// unstamped hides the driver's ability.
type unstamped struct{ sandbox.Sandbox }

func TestWatcherWithoutStamps(t *testing.T) {
	t.Parallel()
	b := laid(t, project)
	w := tree.NewWatcher(unstamped{b.Sandbox})
	first, err := w.Fingerprint(t.Context())
	must(t, err)
	b.repo("echo x >> src/a.txt")
	if now, err := w.Fingerprint(t.Context()); now == first || err != nil {
		t.Errorf("changed: the fingerprint stayed (%v)", err)
	}
}

func TestApplyPatch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := laid(t, project)
	b.repo("mkdir out; echo prepared > out/x; echo prepared > new.txt")
	must(t, tree.ApplyPatch(ctx, b, nil))
	before := b.repo("git status --porcelain")
	create := func(p string) string {
		return fmt.Sprintf("diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n", p, p, p)
	}
	for name, patch := range map[string]string{
		"other content": "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1 +1 @@\n-zwei\n+x\n",
		"no patch":      "hello\n",
		"outside":       create("../../tmp/x"),
		"git directory": create(".git/hooks/pre-commit"),
		"half":          create("fine.txt") + "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n",
	} {
		if err := tree.ApplyPatch(ctx, b, []byte(patch)); !errors.Is(err, tree.ErrPatch) {
			t.Errorf("%s: %v, want ErrPatch", name, err)
		}
	}
	if after := b.repo("git status --porcelain"); after != before {
		t.Errorf("patches that do not apply left %q", after)
	}
	must(t, tree.ApplyPatch(ctx, b, []byte(create("new.txt")+create("out/x")))) // over prepared files
	if got := b.repo("cat new.txt out/x"); got != "x\nx" {
		t.Errorf("content = %q", got)
	}
}

func TestRestoreTests(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := laid(t, project)
	b.repo(`echo weak > tests/a_test.txt; echo new > tests/new_test.txt; echo fix > src/a.txt; mkdir -p out; echo keep > out/k`)
	must(t, tree.RestoreTests(ctx, b, nil))
	must(t, tree.RestoreTests(ctx, b, []string{"tests/a_test.txt", "tests/new_test.txt", "tests/none.txt", "src"}))
	if got := b.repo("cat tests/a_test.txt; ls tests; cat src/a.txt"); got != "old\na_test.txt\nfix" {
		t.Errorf("restored: %q", got)
	}
	b.repo("rm -r tests; ln -s src tests")
	must(t, tree.RestoreTests(ctx, b, []string{"tests/a_test.txt"}))
	if got := b.repo("cat tests/a_test.txt; readlink tests || echo dir; ls src"); got != "old\ndir\na.txt" {
		t.Errorf("restored over a link: %q", got)
	}
}

func TestErrorsOfTheSandboxPass(t *testing.T) {
	t.Parallel()
	b := laid(t, project)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree.CollectPatch(ctx, b, b.base, 1<<20); err == nil || errors.Is(err, tree.ErrKeep) {
		t.Errorf("cancelled: %v", err)
	}
	_, err := tree.CollectPatch(t.Context(), broken{}, b.base, 1<<20)
	if !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("dead sandbox: %v, want ErrGone", err)
	}
}

// broken is a sandbox that is gone.
type broken struct{ sandbox.Sandbox }

// Exec fails.
func (broken) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	if c.Stdout != nil {
		io.WriteString(c.Stdout, "half")
	}
	return sandbox.Result{}, sandbox.ErrGone
}

// TestIgnoreLeftoversOf: what one sandbox was settled with after its tests never enters the
// patch of another that was not tested, and what is nobody's litter does.
func TestIgnoreLeftoversOf(t *testing.T) {
	t.Parallel()
	const repo = "echo one > a"
	tested, fresh := laid(t, repo), laid(t, repo)
	tested.repo("mkdir reports; echo r > reports/1.xml; echo l > 'test log'")
	must(t, tree.IgnoreLeftovers(t.Context(), tested))
	noted, err := tree.Leftovers(t.Context(), tested)
	must(t, err)
	if got := string(noted); !strings.Contains(got, "/reports/\n") || !strings.Contains(got, "/test\\ log\n") || strings.Contains(got, "node_modules") {
		t.Errorf("noted %q", got)
	}
	must(t, tree.IgnoreLeftoversOf(t.Context(), fresh, noted))
	fresh.repo("mkdir reports; echo r > reports/2.xml; echo l > 'test log'; echo new > b")
	if patch := fresh.harvest(); strings.Contains(patch, "reports") || strings.Contains(patch, "test log") || !strings.Contains(patch, "b/b") {
		t.Errorf("the patch holds the litter, or lacks the new file:\n%s", patch)
	}
}
