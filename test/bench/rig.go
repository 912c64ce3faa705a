package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solver/budget"
)

// Names in the emulator.
const (
	owner = "octo"
	user  = "alice"
)

// rig is the emulator, and yudai's configuration for it.
type rig struct {
	dir   string
	hub   *githubsim.Hub
	app   githubsim.App
	cfg   server.Config
	env   map[string]string
	group errgroup.Group

	srv  *server.Server
	stop context.CancelFunc
}

// newRig starts the emulator below dir. Repositories are made next.
func newRig(ctx context.Context, dir string) (*rig, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	r := &rig{dir: dir, hub: githubsim.New(githubsim.Options{Dir: filepath.Join(dir, "github"), RateLimit: 1_000_000})}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	r.hub.SetBaseURL("http://" + l.Addr().String())
	r.group.Go(func() error { return r.hub.Serve(l) })
	r.hub.CreateUser(user)
	if r.app, err = r.hub.CreateApp("yudai"); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.env = map[string]string{
		"GITHUB_APP_INTEGRATION_ID": strconv.FormatInt(r.app.ID, 10),
		"GITHUB_APP_WEBHOOK_SECRET": r.app.WebhookSecret,
		"GITHUB_APP_PRIVATE_KEY":    string(r.app.PrivateKeyPEM),
	}
	r.cfg = r.config()
	return r, nil
}

// config is the built-in one, at the emulator's pace: GitHub's secondary limits
// are not what is measured.
func (r *rig) config() server.Config {
	cfg := server.Default()
	cfg.Server.Address = "127.0.0.1:0"
	cfg.GitHub.WebURL, cfg.GitHub.V3APIURL, cfg.GitHub.V4APIURL = r.hub.URL(), r.hub.APIURL(), r.hub.URL()+"/graphql"
	cfg.GitHub.Write.Interval, cfg.GitHub.Write.PerHour = 0, 1_000_000
	cfg.Store.Path = filepath.Join(r.dir, "store", "yudai.db")
	cfg.Sandbox.Local.Dir = filepath.Join(r.dir, "sandboxes")
	cfg.Sandbox.Local.AllowUnlimited = true
	cfg.Solver.Defaults.Temps = []float64{0}
	cfg.Solver.Daily = budget.Daily{}
	return cfg
}

// repo makes a repository and gives the user the right to ask.
func (r *rig) repo(name string, files map[string]string) (githubsim.Repo, error) {
	repo, err := r.hub.CreateRepo(owner, name, files)
	if err != nil {
		return repo, err
	}
	return repo, r.hub.SetPermission(repo.FullName(), user, "write")
}

// script has the named models play a script, as the whole matrix.
func (r *rig) script(text string, models ...string) error {
	path := filepath.Join(r.dir, "script.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	r.cfg.SetScripted(path, models)
	return nil
}

// serve installs the App on all repositories and runs yudai in this process.
func (r *rig) serve(ctx context.Context) error {
	if _, err := r.hub.Install(r.app, owner); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(r.dir, "yudai.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	r.srv, err = server.New(ctx, r.cfg, server.Options{Getenv: func(k string) string { return r.env[k] }, Log: zerolog.New(log)})
	if err != nil {
		return errors.Join(err, log.Close())
	}
	if err := r.hub.SetWebhookURL(r.app, "http://"+r.srv.Addr()+"/api/github/hook"); err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(ctx)
	r.group.Go(func() error { return errors.Join(r.srv.Run(ctx), log.Close()) })
	return nil
}

// close stops yudai, then the emulator.
func (r *rig) close() error {
	if r.stop != nil {
		r.stop()
	}
	err := r.hub.Close()
	return errors.Join(err, r.group.Wait())
}

// label opens an issue and puts the label on it.
func (r *rig) label(repo githubsim.Repo, title, body string) (issue int, err error) {
	if issue, err = r.hub.OpenIssue(repo.FullName(), user, title, body); err != nil {
		return 0, err
	}
	return issue, r.hub.Label(repo.FullName(), issue, user, r.cfg.Server.Label)
}

// awaitPulls waits until each repository has a pull request.
func (r *rig) awaitPulls(ctx context.Context, repos ...githubsim.Repo) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	for _, repo := range repos {
		if _, err := r.hub.AwaitPull(ctx, repo.FullName(), func(githubsim.Pull) bool { return true }); err != nil {
			tail, _ := os.ReadFile(filepath.Join(r.dir, "yudai.log"))
			return fmt.Errorf("wait for the pull request of %s: %w; the log ends with: %s", repo.FullName(), err, tail[max(0, len(tail)-2000):])
		}
	}
	return nil
}
