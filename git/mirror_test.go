package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/git"
)

func TestReadsFilesWithoutACheckout(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	odd := "line\nbreak \"quoted\" ü.txt"
	o.write("go.mod", "module x\n")
	o.write(odd, "odd\n")
	o.write("dir/[x]*.txt", "glob\n")
	must(t, os.Symlink("/etc/passwd", filepath.Join(o.work, "link")))
	sha := o.commit("first")
	m := o.mirror()
	got, err := m.Paths(ctx, sha)
	must(t, err)
	if diff := cmp.Diff([]string{"dir/[x]*.txt", "go.mod", odd, "link"}, got); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]string{"go.mod": "module x\n", odd: "odd\n", "dir/[x]*.txt": "glob\n"} {
		if data, err := m.ReadFile(ctx, sha, path); string(data) != want || err != nil {
			t.Errorf("ReadFile(%q) = %q, %v", path, data, err)
		}
	}
	for _, path := range []string{"link", "dir", "none", "", "../go.mod", "/etc/passwd", "--help"} {
		if data, err := m.ReadFile(ctx, sha, path); err == nil {
			t.Errorf("ReadFile(%q) = %q, want an error", path, data)
		}
	}
	if _, err := m.Paths(ctx, strings.Repeat("0", 40)); !errors.Is(err, git.ErrMissing) {
		t.Errorf("Paths of a missing commit: %v", err)
	}
}

func TestPackHoldsOneHistory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	var shas []string
	for i := range 4 {
		o.write("a.txt", fmt.Sprintf("version %d\n", i))
		shas = append(shas, o.commit(fmt.Sprint("commit ", i)))
	}
	o.git("checkout", "-q", "-b", "side", shas[1])
	o.write("secret.txt", "only on the side branch\n")
	side := o.commit("side")
	o.git("push", "-q", o.bare, "HEAD:refs/tags/t")
	url, _ := o.serve()
	m, err := git.New(t.TempDir()).Mirror(ctx, "7", url, git.Auth{User: user, Password: token})
	must(t, err)

	for depth, want := range map[int]int{0: 3, 1: 1, 2: 2, 3: 3, 9: 3} {
		var pack bytes.Buffer
		must(t, m.Pack(ctx, shas[2], depth, &pack))
		dir := unpack(t, pack.Bytes())
		if out := run(t, dir, "fsck", "--full", "--strict"); strings.Contains(out, "missing") {
			t.Errorf("depth %d: %s", depth, out)
		}
		if got := run(t, dir, "rev-list", "--count", "HEAD"); got != fmt.Sprint(want) {
			t.Errorf("depth %d: %s commits, want %d", depth, got, want)
		}
		if got := run(t, dir, "for-each-ref", "--format=%(refname) %(objectname)"); got != "refs/heads/main "+shas[2] {
			t.Errorf("depth %d: refs %q", depth, got)
		}
		for _, sha := range []string{shas[3], side} {
			if err := command(dir, "cat-file", "-e", sha).Run(); err == nil {
				t.Errorf("depth %d: commit %s came along", depth, sha)
			}
		}
		for _, name := range []string{"hooks", "objects/info/alternates", "packed-refs", "logs"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("depth %d: %s came along", depth, name)
			}
		}
		conf := run(t, dir, "config", "--list", "--local")
		if strings.Contains(conf, "remote.") || strings.Contains(conf, "http") {
			t.Errorf("depth %d: configuration %q", depth, conf)
		}
	}
	if err := m.Pack(ctx, strings.Repeat("0", 40), 0, &bytes.Buffer{}); !errors.Is(err, git.ErrMissing) {
		t.Errorf("Pack of a missing commit: %v", err)
	}
}

// A merge has two parents at the boundary of a shallow history.
func TestPackShallowMerge(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit("root")
	o.git("checkout", "-q", "-b", "topic")
	o.write("b.txt", "b")
	o.commit("topic")
	o.git("checkout", "-q", "main")
	o.write("c.txt", "c")
	o.commit("main")
	o.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
	sha := o.commit("tip")
	m := o.mirror()
	for depth, want := range map[int]string{1: "1", 2: "2", 3: "4", 4: "5", 0: "5"} {
		var pack bytes.Buffer
		must(t, m.Pack(context.Background(), sha, depth, &pack))
		dir := unpack(t, pack.Bytes())
		run(t, dir, "fsck", "--full")
		if got := run(t, dir, "rev-list", "--count", "HEAD"); got != want {
			t.Errorf("depth %d: %s commits, want %s", depth, got, want)
		}
	}
}

