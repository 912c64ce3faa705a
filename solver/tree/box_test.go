package tree_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/solver/tree"
	"github.com/yudai-dev/yudai/test/require"
)

func TestMain(m *testing.M) {
	local.Stage()
	code := m.Run()
	if d, err := driver(); err == nil {
		os.RemoveAll(d.dir)
	}
	os.Exit(code)
}

// boxes is the driver of all tests here, with the bases that they share.
type boxes struct {
	*local.Driver
	dir   string
	count atomic.Int64
	mu    sync.Mutex
	bases map[string]func() ([2]string, error) // base and commit, by the script that makes the repository
}

var driver = sync.OnceValues(func() (*boxes, error) {
	dir, err := os.MkdirTemp("", "yudai-tree-*")
	if err != nil {
		return nil, err
	}
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited, c.FreeDiskMiB = dir, os.Geteuid() != 0, 64
	d, err := local.New(c, zerolog.Nop())
	if err == nil {
		err = d.Check(context.Background())
	}
	return &boxes{Driver: d, dir: dir, bases: map[string]func() ([2]string, error){}}, err
})

// box is a sandbox with a repository laid out in it.
type box struct {
	sandbox.Sandbox
	t    *testing.T
	base string // the commit that is laid out
}

// open makes a sandbox with the local driver, empty or from a base.
func open(t *testing.T, from string) sandbox.Sandbox {
	t.Helper()
	d, err := driver()
	require.Need(t, "bubblewrap", err)
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: fmt.Sprint("t", d.count.Add(1)), From: from})
	must(t, err)
	t.Cleanup(func() { must(t, sb.Close(context.Background())) })
	return sb
}

// laid opens a sandbox from a base in which the repository that script makes is laid out.
func laid(t *testing.T, script string) *box {
	t.Helper()
	sb := open(t, "")
	d, err := driver()
	must(t, err)
	d.mu.Lock()
	prepare, ok := d.bases[script]
	if !ok {
		prepare = sync.OnceValues(func() ([2]string, error) {
			data, sha := pack(t, script)
			if err := tree.LayOut(t.Context(), sb, bytes.NewReader(data)); err != nil {
				return [2]string{}, err
			}
			base, err := d.Freeze(t.Context(), sb)
			return [2]string{base, sha}, err
		})
		d.bases[script] = prepare
	}
	d.mu.Unlock()
	base, err := prepare()
	must(t, err)
	return &box{Sandbox: open(t, base[0]), t: t, base: base[1]}
}

// pack is a packed repository whose one commit holds what script makes.
func pack(t *testing.T, script string) (data []byte, sha string) {
	t.Helper()
	data, sha, _ = packed(t, script)
	return data, sha
}

// packed is pack with the mirror on this host.
func packed(t *testing.T, script string) (data []byte, sha string, m *git.Mirror) {
	t.Helper()
	work := t.TempDir()
	host(t, work, "git init -q -b main . && "+script+"\ngit add -A -f && git commit -q --allow-empty -m base")
	sha = host(t, work, "git rev-parse HEAD")
	m, err := git.New(filepath.Join(t.TempDir(), "git")).Mirror(t.Context(), "1", work, git.Auth{})
	must(t, err)
	var buf bytes.Buffer
	must(t, m.Pack(t.Context(), sha, 0, &buf))
	return buf.Bytes(), sha, m
}

// host runs a shell script on this machine.
func host(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// sh runs a script in the sandbox as an agent would and returns what it printed.
func (b *box) sh(script string) string {
	b.t.Helper()
	out, res, err := sandbox.Output(b.t.Context(), b, sandbox.Command{Shell: "set -e; " + script, Dir: "/"})
	if err != nil || res.ExitCode != 0 {
		b.t.Fatalf("%s: exit %d, %v\n%s", script, res.ExitCode, err, out)
	}
	return strings.TrimSpace(out)
}

// repo runs a script in the repository.
func (b *box) repo(script string) string {
	b.t.Helper()
	return b.sh("cd " + sandbox.RepoDir + "; " + script)
}

// Stamp passes the driver's ability on.
func (b *box) Stamp(ctx context.Context) (string, error) {
	return b.Sandbox.(sandbox.Stamper).Stamp(ctx)
}

// Restart passes the driver's ability on.
func (b *box) Restart(ctx context.Context) error { return b.Sandbox.(sandbox.Restarter).Restart(ctx) }

// harvest returns the patch.
func (b *box) harvest() string {
	b.t.Helper()
	patch, err := tree.CollectPatch(b.t.Context(), b, b.base, 1<<20)
	must(b.t, err)
	return string(patch)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
