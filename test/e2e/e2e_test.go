package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/test/require"
)

// world is the emulator with one repository, and what yudai needs to serve it.
type world struct {
	t   *testing.T
	dir string
	hub *githubsim.Hub
	app githubsim.App
	// install is the App's on the repository's owner.
	install githubsim.Installation
	repo    githubsim.Repo
	cfg     server.Config
	env     map[string]string
	issue   int
	held    *githubsim.Injection
	// github carries the program's requests to the emulator and checks them and
	// the answers against GitHub's own description.
	github http.RoundTripper
	// log gets what the served program logs.
	log logBuffer
}

// scenario is the file scenario.yml of a test case.
type scenario struct {
	// Sample names where repository, issue and script come from if the file has
	// none of its own: "go", the demo's, or "shell", whose tests take no time.
	Sample string `yaml:"sample"`
	// Trigger is "label", or the text of a comment.
	Trigger    string   `yaml:"trigger"`
	Permission string   `yaml:"permission"` // of the person who asks; default write
	Models     []string `yaml:"models"`
	RunSteps   int      `yaml:"run_steps"`
	Deaf       []string `yaml:"deaf"`    // models that ignore a temperature
	Keyless    []string `yaml:"keyless"` // real models without a key
	Garbage    `yaml:",inline"`
	Expect     struct {
		State    string `yaml:"state"` // "" if there must be no solve
		Reason   string `yaml:"reason"`
		Champion string `yaml:"champion"`
		Pulls    int    `yaml:"pulls"`
		// Experiments is how many there are; 0 is not looked at.
		Experiments int               `yaml:"experiments"`
		Runs        map[string]string `yaml:"runs"`     // model: state
		Comments    []string          `yaml:"comments"` // texts that must appear, each in some comment of ours
		Absent      []string          `yaml:"absent"`   // texts that must appear in none
		Pull        []string          `yaml:"pull"`     // texts in the pull request's body
		Title       string            `yaml:"title"`    // the pull request's, if it is looked at
		Reaction    string            `yaml:"reaction"` // on the trigger
		Silent      bool              `yaml:"silent"`   // no comment of ours at all
	} `yaml:"expect"`
}

const (
	owner = "octo"
	user  = "alice"
)

// newWorld builds the emulator with the archive's files below repo/.
func newWorld(t *testing.T, archive *txtar.Archive) *world {
	t.Helper()
	require.Daily(t)
	w := &world{t: t, dir: t.TempDir()}
	var err error
	w.hub = githubsim.New(githubsim.Options{
		Dir: filepath.Join(w.dir, "github"), Tokens: githubsim.TokenAlternate, HistoryFile: filepath.Join(w.dir, "history.jsonl"),
	})
	l := listen(t)
	w.hub.SetBaseURL("http://" + l.Addr().String()) // before anybody asks for it
	served := make(chan error, 1)
	go func() { served <- w.hub.Serve(l) }()
	t.Cleanup(func() {
		w.must(w.hub.Close())
		w.must(<-served)
	})
	w.github = described(t)
	w.app, err = w.hub.CreateApp("yudai")
	w.must(err)
	w.hub.CreateUser(user)
	files := map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "repo/"); ok {
			files[name] = string(f.Data)
		}
	}
	w.repo, err = w.hub.CreateRepo(owner, "project", files)
	w.must(err)
	w.must(w.hub.SetPermission(w.repo.FullName(), user, "write"))
	w.install, err = w.hub.Install(w.app, owner, "project")
	w.must(err)
	w.env = map[string]string{
		"GITHUB_APP_INTEGRATION_ID": strconv.FormatInt(w.app.ID, 10),
		"GITHUB_APP_WEBHOOK_SECRET": w.app.WebhookSecret,
		"GITHUB_APP_PRIVATE_KEY":    string(w.app.PrivateKeyPEM),
		"YUDAI_API_TOKEN":           "operator-token-of-the-test",
	}
	w.cfg = w.config(archive)
	if files["run.sh"] != "" {
		w.cfg.Solver.Tests.Command, w.cfg.Solver.Tests.Format, w.cfg.Solver.Tests.Report = "sh run.sh", "junit", "report.xml"
	}
	return w
}