// A person's repository may itself be shallow, as those that CI checks out are.
func TestPackOfAShallowRepository(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	for i := range 4 {
		o.write("a.txt", fmt.Sprintf("version %d\n", i))
		o.commit(fmt.Sprint("commit ", i))
	}
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, o.work, "clone", "-q", "--depth", "2", "file://"+o.work, clone)
	sha := run(t, clone, "rev-parse", "HEAD")
	m, err := git.New(t.TempDir()).Mirror(ctx, "7", clone, git.Auth{})
	must(t, err)
	for depth, want := range map[int]string{0: "2", 1: "1", 2: "2", 5: "2"} {
		var pack bytes.Buffer
		must(t, m.Pack(ctx, sha, depth, &pack))
		dir := unpack(t, pack.Bytes())
		if out := run(t, dir, "fsck", "--full", "--strict"); strings.Contains(out, "missing") {
			t.Errorf("depth %d: %s", depth, out)
		}
		if got := run(t, dir, "rev-list", "--count", "HEAD"); got != want {
			t.Errorf("depth %d: %s commits, want %s", depth, got, want)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	o.write("keep.txt", "keep\n")
	o.write("edit.txt", "one\ntwo\nthree\n")
	o.write("gone.txt", "gone\n")
	o.write("old.txt", strings.Repeat("a line to recognise\n", 20))
	o.write("run.sh", "#!/bin/sh\n")
	o.write("crlf.txt", "a\r\nb\r\n")
	base := o.commit("base")

	binary := string([]byte{0, 1, 2, 255, 254, 0, '\n', 0})
	o.write("edit.txt", "one\n2\nthree\n")
	o.write("odd\nname \"x\".txt", "odd\n")
	o.write("bin.dat", binary)
	o.write("crlf.txt", "a\r\nB\r\n")
	o.write("empty", "")
	must(t, os.Remove(filepath.Join(o.work, "gone.txt")))
	must(t, os.Rename(filepath.Join(o.work, "old.txt"), filepath.Join(o.work, "new.txt")))
	must(t, os.Chmod(filepath.Join(o.work, "run.sh"), 0o755))
	must(t, os.Symlink("edit.txt", filepath.Join(o.work, "link")))
	patch := o.diff()
	want := o.git("write-tree")

	m := o.mirror()
	r, err := m.Result(ctx, base, patch)
	must(t, err)
	if r.Tree != want {
		t.Errorf("tree = %s, want %s", r.Tree, want)
	}
	if !bytes.Equal(r.Diff, patch) {
		t.Errorf("the difference in our words:\n%s\nnot\n%s", r.Diff, patch)
	}
	type change struct {
		Mode, Data string
		Delete     bool
	}
	got := map[string]change{}
	for _, f := range r.Files {
		got[f.Path] = change{f.Mode, string(f.Data), f.Delete}
		if (f.SHA == "") != f.Delete {
			t.Errorf("%s: object %q", f.Path, f.SHA)
		}
	}
	diff := cmp.Diff(map[string]change{
		"edit.txt":            {Mode: "100644", Data: "one\n2\nthree\n"},
		"odd\nname \"x\".txt": {Mode: "100644", Data: "odd\n"},
		"bin.dat":             {Mode: "100644", Data: binary},
		"crlf.txt":            {Mode: "100644", Data: "a\r\nB\r\n"},
		"empty":               {Mode: "100644"},
		"gone.txt":            {Delete: true},
		"old.txt":             {Delete: true},
		"new.txt":             {Mode: "100644", Data: strings.Repeat("a line to recognise\n", 20)},
		"run.sh":              {Mode: "100755", Data: "#!/bin/sh\n"},
		"link":                {Mode: "120000", Data: "edit.txt"},
	}, got)
	if diff != "" {
		t.Error(diff)
	}
	if r, err := m.Result(ctx, base, nil); err != nil || r.Tree != run(t, o.work, "rev-parse", base+"^{tree}") || len(r.Files)+len(r.Diff) != 0 {
		t.Errorf("empty patch: %+v, %v", r, err)
	}
}

// TestMerged: what a pull request brought, by whichever of GitHub's three ways it was merged, and without what came to its base meanwhile.
func TestMerged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	o.write("a.txt", "a\n")
	base := o.commit("base")
	o.git("checkout", "-q", "-b", "work")
	o.write("b.txt", "b\n")
	o.commit("one")
	o.write("c.txt", "c\n")
	head := o.commit("two")
	o.git("checkout", "-q", "main")
	o.write("a.txt", "meanwhile\n")
	meanwhile := o.commit("meanwhile")
	ways := map[string]string{}
	for way, command := range map[string][]string{
		"merge": {"merge", "-q", "--no-ff", "-m", "merge", head}, "squash": {"merge", "-q", "--squash", head}, "rebase": {"cherry-pick", base + ".." + head},
	} {
		o.git("checkout", "-q", "-b", way, meanwhile)
		o.git(command...)
		if way == "squash" {
			o.commit("squash")
		}
		o.git("push", "-q", "--force", "--all", o.bare)
		ways[way] = o.git("rev-parse", "HEAD")
	}
	m := o.mirror()
	for way, commit := range ways {
		diff, err := m.Merged(ctx, commit, head)
		must(t, err)
		r, err := m.Result(ctx, base, diff)
		must(t, err)
		if len(r.Files) != 2 || r.Files[0].Path != "b.txt" || r.Files[1].Path != "c.txt" {
			t.Errorf("%s: %s", way, diff)
		}
	}
	if _, err := m.Merged(ctx, ways["merge"], strings.Repeat("0", 40)); !errors.Is(err, git.ErrMissing) {
		t.Errorf("missing head: %v", err)
	}
}

func TestResultRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	o.write("a.txt", "one\n")
	must(t, os.Symlink("/tmp", filepath.Join(o.work, "out")))
	base := o.commit("base")
	m := o.mirror()
	create := func(path string) string {
		return "diff --git a/" + path + " b/" + path + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + path + "\n@@ -0,0 +1 @@\n+x\n"
	}
	for name, patch := range map[string]string{
		"other content":           "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-zwei\n+two\n",
		"no patch":                "hello\n",
		"out of the repository":   create("../x"),
		"into a git directory":    create(".git/hooks/post-checkout"),
		"into a nested one":       create("sub/.GIT/config"),
		"through a symbolic link": create("out/x"),
	} {
		if _, err := m.Result(ctx, base, []byte(patch)); !errors.Is(err, git.ErrPatch) {
			t.Errorf("%s: %v, want ErrPatch", name, err)
		}
	}
	if _, err := m.Result(ctx, strings.Repeat("0", 40), nil); !errors.Is(err, git.ErrMissing) {
		t.Errorf("missing base: %v", err)
	}
}

func TestResultIsBounded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	base := o.commit("base")
	o.write("big", strings.Repeat("x", 65<<20))
	m := o.mirror()
	if _, err := m.Result(ctx, base, o.diff()); !errors.Is(err, git.ErrTooLarge) {
		t.Errorf("65 MiB: %v, want ErrTooLarge", err)
	}
}

// What a repository and its server configure has no say on this host.
func TestHostileRepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	trap := filepath.Join(t.TempDir(), "owned")
	spring := "touch " + trap + "; cat"
	o := newOrigin(t)
	o.write("a.txt", "one\n")
	o.write(".gitattributes", "* filter=evil diff=evil merge=evil text export-subst\n")
	o.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% "+trap+"\n\tupdate = !touch "+trap+"\n")
	o.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",x")
	base := o.commit("base")
	o.write("a.txt", "two\n")
	patch := o.diff()
	dir := t.TempDir()
	cache := git.New(dir)
	_, err := cache.Mirror(ctx, "7", o.bare, git.Auth{})
	must(t, err)
	mirrors, _ := filepath.Glob(filepath.Join(dir, "*.git"))
	// Even a mirror that somebody wrote into stays harmless.
	hooks := filepath.Join(mirrors[0], "hooks")
	must(t, os.MkdirAll(hooks, 0o755))
	for _, h := range []string{"reference-transaction", "post-checkout", "pre-auto-gc", "post-index-change", "fsmonitor-watchman"} {
		must(t, os.WriteFile(filepath.Join(hooks, h), []byte("#!/bin/sh\n"+spring+"\n"), 0o755))
	}
	for key, value := range map[string]string{
		"core.fsmonitor": spring, "core.hooksPath": hooks, "filter.evil.clean": spring, "filter.evil.smudge": spring,
		"diff.evil.textconv": spring, "diff.evil.command": spring, "diff.external": spring, "core.pager": spring, "core.sshCommand": spring,
		"credential.helper": "!" + spring, "core.askPass": spring, "uploadpack.packObjectsHook": spring, "core.gitProxy": spring,
		"core.alternateRefsCommand": spring,
	} {
		run(t, mirrors[0], "config", key, value)
	}
	o.commit("more")
	m, err := cache.Mirror(ctx, "7", o.bare, git.Auth{})
	must(t, err)
	must(t, m.Pack(ctx, base, 1, &bytes.Buffer{}))
	r, err := m.Result(ctx, base, patch)
	must(t, err)
	if len(r.Files) != 1 || string(r.Files[0].Data) != "two\n" || !strings.Contains(string(r.Diff), "-one\n+two\n") {
		t.Errorf("changes = %+v\n%s", r.Files, r.Diff)
	}
	if _, err := m.ReadFile(ctx, base, "a.txt"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("something of the repository was run on the host")
	}
}
