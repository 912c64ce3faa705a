package ghapp_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/internal/githubsim/openapi"
	"github.com/yudai-dev/yudai/solve"
)

// world is the emulator with one repository and one issue, an App on it, and a
// store. It lives in a synctest bubble: time is fake and moves by itself.
type world struct {
	t       *testing.T
	hub     *githubsim.Hub
	repo    solve.Repo
	issue   int
	base    string
	app     *ghapp.App
	store   *memStore
	cfg     ghapp.Config
	content *contentStub
	logs    *logBuffer
	traffic *traffic
	secrets ghapp.Secrets
}

// TestMain lets garbage grow: every test makes a GitHub of its own and drops it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

const helloGo = "package hello\n\nfunc Hello() string { return \"hullo\" }\n"

func setup(t *testing.T, opts githubsim.Options) *world {
	t.Helper()
	opts.Dir = t.TempDir()
	hub := githubsim.New(opts)
	t.Cleanup(func() { must(t, hub.Close()) })
	app, err := hub.RegisterApp(githubsim.AppSpec{Name: "yudai", Key: testKey()})
	must(t, err)
	repo, err := hub.CreateRepo("octo", "hello", map[string]string{
		"hello.go": helloGo, "old.txt": "old\n", "run.sh": "#!/bin/sh\n",
	})
	must(t, err)
	in, err := hub.Install(app, "octo")
	must(t, err)
	hub.CreateUser("ada")
	must(t, hub.SetPermission("octo/hello", "ada", "write"))
	issue, err := hub.OpenIssue("octo/hello", "ada", "It says hullo", "It should say hello.")
	must(t, err)

	w := &world{
		t: t, hub: hub, issue: issue, store: newMemStore(), logs: &logBuffer{},
		repo: solve.Repo{Installation: in.ID, ID: repo.ID, Owner: "octo", Name: "hello", DefaultBranch: "main"},
	}
	w.cfg = ghapp.DefaultConfig()
	w.cfg.WebURL = hub.URL()
	w.cfg.V3APIURL = hub.APIURL()
	w.cfg.V4APIURL = strings.TrimSuffix(hub.APIURL(), "/") + "/graphql"
	w.secrets = ghapp.Secrets{
		AppID: app.ID, WebhookSecret: ghapp.NewSecret(app.WebhookSecret), PrivateKey: ghapp.NewSecret(string(app.PrivateKeyPEM)),
	}
	w.traffic = &traffic{next: described(t).Transport(hub.Transport(), func(err error) {
		t.Errorf("traffic does not fit GitHub's description: %v", err)
	})}
	w.app = w.newApp(w.traffic)
	w.base, err = w.app.Branch(t.Context(), w.repo, "main")
	must(t, err)
	w.content = &contentStub{commit: solve.Commit{
		Message: "fix: say hello\n\nFor #1.\n\nRequested-by: ada\n",
		BaseSHA: w.base,
		Files: []solve.CommitFile{
			{Path: "hello.go", Mode: "100644", Data: []byte(strings.ReplaceAll(helloGo, "hullo", "hello"))},
			{Path: "bin/tool", Mode: "100755", Data: []byte("\x7fELF\x00\xff\xfe")},
			{Path: "link", Mode: "120000", Data: []byte("hello.go")},
			{Path: "empty", Mode: "100644"},
			{Path: "old.txt", Delete: true},
		},
	}}
	return w
}

// described is GitHub's own description of its API, loaded once.
func described(t *testing.T) *openapi.Validator {
	t.Helper()
	v, err := loadDescription()
	must(t, err)
	return v
}

var loadDescription = sync.OnceValues(func() (*openapi.Validator, error) { return openapi.New("") })

// inWorld runs a test in a bubble.
func inWorld(t *testing.T, opts githubsim.Options, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, setup(t, opts)) })
}

func (w *world) newApp(tr http.RoundTripper) *ghapp.App {
	w.t.Helper()
	app, err := ghapp.New(w.cfg, w.secrets, ghapp.Options{Transport: tr})
	must(w.t, err)
	return app
}

func (w *world) newWriter(node string) *ghapp.Writer {
	return ghapp.NewWriter(w.app, commitStore{w.store, w.content}, w.cfg.Write, node)
}

// write runs a new writer until stop is called; stop waits for it.
func (w *world) write(node string) (stop func()) {
	w.t.Helper()
	return w.runWriter(w.newWriter(node))
}

func (w *world) runWriter(writer *ghapp.Writer) (stop func()) {
	ctx, cancel := context.WithCancel(zerolog.New(w.logs).WithContext(context.Background()))
	done := make(chan error, 1)
	go func() { done <- writer.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			must(w.t, <-done)
		})
	}
	w.t.Cleanup(stop)
	return stop
}

