package server_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/setup"
	"github.com/yudai-dev/yudai/web"
)

func TestSetupNeedsItsToken(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	for _, path := range []string{"/setup", "/setup?token=", "/setup?token=AAAAAAAAAAAAAAAAAAAAAAAAAA", "/setup/created?code=a&state=b", "/setup/check", "/setup/nothing"} {
		if p := w.get(path); p.status != http.StatusForbidden || !strings.Contains(p.body, "Look into the terminal") || p.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v\n%s", path, p.status, p.header, p.body)
		}
	}
	for _, path := range []string{"/setup", "/setup/check", "/setup/done"} {
		if p := w.post(path, nil); p.status != http.StatusForbidden {
			t.Errorf("POST %s: %d", path, p.status)
		}
	}
	for path, want := range map[string]int{"/": 404, "/docs": 404, "/solve": 404, "/healthz": 200} {
		if p := w.get(path); p.status != want {
			t.Errorf("%s: %d, want %d", path, p.status, want)
		}
	}
	if p := w.post("/api/github/hook", nil); p.status != http.StatusServiceUnavailable {
		t.Errorf("a webhook before the App: %d", p.status)
	}
	w.enter()
	p := w.get("/setup")
	if p.status != http.StatusOK || !strings.Contains(p.body, `value="https://github.com"`) {
		t.Fatalf("the first page: %d\n%s", p.status, p.body)
	}
	if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "form-action 'self' ;") ||
		!strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") || p.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", p.header)
	}
	if p := w.do(http.MethodPost, "/setup", url.Values{}, "https://evil.example"); p.status != http.StatusForbidden {
		t.Errorf("another site's form: %d", p.status)
	}
	// The link is good for one browser, which may use it again.
	if p := w.get(w.set.URL()); p.status != http.StatusSeeOther {
		t.Errorf("the same browser again: %d", p.status)
	}
	w.http = w.browser()
	if p := w.get(w.set.URL()); p.status != http.StatusForbidden {
		t.Errorf("the link in a second browser: %d", p.status)
	}
}

func TestSetupCookie(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	p := w.get(w.set.URL())
	cookie := p.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/setup"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q lacks %s", cookie, want)
		}
	}
	if token := w.set.URL()[strings.Index(w.set.URL(), "=")+1:]; strings.Contains(cookie, token) || strings.Contains(w.log.String(), token) {
		t.Error("the token is in the cookie or in the log")
	}
}

func TestSetupSaysWhatIsWrongInTheForm(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.enter()
	good := url.Values{"public_url": {"https://bot.example.org"}, "owner": {"acme"}, "name": {"yudai"}, "github": {"https://github.com"}}
	for _, tt := range []struct{ field, value, want string }{
		{"public_url", "", "Write the address"},
		{"public_url", "bot.example.org", "Write the address"},
		{"public_url", "ftp://bot.example.org", "Write the address"},
		{"public_url", "http://bot.example.org", "Write https://"},
		{"public_url", "https://bot.example.org/path", "no path"},
		{"public_url", "https://bot.example.org?x=1", "no path"},
		{"public_url", "https://me@bot.example.org", "no path"},
		{"public_url", "https://localhost", "cannot reach this machine"},
		{"public_url", "https://127.0.0.1:8080", "cannot reach this machine"},
		{"public_url", "https://[::1]", "cannot reach this machine"},
		{"public_url", "https://10.1.2.3", "private address"},
		{"owner", "a/b", "not the name of an organisation"},
		{"owner", "-a", "not the name of an organisation"},
		{"name", "", "1 to 34 characters"},
		{"name", strings.Repeat("ä", 35), "1 to 34 characters"},
		{"github", "", "Write https://github.com"},
		{"github", "http://github.example.org", "Write https://"},
		{"github", "https://github.example.org/api/v3", "Write https://github.com"},
		{"github", "https://a;b'", "Write https://github.com"},
	} {
		form := url.Values{}
		for k, v := range good {
			form[k] = v
		}
		form.Set(tt.field, tt.value)
		p := w.post("/setup", form)
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, tt.want) || strings.Contains(p.body, "manifest") {
			t.Errorf("%s=%q: %d, want %q in\n%s", tt.field, tt.value, p.status, tt.want, p.body)
		}
	}
}

