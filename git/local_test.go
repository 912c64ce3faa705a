package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/git"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	if _, err := git.Local(ctx, o.work); !errors.Is(err, git.ErrNotRepository) || !strings.Contains(err.Error(), "no commit") {
		t.Errorf("without a commit: %v", err)
	}
	o.write("dir/a.txt", "one\n")
	sha := o.commit("first")
	o.git("remote", "add", "origin", o.bare)
	o.git("fetch", "-q", "origin")
	o.git("remote", "set-head", "origin", "main")
	o.git("checkout", "-q", "-b", "feature/x")
	o.git("config", "user.name", "Mine Own")
	o.git("config", "user.email", "mine@example.com")
	root, err := filepath.EvalSymlinks(o.work)
	must(t, err)
	want := git.Work{Root: root, Branch: "feature/x", SHA: sha, Default: "main", Name: "Mine Own", Email: "mine@example.com"}
	got, err := git.Local(ctx, filepath.Join(o.work, "dir"))
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	o.git("checkout", "-q", "--detach")
	if got, err := git.Local(ctx, o.work); err != nil || got.Branch != "" || got.SHA != sha {
		t.Errorf("detached: %+v, %v", got, err)
	}
	for path, want := range map[string]string{
		t.TempDir(): "not a git repository", filepath.Join(o.work, "none"): "no such file", o.bare: "it is bare; clone it",
		filepath.Join(o.work, "dir", "a.txt"): "it is a file",
	} {
		if _, err := git.Local(ctx, path); !errors.Is(err, git.ErrNotRepository) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrNotRepository and %q", path, err, want)
		}
	}
}

func TestFetchIntoTouchesOneBranch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mine := newOrigin(t)
	mine.write("a.txt", "one\n")
	mine.commit("first")
	mine.git("tag", "mine")
	trap := filepath.Join(t.TempDir(), "owned")
	mine.git("config", "core.fsmonitor", "touch "+trap)
	hook := filepath.Join(mine.work, ".git/hooks/reference-transaction")
	must(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	must(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+trap+"\n"), 0o755))
	mine.write("a.txt", "not committed\n")
	mine.write("new.txt", "untracked\n")

	other := filepath.Join(t.TempDir(), "other")
	run(t, ".", "clone", "-q", mine.bare, other)
	run(t, other, "checkout", "-q", "-b", "ai/fix-1")
	must(t, os.WriteFile(filepath.Join(other, "a.txt"), []byte("fixed\n"), 0o644))
	run(t, other, "commit", "-q", "-a", "-m", "fix")
	run(t, other, "tag", "theirs")
	fix := run(t, other, "rev-parse", "HEAD")

	before := snapshot(t, mine.work)
	must(t, git.FetchInto(ctx, mine.work, other, "ai/fix-1"))
	if got := mine.git("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "rev-parse", "refs/heads/ai/fix-1"); got != fix {
		t.Errorf("branch = %s, want %s", got, fix)
	}
	after := snapshot(t, mine.work)
	for name := range after {
		if strings.HasPrefix(name, ".git/objects/") || strings.Contains(name, "heads/ai") {
			delete(after, name)
		}
	}
	for name := range before {
		if strings.HasPrefix(name, ".git/objects/") {
			delete(before, name)
		}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("something else changed: %s", diff)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("the repository's hook or fsmonitor was run")
	}

	for _, branch := range []string{"main", "", "none", "a b", "-x", "x:refs/heads/y", "../x"} {
		if err := git.FetchInto(ctx, mine.work, other, branch); err == nil {
			t.Errorf("FetchInto(%q) succeeded", branch)
		}
	}
	// A branch of ours with the same name is never thrown away.
	run(t, other, "commit", "-q", "--amend", "-m", "rewritten")
	if err := git.FetchInto(ctx, mine.work, other, "ai/fix-1"); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("rewritten branch: %v", err)
	}
}

// snapshot is the content of every file below dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(data)
		return err
	}))
	return out
}

// TestApply: a patch changes the work tree and the index, or nothing.
func TestApply(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	o.write("a.txt", "one\n")
	o.commit("first")
	patch := []byte("diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n" +
		"diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n")
	o.write("new.txt", "mine\n")
	if err := git.Apply(ctx, o.work, patch); !errors.Is(err, git.ErrPatch) || !strings.Contains(err.Error(), "new.txt") {
		t.Errorf("over a file of the person's: %v", err)
	}
	must(t, os.Remove(filepath.Join(o.work, "new.txt")))
	o.write("a.txt", "mine\n")
	if err := git.Apply(ctx, o.work, patch); !errors.Is(err, git.ErrDirty) || !strings.Contains(err.Error(), "(a.txt)") {
		t.Errorf("over a change: %v", err)
	}
	o.write("a.txt", "one\n") // as it was, but younger than the index
	must(t, git.Apply(ctx, o.work, patch))
	if got := o.git("diff", "--cached", "--name-only"); got != "a.txt\nnew.txt" {
		t.Errorf("staged: %q", got)
	}
}
