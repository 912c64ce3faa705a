package githubsim_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// git runs the real git with a token in the way a server passes one: by the
// environment, neither in argv nor on disk.
func git(t *testing.T, dir, token string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic " + basic,
		"GIT_CONFIG_KEY_1=user.name", "GIT_CONFIG_VALUE_1=T", "GIT_CONFIG_KEY_2=user.email", "GIT_CONFIG_VALUE_2=t@t",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestGitTransport(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{Tokens: githubsim.TokenStateless})
	write, read := w.mint(nil).GetToken(), w.mint(&github.InstallationTokenOptions{
		Repositories: []string{name}, Permissions: &github.InstallationPermissions{Contents: github.String("read")},
	}).GetToken()
	issues := w.mint(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Issues: github.String("write")}}).GetToken()
	_, err := w.hub.CreateRepo(owner, "second", map[string]string{"a": "a"})
	check(t, err)
	dir := t.TempDir()
	url := w.hub.URL() + "/" + full + ".git"
	if out, err := git(t, dir, read, "clone", "-q", url, "work"); err != nil {
		t.Fatalf("clone: %v: %s", err, out)
	}
	work := filepath.Join(dir, "work")
	if text, err := os.ReadFile(filepath.Join(work, "src", "add.go")); err != nil || !strings.Contains(string(text), "a - b") {
		t.Errorf("cloned %q, %v", text, err)
	}
	info, err := os.Stat(filepath.Join(work, "run.sh"))
	check(t, err)
	if info.Mode()&0o100 == 0 {
		t.Error("run.sh is not executable")
	}
	check(t, os.WriteFile(filepath.Join(work, "new.txt"), []byte("new\n"), 0o644))
	for _, args := range [][]string{{"checkout", "-q", "-b", "topic"}, {"add", "."}, {"commit", "-q", "-m", "new"}} {
		if out, err := git(t, work, "", args...); err != nil {
			t.Fatalf("%v: %s", args, out)
		}
	}
	if out, err := git(t, work, read, "push", "-q", "origin", "topic"); err == nil || !strings.Contains(out, "403") {
		t.Errorf("push with a read token: %v: %s", err, out)
	}
	if out, err := git(t, work, write, "push", "-q", "origin", "topic"); err != nil {
		t.Fatalf("push: %v: %s", err, out)
	}
	sha, err := git(t, work, "", "rev-parse", "HEAD")
	check(t, err)
	ref, _, err := w.client.Git.GetRef(t.Context(), owner, name, "heads/topic")
	check(t, err)
	if ref.GetObject().GetSHA() != sha {
		t.Errorf("topic is at %s, pushed %s", ref.GetObject().GetSHA(), sha)
	}
	check(t, os.MkdirAll(filepath.Join(work, ".github", "workflows"), 0o755))
	check(t, os.WriteFile(filepath.Join(work, ".github", "workflows", "ci.yml"), []byte("on: push\n"), 0o644))
	for _, args := range [][]string{{"add", "."}, {"commit", "-q", "-m", "workflow"}} {
		if out, err := git(t, work, "", args...); err != nil {
			t.Fatalf("%v: %s", args, out)
		}
	}
	if out, err := git(t, work, write, "push", "-q", "origin", "topic"); err == nil || !strings.Contains(out, "refusing to allow a GitHub App") {
		t.Errorf("push of a workflow: %v: %s", err, out)
	}
	for what, tc := range map[string][2]string{
		"no rights":        {issues, url},
		"no token":         {"", url},
		"unknown token":    {"ghs_nonsense", url},
		"other repository": {read, w.hub.URL() + "/acme/second.git"},
	} {
		if out, err := git(t, dir, tc[0], "ls-remote", tc[1]); err == nil {
			t.Errorf("%s: listed %s", what, out)
		}
	}
}

