package cmd

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
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

// rig is yudai and the emulator on this machine: the very program that serves
// GitHub, with GitHub played by package githubsim on a loopback port.
type rig struct {
	dir     string         // with everything of it
	bundles string         // directory of the signing key and the statements
	keep    bool           // whether its record and log are worth keeping
	who     *server.Person // the committer of champions; nil is the emulator's App
	log     *os.File
	hub     *githubsim.Hub
	app     githubsim.App
	url     string // of the emulator
	srv     *server.Server
	group   errgroup.Group
	stop    context.CancelFunc
}

// rigUser is the person in the emulator, and the owner of its repository.
const rigUser = "you"

// runRig does a job with a rig in a directory of its own, and leaves no process and no
// sandbox. After a signal the error says what is left.
func runRig(ctx context.Context, kind string, cfg server.Config, job func(*rig) error, left func(*rig) string) error {
	space, err := openWorkspace(ctx, kind, cfg)
	if err != nil {
		return err
	}
	r := &rig{dir: space.path, bundles: filepath.Join(space.path, "bundles"), stop: func() {}}
	if kind == kindSolve { // one key and one chain for all of them
		r.bundles = filepath.Join(filepath.Dir(space.path), "bundles")
	}
	err = r.open(ctx)
	if err == nil {
		err = job(r)
	}
	err = errors.Join(err, r.close())
	if closed := space.close(ctx, r.keep); closed != nil {
		return errors.Join(err, closed)
	}
	if ctx.Err() != nil && err != nil {
		return exitError{exitStopped, errors.New("stopped: " + left(r))}
	}
	return err
}

// open starts the emulator. The repository is made next, then start brings yudai up.
func (r *rig) open(ctx context.Context) (err error) {
	if r.log, err = os.OpenFile(filepath.Join(r.dir, "yudai.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.url = "http://" + l.Addr().String()
	r.hub = githubsim.New(githubsim.Options{Dir: filepath.Join(r.dir, "github")})
	r.group.Go(func() error { return r.hub.Serve(l) })
	r.hub.CreateUser(rigUser)
	r.app, err = r.hub.CreateApp("yudai")
	return err
}

// start installs the App on the repository and runs yudai against the emulator.
func (r *rig) start(ctx context.Context, cfg server.Config, repo string) error {
	if err := r.hub.SetPermission(rigUser+"/"+repo, rigUser, "write"); err != nil {
		return err
	}
	if _, err := r.hub.Install(r.app, rigUser, repo); err != nil {
		return err
	}
	secrets := map[string]string{
		"GITHUB_APP_INTEGRATION_ID": strconv.FormatInt(r.app.ID, 10),
		"GITHUB_APP_WEBHOOK_SECRET": r.app.WebhookSecret,
		"GITHUB_APP_PRIVATE_KEY":    string(r.app.PrivateKeyPEM),
	}
	getenv := func(key string) string {
		if v, ok := secrets[key]; ok {
			return v
		}
		return os.Getenv(key)
	}
	log := zerolog.New(r.log).With().Timestamp().Logger()
	srv, err := server.New(ctx, r.configure(cfg), server.Options{Getenv: getenv, Log: log, Bundles: r.bundles, Committer: r.who})
	if err != nil {
		return err
	}
	r.srv = srv
	if err := r.hub.SetWebhookURL(r.app, "http://"+srv.Addr()+"/api/github/hook"); err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(ctx)
	r.group.Go(func() error { return srv.Run(ctx) })
	return nil
}

// configure has yudai keep everything in the rig's directory and talk to the emulator.
func (r *rig) configure(cfg server.Config) server.Config {
	cfg.Server.Address, cfg.Server.PublicURL, cfg.Server.MetricsAddress = "127.0.0.1:0", "", "" // a server's own may be taken
	cfg.GitHub.WebURL, cfg.GitHub.V3APIURL, cfg.GitHub.V4APIURL = r.url, r.url, r.url+"/graphql"
	// The emulator has no secondary limits, and people watch: no need to go slowly.
	w := &cfg.GitHub.Write
	w.Interval, w.PerHour, w.ProgressEvery = 0, 1_000_000, 300*time.Millisecond
	w.Timeout, w.Lease, w.ListLag = 5*time.Second, 15*time.Second, 15*time.Second
	cfg.Store.Engine = server.Default().Store.Engine // an operator's database holds other solves
	cfg.Store.Path = filepath.Join(r.dir, "store", "yudai.db")
	cfg.Gateway.Dir = filepath.Join(r.dir, "gateway")
	return sandboxesIn(r.dir, cfg)
}

// sandboxesIn has the local driver keep everything below a directory.
func sandboxesIn(dir string, cfg server.Config) server.Config {
	cfg.Sandbox.Driver, cfg.Sandbox.Choices, cfg.Sandbox.Fallback = "local", nil, ""
	cfg.Sandbox.Local.Dir, cfg.Sandbox.Records = filepath.Join(dir, "sandboxes"), filepath.Join(dir, "sandbox-records")
	// This machine's own user started it on this machine's own code: limits
	// that need cgroups are wanted, but not insisted on.
	cfg.Sandbox.Local.AllowUnlimited = true
	return cfg
}

// follow shows the newest solve of the issue until it is final and every text is written.
func (r *rig) follow(ctx context.Context, repoID int64, issue int, p *progress) (report.View, error) {
	hints := r.srv.Watch(ctx)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		v, err := r.srv.Latest(ctx, repoID, issue)
		if err != nil && !errors.Is(err, solve.ErrNotFound) {
			return v, err
		}
		if err == nil {
			p.tellPage(func() string { return r.srv.PageURL("/solves/" + string(v.Solve.ID)) })
			p.show(v, time.Now())
			if v.Solve.State.Final() {
				done, err := r.srv.Settled(ctx, v.Solve.ID)
				if done || err != nil {
					return v, err
				}
			}
		}
		select {
		case <-ctx.Done():
			return v, fmt.Errorf("stopped: %w", context.Cause(ctx))
		case <-ticker.C:
		case <-hints:
		}
	}
}

// close stops yudai, then the emulator.
func (r *rig) close() (err error) {
	if r.log == nil {
		return nil // nothing was opened
	}
	r.stop()
	if r.hub != nil {
		err = r.hub.Close()
	}
	return errors.Join(err, r.group.Wait(), r.log.Close())
}