// TestSetupFormsLeadToGitHub: where the form leads to, for each kind of GitHub and owner.
func TestSetupFormsLeadToGitHub(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.enter()
	for _, tt := range []struct{ owner, github, want string }{
		{"", "https://github.com", "https://github.com/settings/apps/new?state="},
		{"acme", "https://github.com/", "https://github.com/organizations/acme/settings/apps/new?state="},
		{"", "https://git.example.org:8443", "https://git.example.org:8443/settings/apps/new?state="},
	} {
		p := w.post("/setup", url.Values{"public_url": {"https://bot.example.org/"}, "owner": {tt.owner}, "name": {`a"><script>'</form>`}, "github": {tt.github}})
		found := actionShape.FindStringSubmatch(p.body)
		if found == nil || !strings.HasPrefix(html.UnescapeString(found[1]), tt.want) {
			t.Fatalf("%d\n%s", p.status, p.body)
		}
		if strings.Contains(p.body, "<script") || strings.Count(p.body, "</form>") != 1 {
			t.Errorf("the name is not escaped:\n%s", p.body)
		}
		var m setup.Manifest
		w.must(json.Unmarshal([]byte(html.UnescapeString(found[2])), &m))
		if m.Name != `a"><script>'</form>` || m.Hook.URL != "https://bot.example.org/api/github/hook" || m.RedirectURL != w.base+"/setup/created" {
			t.Errorf("manifest %+v", m)
		}
		origin := tt.want[:strings.Index(tt.want[8:], "/")+8]
		if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' "+origin+";") {
			t.Errorf("policy %q does not allow %s", csp, origin)
		}
	}
}

func TestSetupRegisters(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.register()
	secrets := w.secrets()
	body := w.awaitCheck("its signature is right")
	for _, want := range []string{"yudai answers to its new key", "permissions and", "on no account yet", "GitHub sends it to " + w.base + "/api/github/hook"} {
		if !strings.Contains(body, want) {
			t.Errorf("the last page lacks %q:\n%s", want, body)
		}
	}
	if p := w.get("/setup"); p.to != "/setup/check" {
		t.Errorf("the first page after the App: %d to %q", p.status, p.to)
	}
	app, err := w.hub.AppBySlug("yudai")
	w.must(err)
	_, err = w.hub.Install(app, "acme", "widget")
	w.must(err)
	w.awaitCheck("Everything fits")
	w.checkSecretsStay(secrets)
	// A bot that cannot start says why, and the set-up stays. That it starts is the
	// browser's test, in test/e2e.
	if p := w.post("/setup/done", nil); p.status != http.StatusServiceUnavailable || !strings.Contains(p.body, "no-such-driver") {
		t.Errorf("done: %d\n%s\n%s", p.status, p.body, w.log)
	}
	w.awaitCheck("Everything fits")
	w.checkSecretsStay(secrets)
	w.reload()
}

// reload is the configuration as the next process reads it.
func (w *setupWorld) reload() {
	w.t.Helper()
	file := filepath.Join(w.dir, "config.yml")
	text := fmt.Sprintf("store: {path: %s}\n", w.cfg.Store.Path)
	w.must(os.WriteFile(file, []byte(text), 0o600))
	cfg, err := server.Load(file, func(string) string { return "" })
	w.must(err)
	if cfg.Bare(func(string) string { return "" }) || cfg.GitHub.App.IntegrationID == 0 || cfg.Server.PublicURL != w.base || cfg.GitHub.V3APIURL != w.hub.URL()+"/api/v3" {
		w.t.Errorf("the next process reads %+v %+v", cfg.GitHub, cfg.Server)
	}
	secrets, problems := cfg.GitHub.Resolve(func(string) string { return "" }, os.ReadFile)
	if len(problems) > 0 {
		w.t.Fatalf("the next process cannot use it: %v", problems)
	}
	app, err := ghapp.New(cfg.GitHub, secrets, ghapp.Options{})
	w.must(err)
	people := app.SignIn(secrets.ClientSecret, web.CallbackURL(cfg.Server.PublicURL))
	if people == nil {
		w.t.Fatalf("nobody can sign in: %+v", cfg.GitHub.App)
	}
	if p := w.get(people.URL("state", "verifier")); p.status != http.StatusOK || !strings.Contains(p.body, "Authorize yudai") {
		w.t.Errorf("GitHub does not ask who signs in: %d\n%s", p.status, p.body)
	}
}