// TestFetchBySHA: a commit that no branch points at directly can be fetched by
// its name, with and without ".git" in the address.
func TestFetchBySHA(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	base := must[map[string]string](t)(w.hub.Branches(full))["main"]
	must[string](t)(w.hub.CommitFiles(full, "main", "later", map[string]string{"later": "x"}))
	token := w.mint(nil).GetToken()
	dir := t.TempDir()
	if out, err := git(t, dir, token, "init", "-q", "work"); err != nil {
		t.Fatal(out)
	}
	work := filepath.Join(dir, "work")
	if out, err := git(t, work, token, "fetch", "-q", "--depth=1", w.hub.URL()+"/"+full, base); err != nil {
		t.Fatalf("fetch: %s", out)
	}
	if out, err := git(t, work, token, "rev-parse", "FETCH_HEAD"); err != nil || out != base {
		t.Errorf("fetched %s, want %s", out, base)
	}
}

// TestImportRepo copies a repository with its branches and leaves it alone.
func TestImportRepo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "trunk"}, {"commit", "-q", "--allow-empty", "-m", "first"}, {"branch", "other"}, {"tag", "v1"},
	} {
		if out, err := git(t, dir, "", args...); err != nil {
			t.Fatalf("%v: %s", args, out)
		}
	}
	hub := githubsim.New(githubsim.Options{})
	repo, err := hub.ImportRepo(owner, name, dir)
	check(t, err)
	branches, err := hub.Branches(full)
	check(t, err)
	head, err := git(t, dir, "", "rev-parse", "HEAD")
	check(t, err)
	if repo.DefaultBranch != "trunk" || branches["trunk"] != head || branches["other"] != head {
		t.Errorf("imported %v with %v", repo, branches)
	}
	if out, err := git(t, repo.Dir(), "", "rev-parse", "v1"); err != nil || out != head {
		t.Errorf("tag v1 is %s", out)
	}
	found, err := hub.Repo(owner, name)
	check(t, err)
	if found != repo {
		t.Errorf("found %v, want %v", found, repo)
	}
	check(t, hub.Close())
	check(t, hub.Close())
	if _, err := os.Stat(repo.Dir()); !os.IsNotExist(err) {
		t.Errorf("the temporary directory is left after Close: %v", err)
	}
}

// TestAwait: the waiting calls return when the thing happens, and with the
// context's error when it does not.
func TestAwait(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := w.hub.Comment(full, w.issue, otto, "other")
		if err == nil {
			_, err = w.hub.Comment(full, w.issue, maya, "awaited")
		}
		done <- err
	}()
	c, err := w.hub.AwaitComment(ctx, full, w.issue, func(c githubsim.Comment) bool { return c.Author == maya })
	check(t, err)
	check(t, <-done)
	if c.Body != "awaited" {
		t.Errorf("awaited %v", c)
	}
	commit := w.change(ctx, t, "ai/fix-1")
	go func() {
		_, _, err := w.client.PullRequests.Create(ctx, owner, name, &github.NewPullRequest{Title: github.String("t"), Head: github.String("ai/fix-1"), Base: github.String("main")})
		if err == nil {
			_, _, err = w.client.Checks.CreateCheckRun(ctx, owner, name, github.CreateCheckRunOptions{Name: "yudai", HeadSHA: commit.GetSHA()})
		}
		done <- err
	}()
	pull, err := w.hub.AwaitPull(ctx, full, func(p githubsim.Pull) bool { return p.State == "open" })
	check(t, err)
	run, err := w.hub.AwaitCheck(ctx, full, func(k githubsim.Check) bool { return k.Name == "yudai" })
	check(t, err)
	check(t, <-done)
	if pull.HeadSHA != commit.GetSHA() || run.SHA != pull.HeadSHA || len(pull.Files) != 3 {
		t.Errorf("pull %v, check %v", pull, run)
	}
	gone, stop := context.WithCancelCause(ctx)
	stop(fmt.Errorf("enough"))
	if _, err := w.hub.AwaitPull(gone, full, func(githubsim.Pull) bool { return false }); err == nil || err.Error() != "enough" {
		t.Errorf("ended with %v", err)
	}
	if _, err := w.hub.AwaitPull(ctx, "acme/none", func(githubsim.Pull) bool { return true }); err == nil {
		t.Error("waited for a repository that is not there")
	}
}
