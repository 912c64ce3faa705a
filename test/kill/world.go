package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

//go:embed sample/repo.txtar
var sampleRepo []byte

const (
	owner = "octo"
	user  = "alice"
	bot   = "yudai[bot]"
)

// pacing are the times of a world. They are as short as the configuration's
// rules allow: what they are in proportion to each other is what counts.
type pacing struct {
	timeout, lease, settle time.Duration // github.write
	lag                    time.Duration // of GitHub's lists
	model                  time.Duration // before each answer of a model
	stall                  time.Duration // longer than the program's lease
	patience               time.Duration // ends an episode in which nothing happens on GitHub for so long
	heal                   time.Duration // github.heal.every; 0 turns it off
}

// leaseTime is solver.lease_time, the shortest there is.
const leaseTime = 2 * time.Second

func usualPacing() pacing {
	return pacing{
		timeout: 500 * time.Millisecond, lease: time.Second, settle: 1500 * time.Millisecond,
		lag: 1300 * time.Millisecond, stall: leaseTime + 500*time.Millisecond,
		patience: 40 * time.Second, heal: 5 * time.Minute,
	}
}

// paceOf is the pacing of a point. A process that stops in the middle of a call
// to GitHub makes it when it goes on: then the lists must be slow enough to hide
// what it made from whoever looks too early.
func paceOf(p point) pacing {
	pace := usualPacing()
	if p.spec.Action == failpoint.Stop && strings.HasPrefix(p.spec.Name, "github.POST.") {
		pace.settle, pace.lag, pace.stall = 3500*time.Millisecond, 3300*time.Millisecond, 4500*time.Millisecond
	}
	return pace
}

// world is everything around the program: GitHub, models, directories.
type world struct {
	dir   string
	pace  pacing
	hub   *githubsim.Hub
	app   githubsim.App
	repo  githubsim.Repo
	issue int

	provider *provider
	models   *http.Server
	served   chan error
}

func newWorld(dir string, pace pacing) (_ *world, err error) {
	w := &world{dir: dir, pace: pace, served: make(chan error, 2), provider: &provider{pace: pace.model}}
	for _, sub := range []string{"github", "store"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("make directory: %w", err)
		}
	}
	w.hub = githubsim.New(githubsim.Options{
		Dir: filepath.Join(dir, "github"), Tokens: githubsim.TokenAlternate, HistoryFile: w.history(),
	})
	w.hub.SetLag(pace.lag)
	w.models = &http.Server{Handler: w.provider, ReadHeaderTimeout: 10 * time.Second}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	github, err := listen()
	if err != nil {
		return nil, err
	}
	go func() { w.served <- w.hub.Serve(github) }()
	model, err := listen()
	if err != nil {
		return nil, err
	}
	w.models.Addr = model.Addr().String()
	go func() { w.served <- w.models.Serve(model) }()
	return w, w.populate()
}

func listen() (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// populate makes the App, a person and a repository with an issue.
func (w *world) populate() (err error) {
	// The address is the listener's as soon as it serves.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for !strings.HasPrefix(w.hub.URL(), "http://127.") {
		if !pause(ctx, time.Millisecond) {
			return errors.New("the emulator does not serve")
		}
	}
	if w.app, err = w.hub.CreateApp("yudai"); err != nil {
		return err
	}
	w.hub.CreateUser(user)
	files := map[string]string{}
	for _, f := range txtar.Parse(sampleRepo).Files {
		files[f.Name] = string(f.Data)
	}
	if w.repo, err = w.hub.CreateRepo(owner, "project", files); err != nil {
		return err
	}
	if err := w.hub.SetPermission(w.repo.FullName(), user, "write"); err != nil {
		return err
	}
	if _, err := w.hub.Install(w.app, owner, "project"); err != nil {
		return err
	}
	if w.issue, err = w.hub.OpenIssue(w.repo.FullName(), user, "Adding subtracts", "`sh calc.sh add 2 3` prints -1."); err != nil {
		return err
	}
	return os.WriteFile(w.config(), []byte(w.settings()), 0o600)
}

// The files of a world.

func (w *world) history() string   { return filepath.Join(w.dir, "history.jsonl") }
func (w *world) config() string    { return filepath.Join(w.dir, "config.yml") }
func (w *world) store() string     { return filepath.Join(w.dir, "store", "yudai.db") }
func (w *world) sandboxes() string { return filepath.Join(w.dir, "sandboxes") }
func (w *world) calls() string     { return filepath.Join(w.dir, "calls.jsonl") }

// settings is the program's configuration.
func (w *world) settings() string {
	var list strings.Builder
	for _, name := range models() {
		fmt.Fprintf(&list, "    - {name: %s, provider: openai, base_url: \"http://%s/v1\", temperature: accepted, price: {input: 1, output: 2}}\n", name, w.models.Addr)
	}
	return fmt.Sprintf(`server: {address: "127.0.0.1:0"}
github:
  web_url: %[1]s
  v3_api_url: %[2]s
  v4_api_url: %[1]s/graphql
  write: {interval: 1ms, per_hour: 1000000, progress_every: 50ms, timeout: %[3]s, lease: %[4]s, settle: %[5]s}
  heal: {every: %[11]s}
store: {path: %[6]s}
models:
  models:
%[7]ssolver:
  defaults: {models: [%[8]s], temps: [0.0]}
  max_attempts: 6
  lease_time: %[9]s
  sweep_every: 1s
  tests: {command: sh run.sh, format: junit, report: report.xml}
sandbox:
  local: {dir: %[10]s, allow_unlimited: true}
`, w.hub.URL(), w.hub.APIURL(), w.pace.timeout, w.pace.lease, w.pace.settle, w.store(),
		list.String(), strings.Join(models(), ", "), leaseTime, w.sandboxes(), w.pace.heal)
}

// environment holds the program's secrets.
func (w *world) environment() []string {
	return []string{
		fmt.Sprintf("GITHUB_APP_INTEGRATION_ID=%d", w.app.ID),
		"GITHUB_APP_WEBHOOK_SECRET=" + w.app.WebhookSecret,
		"GITHUB_APP_PRIVATE_KEY=" + string(w.app.PrivateKeyPEM),
		"YUDAI_FAILPOINT_STALL=" + w.pace.stall.String(),
	}
}

// close stops the servers. What the program left stays.
func (w *world) close() {
	_ = w.hub.Close() // nobody needs them any more
	_ = w.models.Close()
}

// comments are the bot's on the issue, by the kind of their marker, with the solve they name.
func (w *world) comments() (kinds map[string]string, of string) {
	kinds = map[string]string{}
	i, err := w.hub.Issue(w.repo.FullName(), w.issue)
	if err != nil {
		return kinds, ""
	}
	for _, c := range i.Comments {
		if id, kind, ok := solve.FindMarker(c.Body); ok && c.Author == bot {
			kinds[kind] = c.Body
			if kind == string(solve.EffectFinal) || kind == string(solve.EffectNotice) {
				of = id
			}
		}
	}
	return kinds, of
}

// pause waits; false means that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
