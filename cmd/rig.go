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
	dir   string
	hub   *githubsim.Hub
	app   githubsim.App
	url   string // of the emulator
	srv   *server.Server
	group *errgroup.Group
	stop  context.CancelFunc
}

// Names in the emulator.
const (
	rigOwner = "you"
	rigUser  = "you"
)

// newRig starts the emulator with its state below dir. The repository is made
// next, then start brings yudai up.
func newRig(ctx context.Context, dir string) (*rig, error) {
	r := &rig{dir: dir}
	r.hub = githubsim.New(githubsim.Options{Dir: filepath.Join(dir, "github")})
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.url = "http://" + l.Addr().String()
	r.group = &errgroup.Group{}
	r.group.Go(func() error { return r.hub.Serve(l) })
	r.hub.CreateUser(rigUser)
	r.app, err = r.hub.CreateApp("yudai")
	return r, err
}

// start installs the App on the repository and runs yudai against the emulator.
func (r *rig) start(ctx context.Context, cfg server.Config, repo string, getenv func(string) string, log zerolog.Logger) error {
	if err := r.hub.SetPermission(rigOwner+"/"+repo, rigUser, "write"); err != nil {
		return err
	}
	if _, err := r.hub.Install(r.app, rigOwner, repo); err != nil {
		return err
	}
	cfg.Server.Address = "127.0.0.1:0"
	cfg.GitHub.WebURL, cfg.GitHub.V3APIURL, cfg.GitHub.V4APIURL = r.url, r.url, r.url+"/graphql"
	// The emulator has no secondary limits, and people watch: no need to go slowly.
	cfg.GitHub.Write.Interval, cfg.GitHub.Write.PerHour, cfg.GitHub.Write.ProgressEvery = 0, 1_000_000, 300*time.Millisecond
	cfg.GitHub.Write.Timeout, cfg.GitHub.Write.Lease, cfg.GitHub.Write.ListLag = 5*time.Second, 15*time.Second, 15*time.Second
	cfg.Store.Path = filepath.Join(r.dir, "store", "yudai.db")
	cfg.Sandbox.Driver, cfg.Sandbox.Choices, cfg.Sandbox.Fallback = "local", nil, ""
	cfg.Sandbox.Local.Dir, cfg.Sandbox.Records = filepath.Join(r.dir, "sandboxes"), filepath.Join(r.dir, "sandbox-records")
	cfg.Gateway.Dir = filepath.Join(r.dir, "gateway")
	// This machine's own user started it on this machine's own code: limits
	// that need cgroups are wanted, but not insisted on.
	cfg.Sandbox.Local.AllowUnlimited = true
	secrets := map[string]string{
		"GITHUB_APP_INTEGRATION_ID": strconv.FormatInt(r.app.ID, 10),
		"GITHUB_APP_WEBHOOK_SECRET": r.app.WebhookSecret,
		"GITHUB_APP_PRIVATE_KEY":    string(r.app.PrivateKeyPEM),
	}
	env := func(key string) string {
		if v, ok := secrets[key]; ok {
			return v
		}
		return getenv(key)
	}
	srv, err := server.New(ctx, cfg, server.Options{Getenv: env, Log: log})
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
func (r *rig) close() error {
	if r.stop != nil {
		r.stop()
	}
	err := r.hub.Close()
	return errors.Join(err, r.group.Wait())
}

// quiet is the log of a rig: a file beside its state.
func quiet(dir string) (zerolog.Logger, *os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "yudai.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return zerolog.Nop(), nil, err
	}
	return zerolog.New(f).With().Timestamp().Logger(), f, nil
}