// config is the built-in configuration, at the emulator's pace, with scripted models.
func (w *world) config(archive *txtar.Archive) server.Config {
	cfg := server.Default()
	cfg.Server.Address = "127.0.0.1:0"
	cfg.GitHub.WebURL, cfg.GitHub.V3APIURL, cfg.GitHub.V4APIURL = w.hub.URL(), w.hub.APIURL(), w.hub.URL()+"/graphql"
	cfg.GitHub.Write.Interval, cfg.GitHub.Write.PerHour, cfg.GitHub.Write.ProgressEvery = time.Millisecond, 1_000_000, 100*time.Millisecond
	cfg.GitHub.Write.Timeout, cfg.GitHub.Write.Lease, cfg.GitHub.Write.ListLag = 2*time.Second, 6*time.Second, 6*time.Second
	cfg.Store.Path = filepath.Join(w.dir, "store", "yudai.db")
	cfg.Sandbox.Local.Dir = filepath.Join(w.dir, "sandboxes")
	cfg.Sandbox.Local.AllowUnlimited = true
	cfg.Solver.Defaults.Temps = []float64{0}
	cfg.Solver.LeaseTime = 12 * time.Second
	for _, f := range archive.Files {
		if f.Name == "script.yml" {
			path := filepath.Join(w.dir, "script.yml")
			w.must(os.WriteFile(path, f.Data, 0o600))
			names, err := server.ScriptModels(path)
			w.must(err)
			cfg.SetScripted(path, names)
		}
	}
	return cfg
}

// serve runs yudai until the returned function is called.
func (w *world) serve() (srv *server.Server, stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	log := zerolog.New(io.MultiWriter(zerolog.NewTestWriter(w.t), &w.log)).Level(zerolog.DebugLevel)
	srv, err := server.New(ctx, w.cfg, server.Options{Getenv: func(k string) string { return w.env[k] }, Log: log, Transport: w.github})
	w.must(err)
	w.must(w.hub.SetWebhookURL(w.app, "http://"+srv.Addr()+"/api/github/hook"))
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		w.must(<-done)
	}
	w.t.Cleanup(stop)
	return srv, stop
}

// openIssue opens the issue of the archive's issue.md.
func (w *world) openIssue(archive *txtar.Archive) {
	title, body, _ := strings.Cut(strings.TrimSpace(string(file(archive, "issue.md"))), "\n")
	w.open(title, strings.TrimSpace(body))
}

func (w *world) open(title, body string) {
	w.t.Helper()
	n, err := w.hub.OpenIssue(w.repo.FullName(), user, title, body)
	w.must(err)
	w.issue = n
}

// final waits until the issue's newest solve has ended and every effect is written.
func (w *world) final(srv *server.Server, limit time.Duration) report.View {
	w.t.Helper()
	return w.until(srv, limit, func(v report.View) bool {
		if !v.Solve.State.Final() {
			return false
		}
		settled, err := srv.Settled(w.t.Context(), v.Solve.ID)
		w.must(err)
		return settled
	})
}

// until waits for a view of the issue's newest solve; the limit is that of a quiet machine.
func (w *world) until(srv *server.Server, limit time.Duration, ok func(report.View) bool) report.View {
	w.t.Helper()
	limit *= patience
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	hints := srv.Watch(ctx)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var v report.View
	for {
		if latest, err := srv.Latest(ctx, w.repo.ID, w.issue); err == nil {
			if v = latest; ok(v) {
				return v
			}
		}
		select {
		case <-hints:
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatalf("waited %s in vain; the solve is %s (%s): %s", limit, v.Solve.State, v.Solve.Reason, states(v))
		}
	}
}

func states(v report.View) string {
	var out []string
	for _, r := range v.Runs {
		out = append(out, fmt.Sprintf("%s=%s(%s)", r.Experiment.Model, r.State, r.Reason))
		if r.Verdict != nil {
			out = append(out, r.Verdict.BrokenTests...)
		}
	}
	return strings.Join(out, " ")
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func file(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func load(t *testing.T, name string) (*txtar.Archive, scenario) {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var s scenario
	if err := yaml.UnmarshalWithOptions(file(a, "scenario.yml"), &s, yaml.Strict()); err != nil {
		t.Fatalf("%s: scenario.yml: %v", name, err)
	}
	switch s.Sample {
	case "go":
		addSample(t, a, filepath.Join("..", "..", "cmd", "sample"))
	case "shell":
		addSample(t, a, filepath.Join("testdata", "sample"))
	}
	return a, s
}

// addSample fills what the scenario does not bring itself.
func addSample(t *testing.T, a *txtar.Archive, dir string) {
	t.Helper()
	sample, err := txtar.ParseFile(filepath.Join(dir, "repo.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sample.Files {
		a.Files = append(a.Files, txtar.File{Name: "repo/" + f.Name, Data: f.Data})
	}
	for _, name := range []string{"issue.md", "script.yml"} {
		if file(a, name) != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		a.Files = append(a.Files, txtar.File{Name: name, Data: data})
	}
}
