package e2e_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/server"
)

// TestStartSaysWhatIsWrong starts the program with secrets and addresses of others:
// each error names what to mend, holds no secret, and nothing listens.
func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newWorld(t, a)
	other, err := w.hub.CreateApp("other")
	w.must(err)
	stranger := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	for name, tt := range map[string]struct {
		change func(env map[string]string, cfg *server.Config)
		want   []string
	}{
		"key of another App": {func(env map[string]string, _ *server.Config) {
			env["GITHUB_APP_PRIVATE_KEY"] = string(other.PrivateKeyPEM)
		},
			[]string{"the private key is not one of the App with id " + strconv.FormatInt(w.app.ID, 10), "clock"}},
		"id of another App": {func(env map[string]string, _ *server.Config) {
			env["GITHUB_APP_INTEGRATION_ID"] = strconv.FormatInt(other.ID, 10)
		},
			[]string{"the private key is not one of the App with id " + strconv.FormatInt(other.ID, 10)}},
		"no such App": {func(env map[string]string, _ *server.Config) { env["GITHUB_APP_INTEGRATION_ID"] = "999999" },
			[]string{"there is no App with id 999999 at " + w.hub.APIURL(), "github.v3_api_url"}},
		"not GitHub": {func(_ map[string]string, cfg *server.Config) { cfg.GitHub.V3APIURL = stranger.URL },
			[]string{"there is no App", stranger.URL, "github.v3_api_url"}},
		"a taken address": {func(_ map[string]string, cfg *server.Config) { cfg.Server.Address = stranger.Listener.Addr().String() },
			[]string{"server.address", "already in use"}},
		"a directory for a store": {func(_ map[string]string, cfg *server.Config) { cfg.Store.Path = t.TempDir() },
			[]string{"store.path", "is a directory"}},
		"a store below a file": {func(_ map[string]string, cfg *server.Config) {
			cfg.Store.Path = filepath.Join(w.dir, "script.yml", "x.db")
		},
			[]string{"store.path", "not a directory"}},
		"a short API token": {func(env map[string]string, _ *server.Config) { env["YUDAI_API_TOKEN"] = "secret7" },
			[]string{"YUDAI_API_TOKEN has 7 characters; it must have 16 or more"}},
		"nothing at all": {func(env map[string]string, _ *server.Config) { clear(env) },
			[]string{"GITHUB_APP_INTEGRATION_ID", "GITHUB_APP_WEBHOOK_SECRET", "GITHUB_APP_PRIVATE_KEY"}},
	} {
		env, cfg := maps.Clone(w.env), w.cfg
		tt.change(env, &cfg)
		srv, err := server.New(t.Context(), cfg, server.Options{Getenv: func(k string) string { return env[k] }, Log: zerolog.Nop()})
		if err == nil {
			t.Fatalf("%s: it started, listening on %s", name, srv.Addr())
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", name, err, want)
			}
		}
		for key, secret := range env {
			if key != "GITHUB_APP_INTEGRATION_ID" && strings.Contains(err.Error(), strings.TrimSpace(secret)) {
				t.Errorf("%s: the message holds %s: %v", name, key, err)
			}
		}
	}
}

// TestStartNamesModelsWithoutKey: the program runs, since other models may do, and says at
// its start what the first solve would run into.
func TestStartNamesModelsWithoutKey(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newWorld(t, a)
	w.addKeyless([]string{"gpt-x"})
	w.cfg.Solver.Defaults.Models = append([]string{"gpt-x"}, w.cfg.Solver.Defaults.Models...)
	log := &logBuffer{}
	srv, err := server.New(t.Context(), w.cfg, server.Options{Getenv: func(k string) string { return w.env[k] }, Log: zerolog.New(log), Transport: w.github})
	w.must(err)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	w.must(srv.Run(stopped))
	if !strings.Contains(log.String(), "model gpt-x: OPENAI_API_KEY is not set") {
		t.Errorf("log: %s", log.String())
	}
}