// await lets fake time pass until something holds.
func (w *world) await(what string, holds func() bool) {
	w.t.Helper()
	start, step := time.Now(), 100*time.Millisecond
	for {
		synctest.Wait()
		if holds() {
			return
		}
		if time.Since(start) > time.Minute {
			step = 5 * time.Second
		}
		if time.Since(start) > 24*time.Hour {
			w.t.Fatalf("never: %s\n%s", what, w.logs)
		}
		pass(step)
	}
}

func (w *world) settle() {
	w.t.Helper()
	w.await("all effects settled", w.store.settled)
}

// pass lets fake time pass.
func pass(d time.Duration) { <-time.After(d) }

// newSolve is a solve that was claimed just now.
func (w *world) newSolve(id solve.ID) solve.Solve {
	now := time.Now()
	return solve.Solve{
		V: 1, ID: id, Repo: w.repo,
		Issue:   solve.Issue{Number: w.issue, Title: "It says hullo", Body: "It should say hello.", Author: "ada"},
		Trigger: solve.Trigger{Kind: solve.TriggerLabel, Actor: "ada", At: now},
		State:   solve.StatePreparing,
		Plan: solve.Plan{Experiments: []solve.Experiment{
			{Agent: "mini", Model: "m-1", MaxEdits: 5, Strategy: "small-steps", Repeat: 1},
			{Agent: "mini", Model: "m-2", MaxEdits: 5, Strategy: "small-steps", Repeat: 1},
		}},
		Base:    solve.Base{Branch: "main", SHA: w.base, Test: solve.TestCommand{Command: "go test ./...", Format: "go"}},
		Branch:  "ai/fix-" + string(id),
		Created: now, Started: now,
	}
}

// solvedBy moves a solve through its states, with the events the store would
// have, and returns it at the end. between is called after each.
func (w *world) solveAll(id solve.ID, between func()) solve.Solve {
	s := w.newSolve(id)
	w.store.put(s, solve.EventClaimed)
	between()
	s.State = solve.StateRunning
	w.store.put(s, solve.EventBaseReady)
	for n := 1; n <= 2; n++ {
		r := solve.Run{V: 1, Solve: id, N: n, Repo: w.repo, Experiment: s.Plan.Experiments[n-1], State: solve.RunWorking, Attempt: 1, Started: time.Now()}
		w.store.putRun(id, r, solve.EventStarted)
		between()
		r.State, r.Ended, r.AgentTime = solve.RunPassed, time.Now(), time.Second
		r.Candidate = &solve.Candidate{Files: []solve.FileChange{{Path: "hello.go", Op: "modify", Added: 1, Deleted: 1}}, Added: 1, Deleted: 1}
		r.Verdict = &solve.Verdict{Outcome: solve.Passed, Fixed: 1}
		w.store.putRun(id, r, solve.EventPassed)
		between()
	}
	s.State = solve.StateReducing
	w.store.put(s, solve.EventRunsEnded)
	s.State = solve.StatePublishing
	s.Decision = &solve.Decision{Champion: 1, Ranking: []int{1, 2}}
	w.store.put(s, solve.EventChampion)
	w.await("pull request of "+string(id), func() bool {
		st := w.store.given(id, solve.EffectPull, 0).State
		return st == solve.EffectApplied || st == solve.EffectDead
	})
	got := w.store.given(id, solve.EffectPull, 0).Receipt
	s.Pull = &solve.Pull{Number: got.Number, URL: got.URL, Commit: got.SHA}
	s.State, s.Ended = solve.StateSolved, time.Now()
	w.store.put(s, solve.EventPublished)
	return s
}

// api is a client with all rights, for looking at the result.
func (w *world) api() *github.Client {
	tr, err := ghinstallation.New(w.hub.Transport(), w.secrets.AppID, w.repo.Installation, []byte(w.secrets.PrivateKey.Reveal()))
	must(w.t, err)
	tr.BaseURL = strings.TrimSuffix(w.hub.APIURL(), "/")
	c := github.NewClient(&http.Client{Transport: tr})
	c.BaseURL, err = url.Parse(tr.BaseURL + "/")
	must(w.t, err)
	return c
}

// comments are the bot's comments with the marker.
func (w *world) comments(id, kind string) []*github.IssueComment {
	all, _, err := w.api().Issues.ListComments(w.t.Context(), "octo", "hello", w.issue, &github.IssueListCommentsOptions{
		ListOptions: github.ListOptions{PerPage: 100}})
	must(w.t, err)
	var out []*github.IssueComment
	for _, c := range all {
		gotID, gotKind, ok := solve.FindMarker(c.GetBody())
		if ok && gotID == id && gotKind == kind && c.GetUser().GetLogin() == "yudai[bot]" {
			out = append(out, c)
		}
	}
	return out
}

func (w *world) pulls(s solve.Solve) []*github.PullRequest {
	all, _, err := w.api().PullRequests.List(w.t.Context(), "octo", "hello", &github.PullRequestListOptions{
		State: "all", Head: "octo:" + s.Branch})
	must(w.t, err)
	return all
}

