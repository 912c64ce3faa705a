package tree_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/tree"
)

// victim is the repository that the attacks are made on.
const victim = `
mkdir -p deep/a src
echo read me > README.md; echo one > src/a.txt; echo '*.log' > .gitignore
ln -s ../../README.md deep/a/link; ln -s README.md latest
`

// forged is a patch that no work tree of the attacks comes to.
const forged = `diff --git a/pwned b/pwned
new file mode 120000
index 0000000000000000000000000000000000000000..0000000000000000000000000000000000000001
--- /dev/null
+++ b/pwned
@@ -0,0 +1 @@
+README.md
\ No newline at end of file
`

// writeForged makes /tmp/up.sh, which prints the forged patch into the standard output of whoever compares trees.
const writeForged = `cat > /tmp/forged <<'X'
` + forged + `X
cat > /tmp/up.sh <<'X'
#!/bin/bash
for p in /proc/[0-9]*; do
	tr '\0' ' ' < $p/cmdline 2>/dev/null | grep -q 'diff-index --cached -p' && cat /tmp/forged > $p/fd/1 && kill -9 ${p#/proc/}
done
exit 0
X
chmod +x /tmp/up.sh
`

const (
	keptConfig = "export GIT_DIR=/workspace/keep/base.git GIT_INDEX_FILE=/tmp/ix; "
	loseBlob   = "cd $GIT_DIR/objects/pack; mv *.pack /tmp/; git unpack-objects -q < /tmp/*.pack; b=$(git rev-parse HEAD:src/a.txt); rm -f ../${b:0:2}/${b:2}; cd /; "
	// lingers starts a process that outlives its command: it kills the supervisor that would end it.
	lingers = "trap '' TERM HUP; (while :; do /tmp/up.sh; done) </dev/null >/dev/null 2>&1 & kill -9 $PPID; exit 0"
)

// attacks are what an agent does before its work is taken out. Each changes src/a.txt honestly, too.
func attacks() map[string]string {
	return map[string]string{
		"published: a base where a link is a file": keptConfig + `git read-tree HEAD
			B=$(printf ../../README.md | git hash-object -w --stdin); git update-index --cacheinfo 100644,$B,deep/a/link
			export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
			git update-ref HEAD $(echo x | git commit-tree $(git write-tree) -p HEAD); rm link; printf ../../README.md > ../../link`,
		"published: a lazy fetch that runs a program": writeForged + keptConfig + loseBlob +
			"git config core.repositoryformatversion 1; git config extensions.partialClone origin; git config remote.origin.url /tmp; git config remote.origin.promisor true; git config remote.origin.uploadpack /tmp/up.sh",
		"a lazy fetch by a protocol that is allowed in the repository": writeForged + keptConfig + loseBlob +
			"git config core.repositoryformatversion 1; git config extensions.partialClone origin; git config remote.origin.url 'ext::/tmp/up.sh'; git config remote.origin.promisor true; git config protocol.ext.allow always",
		"a filter in the kept directory": keptConfig + `git config filter.f.clean "sed s/two/pwned/"; mkdir -p $GIT_DIR/info; echo '* filter=f' > $GIT_DIR/info/attributes`,
		"an external diff in the kept directory": writeForged + keptConfig +
			"git config diff.external 'cat /tmp/forged;'; git config core.fsmonitor /tmp/up.sh; git config diff.d.textconv 'cat /tmp/forged;'; echo '* diff=d' > $GIT_DIR/info/attributes",
		"a process that outlives its command": writeForged + lingers,
		"programs and settings where shells look": writeForged + `cd ~; mkdir -p .local/bin bin venv/bin; for d in .local/bin bin venv/bin; do printf '#!/bin/sh\ncat /tmp/forged\n' > $d/git; chmod +x $d/git; done
			echo 'cat /tmp/forged; exit' | tee .bashrc .bash_profile .profile .bash_env > /dev/null; git config --global core.fsmonitor /tmp/up.sh`,
		"a kept directory that is the work tree":    "mv /workspace/keep /tmp/kept; ln -s /workspace/repo /workspace/keep; cp -r /tmp/kept/base.git /workspace/repo/; echo '*base.git' > /workspace/repo/.git/info/exclude; rm -rf /workspace/keep; mv /tmp/kept /workspace/keep; rm -rf /workspace/repo/base.git",
		"another work tree in the kept settings":    keptConfig + "mkdir /tmp/w; echo pwned > /tmp/w/pwned; git config core.worktree /tmp/w; git config core.bare true",
		"replaced objects and grafts":               keptConfig + "B=$(echo pwned | git hash-object -w --stdin); git replace -f HEAD:src/a.txt $B; mkdir -p $GIT_DIR/info; git rev-parse HEAD > $GIT_DIR/info/grafts",
		"an index of ours that hides":               keptConfig + "GIT_WORK_TREE=/workspace/repo GIT_INDEX_FILE=/workspace/keep/index git update-index --skip-worktree src/a.txt; ln -sf /dev/zero /workspace/keep/harvest; mkdir -p /workspace/keep/index.lock/x",
		"a repository whose settings run a program": writeForged + "cd /workspace/repo; git config core.fsmonitor /tmp/up.sh; git config core.sshCommand /tmp/up.sh; git config extensions.partialClone origin; git config core.alternateRefsCommand /tmp/up.sh",
	}
}