func (w *setupWorld) checkSecretsStay(secrets map[string]string) {
	w.t.Helper()
	for name, secret := range secrets {
		if secret == "" || strings.Contains(w.seen.String(), secret) || strings.Contains(w.log.String(), secret) {
			w.t.Errorf("the secret %s is empty, or was shown or logged", name)
		}
	}
}

func TestSetupRefusesForeignAnswers(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.enter()
	action, manifest := w.describe("yudai", "")
	to := w.create(action, manifest, "yudai")
	u, err := url.Parse(to)
	w.must(err)
	code, state := u.Query().Get("code"), u.Query().Get("state")
	for _, path := range []string{"/setup/created?code=" + code, "/setup/created?code=" + code + "&state=AAAAAAAAAAAAAAAAAAAAAAAAAA"} {
		if p := w.get(path); p.status != http.StatusForbidden || !strings.Contains(p.body, "belongs to no registration") {
			t.Errorf("%s: %d\n%s", path, p.status, p.body)
		}
	}
	// A code that GitHub does not know uses the state up.
	if p := w.get("/setup/created?code=unknown-code&state=" + state); p.status != http.StatusBadGateway || !strings.Contains(p.body, "it was used already") {
		t.Errorf("an unknown code: %d\n%s", p.status, p.body)
	}
	if p := w.get(to); p.status != http.StatusForbidden {
		t.Errorf("the state a second time: %d", p.status)
	}
	if strings.Contains(w.log.String(), "unknown-code") {
		t.Errorf("the log holds a code: %s", w.log)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "data")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

func TestSetupForgetsARegistrationAfterAnHour(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.enter()
	action, manifest := w.describe("yudai", "")
	to := w.create(action, manifest, "yudai")
	w.later.Store(int64(time.Hour))
	if p := w.get(to); p.status != http.StatusForbidden || !strings.Contains(p.body, "more than an hour ago") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	if n := w.hub.Requests(http.MethodPost, "/conversions"); n != 0 {
		t.Errorf("%d codes were redeemed", n)
	}
}

func TestSetupTellsOfALimit(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.hub.Inject(githubsim.Fault{Method: http.MethodPost, Path: "/app-manifests/", Kind: githubsim.FaultSecondary429})
	w.enter()
	action, manifest := w.describe("yudai", "")
	if p := w.get(w.create(action, manifest, "yudai")); p.status != http.StatusBadGateway || !strings.Contains(p.body, "GitHub limits requests until") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}

// TestSetupGoesOnAfterACrash: the process dies after GitHub gave the key out, before
// anything is in its place.
func TestSetupGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{NoWebhookSecret: true})
	refusal := w.hub.Inject(githubsim.Fault{Method: http.MethodPatch, Path: "/app/hook/config", Kind: githubsim.FaultServerError, Count: -1})
	w.enter()
	action, manifest := w.describe("yudai", "acme")
	if p := w.get(w.create(action, manifest, "yudai")); p.status != http.StatusBadGateway || !strings.Contains(p.body, "Almost there") {
		t.Fatalf("%d\n%s", p.status, p.body)
	}
	raw := filepath.Join(w.dir, "data", "secrets", "new-app.json")
	if info, err := os.Stat(raw); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("GitHub's answer: %v %v", info, err)
	}
	w.cfg.Server.Address = w.set.Addr()
	w.close()
	// What the process had written when it died is the answer alone.
	for _, name := range []string{"github-app.pem", "webhook-secret", "client-secret"} {
		w.must(os.Remove(filepath.Join(w.dir, "data", "secrets", name)))
	}
	refusal.Remove()
	w.open()
	w.enter()
	if p := w.get("/setup"); p.to != "/setup/check" {
		t.Errorf("the first page of the second process: %d to %q", p.status, p.to)
	}
	w.awaitCheck("its signature is right") // with the secret that the set-up made and told GitHub
	w.checkSecretsStay(w.secrets())
	if _, err := os.Stat(raw); !os.IsNotExist(err) {
		t.Errorf("GitHub's answer is still there: %v", err)
	}
	w.reload()
}

