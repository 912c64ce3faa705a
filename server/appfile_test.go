package server_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/setup"
)

// TestAppFile: what config.yml says goes before what the set-up wrote.
func TestAppFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := func(string) string { return "" }
	load := func(text string, getenv func(string) string) (server.Config, error) {
		file := filepath.Join(dir, "config.yml")
		if err := os.WriteFile(file, []byte("store: {path: "+filepath.Join(dir, "yudai.db")+"}\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return server.Load(file, getenv)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "app.yml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("server: {address: '127.0.0.1:99', public_url: 'https://a.example'}\ngithub: {web_url: 'https://g.example', v3_api_url: 'https://g.example/api/v3', " +
		"v4_api_url: 'https://g.example/api/graphql', app: {integration_id: 7, private_key_file: secrets/k.pem, webhook_secret_file: /abs/w, client_id: Iv1.a, client_secret_file: secrets/c}}\n")
	cfg, err := load("", none)
	if err != nil || cfg.GitHub.App.IntegrationID != 7 || cfg.GitHub.App.PrivateKeyFile != filepath.Join(dir, "secrets", "k.pem") ||
		cfg.GitHub.App.WebhookSecretFile != "/abs/w" || cfg.Server.PublicURL != "https://a.example" || cfg.GitHub.WebURL != "https://g.example" || cfg.Server.Address != "127.0.0.1:99" {
		t.Errorf("%v %+v %+v", err, cfg.GitHub, cfg.Server)
	}
	if cfg.GitHub.App.ClientID != "Iv1.a" || cfg.GitHub.App.ClientSecretFile != filepath.Join(dir, "secrets", "c") {
		t.Errorf("%+v", cfg.GitHub.App)
	}
	cfg, err = load("server: {address: '127.0.0.1:5', public_url: 'https://b.example'}\ngithub: {v3_api_url: 'https://h.example'}\n", none)
	if err != nil || cfg.GitHub.App.IntegrationID != 7 || cfg.Server.PublicURL != "https://b.example" || cfg.GitHub.WebURL != "https://github.com" || cfg.Server.Address != "127.0.0.1:5" {
		t.Errorf("%v %+v %+v", err, cfg.GitHub, cfg.Server)
	}
	cfg, err = load("github: {app: {integration_id: 8}}\n", none)
	if err != nil || cfg.GitHub.App.IntegrationID != 8 || cfg.GitHub.App.PrivateKeyFile != "" || cfg.Server.PublicURL != "" {
		t.Errorf("%v %+v %+v", err, cfg.GitHub, cfg.Server)
	}
	cfg, err = load("", func(k string) string { return map[string]string{"GITHUB_APP_INTEGRATION_ID": "9"}[k] })
	if err != nil || cfg.GitHub.App.PrivateKeyFile != "" {
		t.Errorf("%v %+v", err, cfg.GitHub)
	}
	write("github: {app: {integration_id: -7, tipo: 1}}\n")
	if _, err = load("", none); err == nil || !strings.Contains(err.Error(), "app.yml:1:") || !strings.Contains(err.Error(), "tipo") {
		t.Errorf("a broken file: %v", err)
	}
}

func TestManifestEqualsTheFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../app-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(setup.NewManifest("https://yudai.example.org"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != string(want)+"\n" {
		t.Errorf("app-manifest.json differs from NewManifest:\n%s", want)
	}
}

// TestSetupDirectoryIsClosed: nobody else may list the secrets.
func TestSetupDirectoryIsClosed(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.register()
	w.must(filepath.WalkDir(filepath.Join(w.dir, "data"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
}

// TestDoctorReadsTheStanding: the doctor says what GitHub has of the App, and what to do.
func TestDoctorReadsTheStanding(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.register()
	app, err := w.hub.AppBySlug("yudai")
	w.must(err)
	in, err := w.hub.Install(app, "acme", "widget")
	w.must(err)
	w.awaitCheck("Everything fits")
	file := filepath.Join(w.dir, "config.yml")
	w.must(os.WriteFile(file, []byte(fmt.Sprintf("store: {path: %s}\nsandbox: {driver: docker, docker: {host: \"unix:///nowhere\"}}\n", w.cfg.Store.Path)), 0o600))
	diagnose := func() string {
		out := ""
		for f := range server.NewDoctor(file, noEnv).Check(t.Context()) {
			out += fmt.Sprintf("%d %s: %s > %s\n", f.Level, f.What, f.Text, f.Fix)
		}
		return out
	}
	said := diagnose()
	for _, want := range []string{"0 github: App yudai answers", "0 rights: all 5 permissions", "0 installed: on acme", "0 webhook: GitHub sends it to " + w.base, "deliveries: "} {
		if !strings.Contains(said, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, said)
		}
	}
	bundles := filepath.Join(filepath.Dir(w.cfg.Store.Path), "bundles")
	if !strings.Contains(said, "0 bundles: the key that signs them is made at the first start, in "+bundles) {
		t.Errorf("the doctor does not tell of the signing key to come:\n%s", said)
	}
	_, err = bundle.New(t.Context(), bundles, nil, "test")
	w.must(err)
	key, err := bundle.ReadKey(bundles)
	w.must(err)
	w.must(os.Chmod(filepath.Join(bundles, bundle.KeyFile), 0o644))
	w.must(w.hub.Grant(in, map[string]string{"issues": "write"}))
	w.must(w.hub.SetWebhookURL(app, "http://127.0.0.1:1/x"))
	w.must(w.hub.Ping(app))
	w.must(w.hub.AwaitIdle(t.Context()))
	said = diagnose()
	for _, want := range []string{
		"2 installed: acme has not granted checks: write, contents: write, pull_requests: write > an owner of acme accepts",
		"2 webhook: GitHub sends it to http://127.0.0.1:1/x, not to " + w.base + "/api/github/hook > set the Webhook URL",
		"2 deliveries: GitHub could not deliver the newest webhook (ping at ", "502 failed to connect to host", "DNS, firewall, proxy, certificate",
		"0 bundles: signed by the key whose public half is " + bundle.PublicKeyFile(bundles, key),
		"1 secrets: every user of this machine can read " + filepath.Join(bundles, bundle.KeyFile),
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, said)
		}
	}
}