// TestAttacksOnTheHarvest: whatever an agent does to git, to shells and to processes, what would
// be published is the change in its work tree, or nothing.
func TestAttacksOnTheHarvest(t *testing.T) {
	t.Parallel()
	for name, script := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := attacked(t)
			c := sandbox.Command{Shell: "echo two > /workspace/repo/src/a.txt; cd /workspace/repo/deep/a; " + script, Dir: "/"}
			out, res, err := sandbox.Output(t.Context(), b, c)
			if !strings.Contains(script, "kill -9 $PPID") && (err != nil || res.ExitCode != 0) {
				t.Fatalf("the attack did not run: %v, exit %d: %s", err, res.ExitCode, out)
			}
			raw, err := tree.CollectPatch(t.Context(), b, b.base, 1<<20)
			if errors.Is(err, tree.ErrKeep) && strings.Contains(script, "rm -f ../") {
				return // without the object there is nothing to compare with
			}
			must(t, err)
			got, _, refused := published(t, m, b.base, raw)
			want := []string{"100644 src/a.txt two\n"}
			if strings.Contains(script, "> ../../link") {
				want = []string{" deep/a/link ", "100644 link ../../README.md", "100644 src/a.txt two\n"}
			}
			if !slices.Equal(got, want) || refused != "" {
				t.Errorf("published %q, refused %q", got, refused)
			}
		})
	}
}

// refusesOnce is a sandbox whose inside does not begin at the first try.
type refusesOnce struct {
	*box
	asked bool
}

func (r *refusesOnce) Restart(ctx context.Context) error {
	if !r.asked {
		r.asked = true
		return sandbox.ErrUnavailable
	}
	return r.box.Restart(ctx)
}

// TestABusyMachineLosesNoPatch: a restart that fails is tried again.
func TestABusyMachineLosesNoPatch(t *testing.T) {
	t.Parallel()
	b, _ := attacked(t)
	b.repo("echo two > src/a.txt")
	if got, err := tree.CollectPatch(t.Context(), &refusesOnce{box: b}, b.base, 1<<20); err != nil || !bytes.Contains(got, []byte("+two")) {
		t.Errorf("%q, %v", got, err)
	}
}

// attacked is a sandbox with the victim laid out, and its mirror on this host.
func attacked(t *testing.T) (*box, *git.Mirror) {
	t.Helper()
	data, sha, m := packed(t, victim)
	b := &box{Sandbox: open(t, ""), t: t, base: sha}
	must(t, tree.LayOut(t.Context(), b, bytes.NewReader(data)))
	return b, m
}

// published is what this host would publish of a patch.
func published(t *testing.T, m *git.Mirror, base string, raw []byte) (files, flags []string, refused string) {
	t.Helper()
	r, err := m.Result(t.Context(), base, raw)
	if errors.Is(err, git.ErrPatch) {
		return nil, nil, err.Error()
	}
	must(t, err)
	d, err := patch.Read(patch.Difference{Files: r.Files, Before: r.Before, Paths: r.Paths, Text: r.Diff})
	must(t, err)
	if flags, refused = patch.Check(d, solve.PatchRules{MaxBytes: 1 << 20, MaxFiles: 100}); refused != "" {
		return nil, nil, refused
	}
	for _, f := range r.Files {
		files = append(files, fmt.Sprintf("%s %s %s", f.Mode, f.Path, f.Data))
	}
	return files, flags, ""
}