func TestSetupKeepsAnAnswerItCannotRead(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.close()
	dir := filepath.Join(w.dir, "data", "secrets")
	w.must(os.MkdirAll(dir, 0o700))
	w.must(os.WriteFile(filepath.Join(dir, "new-app.json"), []byte(`{"answer": {"id": 7, "pem": "hunter2"}}`), 0o600))
	w.open()
	w.enter()
	if p := w.get("/setup"); p.status != http.StatusOK {
		t.Errorf("the first page: %d to %q", p.status, p.to)
	}
	if _, err := os.Stat(filepath.Join(dir, "new-app.unreadable.json")); err != nil {
		t.Error(err)
	}
	if strings.Contains(w.log.String(), "hunter2") {
		t.Error("the log quotes the answer")
	}
}

// TestSetupNamesWhatIsMissing: an App that was changed on GitHub's page.
func TestSetupNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newSetupWorld(t, githubsim.Options{})
	w.enter()
	action, manifest := w.describe("yudai", "acme")
	less := strings.Replace(strings.Replace(manifest, `"checks":"write"`, `"checks":"read"`, 1), `"issues"`, `"watch"`, 1)
	w.get(w.create(action, less, "yudai"))
	app, err := w.hub.AppBySlug("yudai")
	w.must(err)
	w.must(w.hub.SetWebhookURL(app, "http://127.0.0.1:1/elsewhere"))
	body := w.awaitCheck("could not deliver its test: 502 failed to connect to host")
	for _, want := range []string{"does not ask for checks: write", "does not get the events issues", "GitHub sends it to http://127.0.0.1:1/elsewhere, not to", "let the public URL lead to this server"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	w.must(w.hub.SetWebhookURL(app, w.base+"/api/github/hook"))
	if p := w.post("/setup/check", nil); p.to != "/setup/check" {
		t.Errorf("again: %d", p.status)
	}
	w.awaitCheck("its signature is right")
}

func TestSetupIsNotForAConfiguredServer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*server.Config, map[string]string){
		"id":          func(c *server.Config, _ map[string]string) { c.GitHub.App.IntegrationID = 1 },
		"key file":    func(c *server.Config, _ map[string]string) { c.GitHub.App.PrivateKeyFile = "x" },
		"secret file": func(c *server.Config, _ map[string]string) { c.GitHub.App.WebhookSecretFile = "x" },
		"env id":      func(_ *server.Config, e map[string]string) { e["GITHUB_APP_INTEGRATION_ID"] = "1" },
		"env key":     func(_ *server.Config, e map[string]string) { e["GITHUB_APP_PRIVATE_KEY"] = "x" },
		"env secret":  func(_ *server.Config, e map[string]string) { e["GITHUB_APP_WEBHOOK_SECRET"] = "x" },
	} {
		cfg, env := server.Default(), map[string]string{}
		change(&cfg, env)
		getenv := func(k string) string { return env[k] }
		if _, err := server.NewSetup(t.Context(), cfg, server.Where{}, server.Options{Getenv: getenv, Log: zerolog.Nop()}); err == nil || cfg.Bare(getenv) {
			t.Errorf("%s: a set-up of a server that has an App", name)
		}
	}
}
