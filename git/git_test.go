package git_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/git"
)

const (
	user  = "x-access-token"
	token = "ghs_123_eyJhbGciOi.J9-aa_bb.cc-dd"
)

// origin is a repository on "the server", with a work tree to make commits in.
type origin struct {
	t    *testing.T
	work string
	bare string
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	dir := t.TempDir()
	o := &origin{t: t, work: filepath.Join(dir, "work"), bare: filepath.Join(dir, "srv", "o", "r.git")}
	must(t, os.MkdirAll(o.work, 0o755))
	must(t, os.MkdirAll(filepath.Dir(o.bare), 0o755))
	o.git("init", "-q", "-b", "main", ".")
	o.git("init", "-q", "--bare", "-b", "main", o.bare)
	return o
}

func (o *origin) git(args ...string) string {
	o.t.Helper()
	return run(o.t, o.work, args...)
}

func (o *origin) write(path, content string) {
	o.t.Helper()
	full := filepath.Join(o.work, path)
	must(o.t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(o.t, os.WriteFile(full, []byte(content), 0o644))
}

// commit records the work tree and pushes it, and returns the commit.
func (o *origin) commit(message string) string {
	o.t.Helper()
	o.git("add", "-A")
	o.git("commit", "-q", "--allow-empty", "-m", message)
	o.git("push", "-q", "--force", "--all", o.bare)
	return o.git("rev-parse", "HEAD")
}

// diff is the patch from the last commit to the work tree.
func (o *origin) diff() []byte {
	o.t.Helper()
	o.git("add", "-A")
	cmd := command(o.work, "diff", "--cached", "--binary", "--full-index", "-M")
	out, err := cmd.Output()
	must(o.t, err)
	return out
}

// serve offers the repositories over HTTP to who knows the token.
func (o *origin) serve() (url string, watch *spy) {
	o.t.Helper()
	watch = &spy{}
	backend := &cgi.Handler{
		Stderr: io.Discard,
		Path:   filepath.Join(strings.TrimSpace(run(o.t, ".", "--exec-path")), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + filepath.Dir(filepath.Dir(o.bare)), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watch.look()
		u, p, ok := r.BasicAuth()
		if !ok || u != user || p != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
			http.Error(w, "Bad credentials", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	o.t.Cleanup(srv.Close)
	return srv.URL + "/o/r.git", watch
}

// spy looks at the arguments of all processes while git talks to the server.
type spy struct {
	mu    sync.Mutex
	argv  []byte
	calls int
}

func (s *spy) look() {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	for _, f := range files {
		data, _ := os.ReadFile(f)
		s.argv = append(s.argv, data...)
	}
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	return cmd
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := command(dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mirror is the mirror of o by its path.
func (o *origin) mirror() *git.Mirror {
	o.t.Helper()
	m, err := git.New(filepath.Join(o.t.TempDir(), "git")).Mirror(context.Background(), "1", o.bare, git.Auth{})
	must(o.t, err)
	return m
}

// unpack writes a packed repository to a new directory.
func unpack(t *testing.T, pack []byte) string {
	t.Helper()
	dir := t.TempDir()
	r := tar.NewReader(bytes.NewReader(pack))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		must(t, err)
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		data, err := io.ReadAll(r)
		must(t, err)
		must(t, os.WriteFile(path, data, 0o644))
	}
}

// contains reports whether any file below dir holds text.
func contains(t *testing.T, dir, text string) string {
	t.Helper()
	found := ""
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = path
		}
		return err
	}))
	return found
}
