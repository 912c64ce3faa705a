package ghapp_test

import (
	"context"
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// TestOverSocketsOnEnterpriseServer does it all once over real connections,
// under the path prefix of Enterprise Server: effects, and a clone with git.
func TestOverSocketsOnEnterpriseServer(t *testing.T) {
	t.Parallel()
	hub := githubsim.New(githubsim.Options{Dir: t.TempDir(), APIPrefix: "/api/v3", Tokens: githubsim.TokenStateless})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	hub.SetBaseURL("http://" + l.Addr().String())
	served := make(chan error, 1)
	go func() { served <- hub.Serve(l) }()
	t.Cleanup(func() {
		must(t, hub.Close())
		must(t, <-served)
	})
	app, err := hub.RegisterApp(githubsim.AppSpec{Name: "yudai", Key: testKey()})
	must(t, err)
	_, err = hub.CreateRepo("octo", "hello", map[string]string{"hello.go": helloGo})
	must(t, err)
	must(t, hub.SetPrivate("octo/hello", true))
	_, err = hub.Install(app, "octo")
	must(t, err)
	hub.CreateUser("ada")
	must(t, hub.SetPermission("octo/hello", "ada", "write"))
	issue, err := hub.OpenIssue("octo/hello", "ada", "It says hullo", "")
	must(t, err)

	w := &world{t: t, hub: hub, issue: issue, store: newMemStore(), logs: &logBuffer{}, cfg: ghapp.DefaultConfig()}
	w.cfg.WebURL, w.cfg.V3APIURL, w.cfg.V4APIURL = hub.URL(), hub.APIURL(), hub.URL()+"/api/graphql"
	w.cfg.Write.Interval = time.Millisecond
	w.cfg.Write.PerHour = 10_000
	w.secrets = ghapp.Secrets{AppID: app.ID, PrivateKey: ghapp.NewSecret(string(app.PrivateKeyPEM))}
	w.app = w.newApp(nil)
	w.repo, err = w.app.Repo(t.Context(), "octo", "hello")
	must(t, err)
	w.base, err = w.app.Branch(t.Context(), w.repo, "main")
	must(t, err)
	w.content = &contentStub{commit: solve.Commit{Message: "fix: say hello", BaseSHA: w.base, Files: []solve.CommitFile{{Path: "new", Data: []byte("x")}}}}

	ctx, cancel := context.WithCancel(zerolog.New(w.logs).WithContext(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.newWriter("node-1").Run(ctx) }()
	s := w.newSolve(id1)
	s.State, s.Decision = solve.StatePublishing, &solve.Decision{Champion: 1}
	w.store.put(s, solve.EventClaimed)
	w.store.put(s, solve.EventChampion)
	w.written(ctx)
	e := w.store.given(id1, solve.EffectPull, 0)
	if e.State != solve.EffectApplied || len(w.pulls(s)) != 1 {
		t.Fatalf("pull request is %s: %s", e.State, e.Error)
	}
	s.Pull = &solve.Pull{Number: e.Receipt.Number, Commit: e.Receipt.SHA}
	again := w.follow(s, solve.FollowRevise)
	again.State, again.Decision = solve.StatePublishing, &solve.Decision{Champion: 1}
	w.content.commit = w.another(s.Pull.Commit)
	w.store.put(again, solve.EventClaimed)
	w.store.put(again, solve.EventChampion)
	given := w.newSolve("d0000000000000000003")
	w.store.put(given, solve.EventClaimed)
	w.written(ctx)
	given.State, given.Decision = solve.StateUnsolved, &solve.Decision{}
	w.store.put(given, solve.EventNoChampion)
	w.written(ctx)
	cancel()
	must(t, <-done)
	if e := w.store.given(id2, solve.EffectPull, 0); e.State != solve.EffectApplied || e.Receipt.Number != s.Pull.Number || e.Receipt.SHA == s.Pull.Commit {
		t.Errorf("revision is %s: %s", e.State, e.Error)
	}
	if !w.branchGone(given) {
		t.Error("the branch of the solve without a champion is there")
	}
	w.cloneWithGit()
}

// written waits over real time until every effect was written or given up.
func (w *world) written(ctx context.Context) {
	w.t.Helper()
	hints := w.store.Watch(ctx)
	deadline := time.After(30 * time.Second)
	for !w.store.settled() {
		select {
		case <-hints:
		case <-deadline:
			w.t.Fatalf("effects are not written\n%s", w.logs)
		}
	}
}

// cloneWithGit checks that an Access opens the repository while it lasts.
func (w *world) cloneWithGit() {
	t := w.t
	access, release, err := w.app.Clone(t.Context(), w.repo)
	must(t, err)
	clone := func(dir string) error {
		cmd := exec.CommandContext(t.Context(), "git", "clone", "-q", access.URL, dir)
		basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + access.Token.Reveal()))
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=http."+w.cfg.WebURL+"/.extraheader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+basic)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("git clone: %s", ghapp.Redact(string(out)))
		}
		return err
	}
	dir := filepath.Join(t.TempDir(), "a")
	must(t, clone(dir))
	if _, err := os.Stat(filepath.Join(dir, "hello.go")); err != nil {
		t.Error(err)
	}
	must(t, release(t.Context()))
	if clone(filepath.Join(t.TempDir(), "b")) == nil {
		t.Error("the token works after its release")
	}
}
