package git_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/git"
)

// TestMirrorInARelativeDirectory: the built-in store.path is one.
func TestMirrorInARelativeDirectory(t *testing.T) {
	o := newOrigin(t)
	o.write("a.txt", "one\n")
	first := o.commit("first")
	o.git("push", "-q", o.bare, "HEAD:refs/heads/main")
	url, _ := o.serve()
	t.Chdir(t.TempDir())
	m, err := git.New(filepath.Join("data", "git")).Mirror(t.Context(), "7", url, git.Auth{User: user, Password: token})
	must(t, err)
	if got, err := m.Resolve(t.Context(), "main"); got != first || err != nil {
		t.Errorf("Resolve(main) = %q, %v, want %q", got, err, first)
	}
	if _, err := os.Stat(filepath.Join("data", "git")); err != nil {
		t.Error(err)
	}
}

func TestMirrorFollowsTheServer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	o.write("a.txt", "one\n")
	first := o.commit("first")
	o.git("push", "-q", o.bare, "HEAD:refs/heads/old", "HEAD:refs/pull/1/head", "HEAD:refs/tags/v1")
	url, _ := o.serve()
	cache := git.New(filepath.Join(t.TempDir(), "deep", "git"))
	if _, err := cache.Open("7"); !errors.Is(err, git.ErrMissing) {
		t.Errorf("Open before the first fetch = %v, want ErrMissing", err)
	}
	auth := git.Auth{User: user, Password: token}
	m, err := cache.Mirror(ctx, "7", url, auth)
	must(t, err)
	for ref, want := range map[string]string{"main": first, "old": first, "v1": first, "refs/tags/v1": first, first: first} {
		if got, err := m.Resolve(ctx, ref); got != want || err != nil {
			t.Errorf("Resolve(%q) = %q, %v, want %q", ref, got, err, want)
		}
	}
	if _, err := m.Resolve(ctx, "refs/pull/1/head"); !errors.Is(err, git.ErrMissing) {
		t.Errorf("a pull request's ref was mirrored: %v", err)
	}

	o.write("a.txt", "two\n")
	second := o.commit("second")
	o.git("push", "-q", o.bare, ":refs/heads/old")
	if m.Has(ctx, second) {
		t.Error("the mirror has a commit before it was fetched")
	}
	m, err = cache.Mirror(ctx, "7", url, auth)
	must(t, err)
	if got, _ := m.Resolve(ctx, "main"); got != second || !m.Has(ctx, second) {
		t.Errorf("main = %q after the second fetch, want %q", got, second)
	}
	for _, ref := range []string{"old", "nope", "--help", "main^", "../main", strings.Repeat("0", 40)} {
		if got, err := m.Resolve(ctx, ref); !errors.Is(err, git.ErrMissing) {
			t.Errorf("Resolve(%q) = %q, %v, want ErrMissing", ref, got, err)
		}
	}
	if m, err := cache.Open("7"); err != nil || !m.Has(ctx, second) {
		t.Errorf("Open = %v", err)
	}
}

func TestTokenStaysInTheEnvironment(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	o.write("a.txt", "one\n")
	sha := o.commit("first")
	url, watch := o.serve()
	dir := t.TempDir()
	m, err := git.New(dir).Mirror(ctx, "7", url, git.Auth{User: user, Password: token})
	must(t, err)
	if !m.Has(ctx, sha) {
		t.Fatal("commit not mirrored")
	}
	coded := base64.StdEncoding.EncodeToString([]byte(user + ":" + token))
	watch.mu.Lock()
	defer watch.mu.Unlock()
	if watch.calls == 0 || !strings.Contains(string(watch.argv), "fetch") {
		t.Fatal("the spy saw no git process")
	}
	for _, secret := range []string{token, coded} {
		if strings.Contains(string(watch.argv), secret) {
			t.Errorf("a process has %q among its arguments", secret)
		}
		if f := contains(t, dir, secret); f != "" {
			t.Errorf("%q is in %s", secret, f)
		}
	}
	if f := contains(t, dir, "127.0.0.1"); f != "" {
		t.Errorf("the server's address is in %s", f)
	}
	if s := fmt.Sprintf("%v %+v %#v", git.Auth{User: user, Password: token}, git.Auth{User: user, Password: token}, git.Auth{User: user, Password: token}); strings.Contains(s, "ghs_") {
		t.Errorf("Auth prints as %s", s)
	}
}

func TestWrongTokenIsReadable(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit("first")
	url, _ := o.serve()
	for _, auth := range []git.Auth{{}, {User: user, Password: "ghs_wrongwrongwrongwrong"}} {
		_, err := git.New(t.TempDir()).Mirror(context.Background(), "7", url, auth)
		if !errors.Is(err, git.ErrAuth) {
			t.Errorf("error = %v, want ErrAuth", err)
			continue
		}
		if strings.Contains(err.Error(), "ghs_") || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("unfit error text: %q", err)
		}
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit("first")
	url, _ := o.serve()
	mirror := func(url string) error {
		_, err := git.New(t.TempDir()).Mirror(context.Background(), "7", url, git.Auth{User: user, Password: token})
		return err
	}
	if err := mirror(strings.Replace(url, "/r.git", "/missing.git", 1)); !errors.Is(err, git.ErrMissing) {
		t.Errorf("missing repository: %v, want ErrMissing", err)
	}
	if err := mirror(filepath.Join(t.TempDir(), "none")); !errors.Is(err, git.ErrMissing) {
		t.Errorf("missing path: %v, want ErrMissing", err)
	}
	for _, bad := range []string{"ext::sh -c touch% /tmp/owned", "ssh://git@example.com/x", "https://u:p@example.com/x", "git@example.com:x", "--upload-pack=touch x"} {
		if err := mirror(bad); err == nil || strings.Contains(err.Error(), ":p@") {
			t.Errorf("address %q: %v", bad, err)
		}
	}
}

func TestTokenStaysWithItsServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var leaked string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked += r.Header.Get("Authorization")
		http.NotFound(w, r)
	}))
	t.Cleanup(other.Close)
	target := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target+r.URL.String(), http.StatusMovedPermanently)
	}))
	t.Cleanup(srv.Close)
	_, err := git.New(t.TempDir()).Mirror(context.Background(), "7", srv.URL+"/o/r.git", git.Auth{User: user, Password: token})
	if err == nil {
		t.Error("a redirect to nowhere succeeded")
	}
	mu.Lock()
	defer mu.Unlock()
	if leaked != "" {
		t.Errorf("the other server got %q", leaked)
	}
}

func TestEmptyRepository(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	m := o.mirror()
	if _, err := m.Resolve(ctx, "main"); !errors.Is(err, git.ErrMissing) {
		t.Errorf("Resolve in an empty repository = %v, want ErrMissing", err)
	}
}

func TestFetchCommitThatNoBranchHolds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	run(t, o.bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	o.write("a.txt", "lost\n")
	lost := o.commit("lost")
	o.git("commit", "-q", "--amend", "-m", "other")
	o.commit("next")
	url, _ := o.serve()
	auth := git.Auth{User: user, Password: token}
	m, err := git.New(t.TempDir()).Mirror(ctx, "7", url, auth)
	must(t, err)
	if m.Has(ctx, lost) {
		t.Fatal("the lost commit came with the branches")
	}
	must(t, m.FetchCommit(ctx, url, auth, lost))
	if !m.Has(ctx, lost) {
		t.Error("the lost commit was not fetched")
	}
	if err := m.FetchCommit(ctx, url, auth, strings.Repeat("1", 40)); !errors.Is(err, git.ErrMissing) {
		t.Errorf("a commit that never was: %v, want ErrMissing", err)
	}
}

func TestBrokenMirrorIsMadeAnew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	o.write("a.txt", "one\n")
	o.commit("first")
	dir := t.TempDir()
	cache := git.New(dir)
	_, err := cache.Mirror(ctx, "7", o.bare, git.Auth{})
	must(t, err)
	mirrors, _ := filepath.Glob(filepath.Join(dir, "*.git"))
	for name, damage := range map[string]func(){
		"lock of a killed git": func() {
			must(t, os.WriteFile(filepath.Join(mirrors[0], "refs/heads/main.lock"), nil, 0o600))
		},
		"half a repository": func() { must(t, os.RemoveAll(filepath.Join(mirrors[0], "objects"))) },
	} {
		damage()
		o.write("a.txt", name)
		sha := o.commit(name)
		m, err := cache.Mirror(ctx, "7", o.bare, git.Auth{})
		if err != nil || !m.Has(ctx, sha) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "new-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSweepTakesOldScratch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "new-1", "x"), 0o700))
	must(t, os.MkdirAll(filepath.Join(dir, "abc.git"), 0o700))
	c := git.New(dir)
	must(t, c.Sweep(time.Now()))
	if _, err := os.Stat(filepath.Join(dir, "new-1")); err != nil {
		t.Error("fresh scratch was removed")
	}
	must(t, c.Sweep(time.Now().Add(2*time.Hour)))
	if _, err := os.Stat(filepath.Join(dir, "new-1")); err == nil {
		t.Error("old scratch is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, "abc.git")); err != nil {
		t.Error("a mirror was removed")
	}
	must(t, git.New(filepath.Join(dir, "none")).Sweep(time.Now()))
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := newOrigin(t)
	o.write("a.txt", "one\n")
	sha := o.commit("first")
	cache := git.New(t.TempDir())
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			m, err := cache.Mirror(ctx, "7", o.bare, git.Auth{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := m.ReadFile(ctx, sha, "a.txt"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestCancelEndsGit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	began := make(chan struct{}, 1)
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case began <- struct{}{}:
		default:
		}
		<-release
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(release) })
	go func() {
		<-began
		cancel()
	}()
	_, err := git.New(t.TempDir()).Mirror(ctx, "7", srv.URL, git.Auth{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the cancel", err)
	}
}

func TestCheck(t *testing.T) {
	if err := git.Check(context.Background()); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := git.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "install the package git") {
		t.Errorf("without git: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho git version 2.25.1\n"), 0o755))
	if err := git.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "2.25 is too old") {
		t.Errorf("an old git: %v", err)
	}
}

// Nothing of this process's environment reaches git but the search path.
func TestEnvironmentIsOurs(t *testing.T) {
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "env")
	must(t, os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n/usr/bin/env > "+log+"\nexit 1\n"), 0o755))
	t.Setenv("PATH", dir)
	t.Setenv("YUDAI_SECRET", "sesame")
	t.Setenv("GIT_DIR", "/elsewhere")
	t.Setenv("GIT_SSH_COMMAND", "sesame")
	t.Setenv("HTTPS_PROXY", "http://forward.example.com:3128")
	_, err := git.Local(context.Background(), dir)
	if err == nil {
		t.Fatal("the stand-in succeeded")
	}
	data, err := os.ReadFile(log)
	must(t, err)
	if got := string(data); strings.Contains(got, "sesame") || strings.Contains(got, "/elsewhere") || strings.Contains(got, "PROXY") || !strings.Contains(got, "GIT_CONFIG_NOSYSTEM=1") {
		t.Errorf("environment: %s", got)
	}
	if _, err = git.New(t.TempDir()).Mirror(context.Background(), "1", "https://example.invalid/x", git.Auth{}); err == nil {
		t.Fatal("the stand-in succeeded")
	}
}
