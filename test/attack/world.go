package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/test/postgres"
	"github.com/yudai-dev/yudai/test/program"
)

const (
	owner   = "octo"
	project = owner + "/project" // where attacks happen
	other   = owner + "/other"   // private, with a canary in it
	writer  = "alice"            // may write to both
	reader  = "rita"             // may read
	nobody  = "mallory"          // has an account
	bot     = "yudai[bot]"
)

// world is everything around one running program: GitHub, models, directories, secrets.
type world struct {
	family
	dir      string
	binary   string // of the program
	hub      *githubsim.Hub
	app      githubsim.App
	provider *provider
	models   *http.Server
	canaries canaries
	proc     *program.Process
	watch    *commandLines
	hosts    *hosts // the attacker's, where a family has any
	place    *place // of the sandboxes, nil for this machine
	database *postgres.Server
	issues   atomic.Int64
	calm     float64 // seconds until somebody is heard on this machine before any attack
}

// open makes the world of a family and starts the program in it.
func open(ctx context.Context, f family, dir, binary string) (_ *world, err error) {
	w := &world{family: f, dir: dir, canaries: newCanaries(), provider: &provider{
		plays: map[string]play{}, seen: map[string][]string{}, asked: map[string]int{}, calls: map[string]int{}, leaked: map[string]bool{},
	}}
	w.provider.key, w.provider.search, w.binary = w.canaries["model key"], w.canaries.in, binary
	for _, sub := range []string{"github", "store", "scripts"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("make directory: %w", err)
		}
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err := w.serve(ctx); err != nil {
		return nil, err
	}
	if f.Driver != "" {
		if w.place, err = openPlace(ctx, f.Driver, dir, w.canaries); err != nil {
			return nil, err
		}
	}
	if f.Postgres && postgres.Missing() == nil {
		if w.database, err = postgres.Start(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.populate(ctx); err != nil {
		return nil, err
	}
	if err := w.configure(); err != nil {
		return nil, err
	}
	return w, w.start(ctx, binary)
}

// serve starts GitHub and the models' server.
func (w *world) serve(ctx context.Context) error {
	w.hub = githubsim.New(githubsim.Options{Dir: filepath.Join(w.dir, "github"), Tokens: githubsim.TokenAlternate})
	w.models = &http.Server{Handler: w.provider, ReadHeaderTimeout: 10 * time.Second}
	for _, serve := range []func(net.Listener) error{
		func(l net.Listener) error {
			w.hub.SetBaseURL("http://" + l.Addr().String())
			return w.hub.Serve(l)
		},
		func(l net.Listener) error { w.models.Addr = l.Addr().String(); return w.models.Serve(l) },
	} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		go func() { _ = serve(l) }() // it ends when the world is closed
	}
	return await(ctx, 10*time.Second, "the servers of the world", func() bool {
		return strings.HasPrefix(w.hub.URL(), "http://127.") && w.models.Addr != ""
	})
}

// populate makes the App, people and two repositories.
func (w *world) populate(ctx context.Context) (err error) {
	if w.app, err = w.hub.RegisterApp(githubsim.AppSpec{Name: "yudai", Secret: w.canaries["webhook secret"]}); err != nil {
		return err
	}
	w.canaries.addKey("App key", w.app.PrivateKeyPEM)
	for _, name := range []string{writer, reader, nobody, "olga"} {
		w.hub.CreateUser(name)
	}
	if err := w.repository(ctx, "project", w.Repository+w.planted()); err != nil {
		return err
	}
	plant := "echo " + w.canaries["other repository"] + " > secret.txt"
	if err := w.repository(ctx, "other", plant); err != nil {
		return err
	}
	if err := w.hub.SetPrivate(other, true); err != nil {
		return err
	}
	if err := w.hub.SetPermission(other, "olga", "write"); err != nil {
		return err
	}
	repos := []string{"project", "other"}
	for _, a := range w.Attacks {
		if a.As != asModel {
			continue
		}
		if err := w.repository(ctx, a.Name, ""); err != nil {
			return err
		}
		repos = append(repos, a.Name)
	}
	_, err = w.hub.Install(w.app, owner, repos...)
	return err
}

// repository makes one of the sample, as a script changes it.
func (w *world) repository(ctx context.Context, name, script string) error {
	sample, err := txtar.ParseFile(filepath.Join("test", "kill", "sample", "repo.txtar"))
	if err != nil {
		return fmt.Errorf("read the sample repository: %w", err)
	}
	dir := filepath.Join(w.dir, "work-"+name)
	for _, f := range sample.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o600)); err != nil {
			return fmt.Errorf("write the sample repository: %w", err)
		}
	}
	script = "set -e; git init -q -b main .\n" + script +
		"\ngit add -A -f; git -c user.name=a -c user.email=a@example.com commit -q -m base"
	if out, err := shell(ctx, dir, script, nil); err != nil {
		return fmt.Errorf("make the repository: %w: %s", err, out)
	}
	if _, err := w.hub.ImportRepo(owner, name, dir); err != nil {
		return err
	}
	if err := w.hub.SetPermission(owner+"/"+name, writer, "write"); err != nil {
		return err
	}
	return w.hub.SetPermission(owner+"/"+name, reader, "read")
}

// start runs the program until it listens.
func (w *world) start(ctx context.Context, binary string) (err error) {
	if w.Names && os.Geteuid() == 0 {
		if w.hosts, err = openHosts(ctx); err != nil {
			return err
		}
		if binary, err = w.named(binary); err != nil {
			return err
		}
	}
	if w.proc, err = program.Start(binary, w.path("config.yml"), w.environment(), false); err != nil {
		return err
	}
	err = await(ctx, 60*time.Second, "the program", func() bool { return w.proc.Address() != "" || !w.proc.Running() })
	if err != nil || !w.proc.Running() {
		return errors.Join(err, fmt.Errorf("the program does not run: %s", w.proc.Last()))
	}
	w.watch = watchCommandLines()
	return w.hub.SetWebhookURL(w.app, w.proc.Address()+"/api/github/hook")
}

// environment is what the program finds its secrets in.
func (w *world) environment() []string {
	env := append(w.canaries.environment(), fmt.Sprintf("GITHUB_APP_INTEGRATION_ID=%d", w.app.ID),
		"GITHUB_APP_PRIVATE_KEY="+string(w.app.PrivateKeyPEM))
	if w.database != nil {
		env = append(env, "YUDAI_STORE_DSN="+w.database.DSN("public"))
	}
	return env
}

func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

// close ends the program and the servers. What the program left stays.
func (w *world) close() {
	if w.proc != nil {
		w.proc.Kill()
	}
	if w.watch != nil {
		w.watch.stop()
	}
	if w.hosts != nil {
		w.hosts.close()
	}
	if w.place != nil {
		_ = w.place.stop() // nobody needs it any more
	}
	if w.database != nil {
		_ = w.database.Stop(context.Background()) // nobody needs it any more
	}
	_ = w.hub.Close() // nobody needs them any more
	_ = w.models.Close()
}

// shell runs a script on this machine and returns all that it printed.
func shell(ctx context.Context, dir, script string, env []string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// await looks again and again until ok.
func await(ctx context.Context, limit time.Duration, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s in vain for %s", limit, what)
		case <-tick.C:
		}
	}
	return nil
}