func (w *world) checks(sha, externalID string) []*github.CheckRun {
	all, _, err := w.api().Checks.ListCheckRunsForRef(w.t.Context(), "octo", "hello", sha, &github.ListCheckRunsOptions{
		Filter: github.String("all"), ListOptions: github.ListOptions{PerPage: 100}})
	must(w.t, err)
	var out []*github.CheckRun
	for _, c := range all.CheckRuns {
		if c.GetExternalID() == externalID {
			out = append(out, c)
		}
	}
	return out
}

// checkOnce fails the test unless everything a solved solve shows is there
// exactly once and in its last version.
func (w *world) checkOnce(s solve.Solve) {
	w.t.Helper()
	id := string(s.ID)
	claim := w.store.given(s.ID, solve.EffectClaim, 0)
	for _, kind := range []solve.EffectKind{solve.EffectNotice, solve.EffectFinal} {
		if got := w.comments(id, string(kind)); len(got) != 1 {
			w.t.Errorf("%d comments of kind %s", len(got), kind)
		} else if !strings.Contains(got[0].GetBody(), fmt.Sprintf("#%d", s.Pull.Number)) && kind == solve.EffectFinal {
			w.t.Errorf("the %s does not name the pull request:\n%s", kind, got[0].GetBody())
		}
	}
	for external, sha := range map[string]string{
		"yudai:" + id: claim.Receipt.SHA, "yudai:" + id + "/1": claim.Receipt.SHA, "yudai:" + id + "/2": claim.Receipt.SHA,
		"yudai:" + id + "/head": s.Pull.Commit,
	} {
		got := w.checks(sha, external)
		if len(got) != 1 || got[0].GetStatus() != "completed" || got[0].GetConclusion() != "success" {
			w.t.Errorf("check run %s on %s: %v", external, sha, got)
		}
	}
	if got := w.pulls(s); len(got) != 1 || got[0].GetNumber() != s.Pull.Number || got[0].GetHead().GetSHA() != s.Pull.Commit {
		w.t.Errorf("pull requests: %v", got)
	}
	// Nothing was made and taken back either: people would have been told.
	for path, want := range map[string]int{"/issues/1/comments": 2, "/check-runs": 4, "/pulls": 1, "/git/refs": 1} {
		if n := w.hub.Requests("POST", path); n != want {
			w.t.Errorf("%d creations at %s, want %d", n, path, want)
		}
	}
	for key, e := range w.store.effects {
		if strings.HasPrefix(key, id) && (e.State != solve.EffectApplied || e.Applied != e.Wanted) {
			w.t.Errorf("effect %s is %s, version %d of %d: %s", key, e.State, e.Applied, e.Wanted, e.Error)
		}
	}
	w.checkNoSecrets()
}

// checkNoSecrets fails the test if a token, key or webhook secret was logged or
// stored.
func (w *world) checkNoSecrets() {
	w.t.Helper()
	text := w.logs.String()
	for _, e := range w.store.effects {
		text += e.Error
	}
	for _, secret := range append(w.traffic.tokens(), w.secrets.WebhookSecret.Reveal(), "PRIVATE KEY") {
		if strings.Contains(text, secret) {
			w.t.Errorf("a secret was logged or stored: %.20s...", secret)
		}
	}
}

// contentStub holds the champion's commit of every solve.
type contentStub struct {
	mu     sync.Mutex
	commit solve.Commit
	err    error
}

// set changes what reading the commit ends with.
func (c *contentStub) set(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// commitStore is a store with the champion's commit.
type commitStore struct {
	*memStore
	content *contentStub
}

func (s commitStore) Artifact(_ context.Context, _ solve.ID, name string) ([]byte, error) {
	s.content.mu.Lock()
	defer s.content.mu.Unlock()
	if s.content.err != nil || name != solve.CommitArtifact {
		return nil, cmp.Or(s.content.err, solve.ErrNotFound)
	}
	return s.content.commit.Encode()
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// traffic notes every request and the credentials that went with it.
type traffic struct {
	next http.RoundTripper

	mu    sync.Mutex
	sent  []request
	creds map[string]bool
}

type request struct {
	method, path string
	at           time.Time
}

func (tr *traffic) RoundTrip(req *http.Request) (*http.Response, error) {
	tr.mu.Lock()
	tr.sent = append(tr.sent, request{req.Method, req.URL.Path, time.Now()})
	if _, token, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok {
		if tr.creds == nil {
			tr.creds = map[string]bool{}
		}
		tr.creds[token] = true
	}
	tr.mu.Unlock()
	return tr.next.RoundTrip(req)
}

func (tr *traffic) tokens() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var out []string
	for t := range tr.creds {
		out = append(out, t)
	}
	return out
}

// writes are the visible ones: no tokens, no git objects.
func (tr *traffic) writes() []request {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var out []request
	for _, r := range tr.sent {
		object := strings.Contains(r.path, "/git/") && !strings.Contains(r.path, "/git/refs")
		if r.method != http.MethodGet && !object && !strings.HasPrefix(r.path, "/app/") && r.path != "/installation/token" {
			out = append(out, r)
		}
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