// TestForgedPatches: where a sandbox says what it likes, the resulting tree is judged.
func TestForgedPatches(t *testing.T) {
	t.Parallel()
	const head = "diff --git a/%[1]s b/%[2]s\n"
	_, base, m := packed(t, victim)
	edit := func(path, from, to string) string {
		return fmt.Sprintf(head+"--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n-%[3]s\n\\ No newline at end of file\n+%[4]s\n\\ No newline at end of file\n", path, path, from, to)
	}
	for name, c := range map[string]struct{ patch, refused, flag string }{
		"a link is changed without its mode":  {edit("latest", "README.md", "../../../root/.ssh/id_rsa"), "leaves the repository", ""},
		"a link is changed as if it had none": {strings.Replace(edit("latest", "README.md", "/etc/passwd"), "--- a", "index 1111111..2222222\n--- a", 1), "absolute", ""},
		"a link says that it is a file":       {strings.Replace(edit("latest", "README.md", "/etc/passwd"), "--- a", "index 1111111..2222222 100644\n--- a", 1), "patch does not apply", ""},
		"a moved link leaves":                 {fmt.Sprintf(head, "deep/a/link", "link") + "similarity index 100%\nrename from deep/a/link\nrename to link\n", "leaves the repository", ""},
		"a file becomes a link":               {fmt.Sprintf(head, "src/a.txt", "src/a.txt") + "old mode 100644\nnew mode 120000\n", "patch does not apply", ""},
		"a link within the tree says so":      {edit("latest", "README.md", "src"), "", "symlinks: latest"},
		"a patch of another form":             {"--- a/latest\n+++ b/latest\n@@ -1 +1 @@\n-README.md\n\\ No newline at end of file\n+/etc/passwd\n\\ No newline at end of file\n", "absolute", ""},
		"text around a patch":                 {"From: x\n\nSubject: y\n\n" + edit("latest", "README.md", "/etc/passwd") + "-- \n2.0\n", "absolute", ""},
		"into a git directory":                {fmt.Sprintf(head, "x/.git/config", "x/.git/config") + "new file mode 100644\n--- /dev/null\n+++ b/x/.git/config\n@@ -0,0 +1 @@\n+x\n", "patch does not apply", ""},
		"a packed file that is large":         {bomb(t), "more than 1048576", ""},
	} {
		_, flags, refused := published(t, m, base, []byte(c.patch))
		if (c.refused == "") != (refused == "") || !strings.Contains(refused, c.refused) || c.flag != "" && !slices.Contains(flags, c.flag) {
			t.Errorf("%s: refused %q, flags %q; want %q, %q", name, refused, flags, c.refused, c.flag)
		}
	}
}

// bomb is a small patch of a large file.
func bomb(t *testing.T) string {
	t.Helper()
	return host(t, t.TempDir(), "git init -q . && git commit -q --allow-empty -m x && truncate -s 8M zeros && git add zeros && git diff --cached --binary") + "\n\n"
}

// pipes are places where a pipe would hold git for ever.
func pipes() []string {
	return []string{
		"/workspace/keep/base.git/config", "/workspace/keep/base.git/HEAD", "/workspace/keep/base.git/refs/heads/main", "/workspace/keep/base.git/info/exclude",
		"/workspace/keep/base.git/objects/info/alternates", "/workspace/keep/index", "/workspace/keep/harvest", "/workspace/repo/.git/index",
		"/workspace/repo/.git/HEAD", "/workspace/repo/.git/config", "/workspace/repo/.gitignore", "/workspace/repo/src/.gitignore", "/workspace/repo/.gitattributes", "/workspace/repo/src/a.txt",
	}
}

// TestPipesCostSeconds: a pipe in the place of any file of git's, or of the tree, holds nobody.
func TestPipesCostSeconds(t *testing.T) {
	t.Parallel()
	for _, p := range pipes() {
		t.Run(p, func(t *testing.T) {
			t.Parallel()
			b, _ := attacked(t)
			b.sh("rm -rf " + p + "; mkfifo " + p)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // commandTime is more
			defer cancel()
			if _, err := tree.Fingerprint(ctx, b); ctx.Err() != nil {
				t.Errorf("fingerprint: %v", err)
			}
			if _, err := tree.CollectPatch(ctx, b, b.base, 1<<20); ctx.Err() != nil {
				t.Errorf("collect: %v", err)
			}
		})
	}
}

// TestAttacksAsOrdinaryUser makes the attacks on a yudai without rights.
func TestAttacksAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("already an ordinary user")
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the attacks a second time")
	}
	const uid = 65433 // needs no entry anywhere
	dir, err := os.MkdirTemp("", "yudai-user-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chown(dir, uid, uid))
	binary := filepath.Join(dir, "tree.test")
	from, err := os.Open("/proc/self/exe")
	must(t, err)
	defer from.Close()
	to, err := os.OpenFile(binary, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, errors.Join(err, to.Close()))
	cmd := exec.CommandContext(t.Context(), binary, "-test.parallel=2", "-test.timeout=5m", "-test.run=^(TestAttacksOnTheHarvest|TestForged|TestPipes)")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "YUDAI_TEST_REQUIRE=" + os.Getenv("YUDAI_TEST_REQUIRE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("no tests to run")) {
		t.Errorf("as uid %d: %v\n%s", uid, err, out)
	}
}
