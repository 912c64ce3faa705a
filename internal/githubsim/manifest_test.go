package githubsim_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

const goodManifest = `{"name": "Fixer \"one\"", "url": "https://example.org", "hook_attributes": {"url": "HOOK", "active": true},
	"redirect_url": "https://bot.example.org/setup/created?x=1", "default_events": ["issues", "issue_comment"],
	"default_permissions": {"issues": "write", "checks": "write"}}`

// browse posts a form as a page of this site, or with another site's origin, and
// returns status, body and where it is redirected to.
func (w *world) browse(path string, form url.Values, origin string) (status int, body, to string) {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodPost, w.hub.URL()+path, strings.NewReader(form.Encode()))
	check(w.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	check(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	check(w.t, err)
	return resp.StatusCode, string(text), resp.Header.Get("Location")
}

func (w *world) manifest() string { return strings.Replace(goodManifest, "HOOK", w.hookURL(), 1) }

// hookURL is where the world's first App gets its webhooks.
func (w *world) hookURL() string {
	w.t.Helper()
	config, _, err := w.jwt.Apps.GetHookConfig(w.t.Context())
	check(w.t, err)
	return config.GetURL()
}

// register walks from the manifest to the code.
func (w *world) register(path, manifest, owner string) (code string) {
	w.t.Helper()
	status, body, _ := w.browse(path+"?state=s%261", url.Values{"manifest": {manifest}}, "https://bot.example.org")
	if status != http.StatusOK || !strings.Contains(body, html.EscapeString(`Fixer "one"`)) {
		w.t.Fatalf("the page that shows the name: %d\n%s", status, body)
	}
	status, body, to := w.browse(path+"?state=s%261", url.Values{"manifest": {manifest}, "name": {"Fixer Two"}, "owner": {owner}, "do": {"create"}}, w.hub.URL())
	if status != http.StatusFound || !strings.HasPrefix(to, "https://bot.example.org/setup/created?") {
		w.t.Fatalf("registration: %d to %q\n%s", status, to, body)
	}
	u, err := url.Parse(to)
	check(w.t, err)
	if u.Query().Get("state") != "s&1" || u.Query().Get("x") != "1" {
		w.t.Errorf("the redirect lost something: %s", to)
	}
	return u.Query().Get("code")
}

func (w *world) anonymous() *github.Client {
	return w.point(github.NewClient(&http.Client{Transport: w.base}))
}

func TestManifestBecomesAnApp(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	code := w.register("/settings/apps/new", w.manifest(), maya)
	made, resp, err := w.anonymous().Apps.CompleteAppManifest(t.Context(), code)
	check(t, err)
	if resp.StatusCode != http.StatusCreated || made.GetName() != "Fixer Two" || made.GetSlug() != "fixer-two" || made.GetOwner().GetLogin() != maya ||
		made.GetWebhookSecret() == "" || made.GetClientSecret() == "" || !strings.HasPrefix(made.GetPEM(), "-----BEGIN RSA PRIVATE KEY") {
		t.Errorf("converted to %v", made)
	}
	_, _, err = w.anonymous().Apps.CompleteAppManifest(t.Context(), code)
	refused(t, err, http.StatusNotFound)

	mine := w.appClient(githubsim.App{ID: made.GetID(), PrivateKeyPEM: []byte(made.GetPEM())})
	me, _, err := mine.Apps.Get(t.Context(), "")
	check(t, err)
	if me.GetPermissions().GetIssues() != "write" || me.GetPermissions().GetContents() != "" || len(me.Events) != 2 {
		t.Errorf("registered as %v", me)
	}
	w.awaitEvent("ping")
	if status, body, to := w.browse("/apps/fixer-two/installations/new", url.Values{"repo": {full}}, w.hub.URL()); status != http.StatusSeeOther {
		t.Fatalf("install: %d %q\n%s", status, to, body)
	}
	wants(t, w.page("/apps/fixer-two/installations/new"), "Install Fixer Two", full)
	all, _, err := mine.Apps.ListInstallations(t.Context(), nil)
	check(t, err)
	if len(all) != 1 || all[0].GetRepositorySelection() != "selected" {
		t.Errorf("installations %v", all)
	}
	wants(t, w.page(strings.TrimPrefix(all[0].GetHTMLURL(), w.hub.URL())), "is installed", full)
}

// awaitEvent waits until the far end got an event.
func (w *world) awaitEvent(want string) {
	w.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for end := time.After(patience); ; {
		for _, d := range w.hooks.all() {
			if d.header.Get("X-GitHub-Event") == want {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-end:
			w.t.Fatalf("no %s came", want)
		}
	}
}

func TestManifestOfAnOrganisationAndItsCodeEnds(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	manifest := w.manifest()
	code := w.register("/organizations/acme/settings/apps/new", manifest, "")
	w.hub.Advance(time.Hour)
	_, _, err := w.anonymous().Apps.CompleteAppManifest(t.Context(), code)
	refused(t, err, http.StatusNotFound)
	status, body, _ := w.browse("/settings/apps/new", url.Values{"manifest": {manifest}, "name": {"fixer two"}, "owner": {maya}, "do": {"create"}}, w.hub.URL())
	if status != http.StatusOK || !strings.Contains(body, "the name is taken") {
		t.Errorf("a taken name: %d\n%s", status, body)
	}
	if status, _, to := w.browse("/settings/apps/new", url.Values{"manifest": {manifest}, "name": {"Other"}, "owner": {maya}, "do": {"create"}}, "https://evil.example"); to != "" || status == http.StatusFound {
		t.Errorf("another site created an App: %d %s", status, to)
	}
}

func TestManifestIsRefusedAsGitHubDoes(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	remote := githubsim.New(githubsim.Options{Dir: t.TempDir(), BaseURL: "https://github.test"})
	t.Cleanup(func() { check(t, remote.Close()) })
	for name, tt := range map[string]struct{ old, new, want string }{
		"no hook url":        {`"url": "HOOK", `, ``, "Error url wasn&#39;t supplied"},
		"installation event": {`"issues", `, `"issues", "installation", `, "Default events unsupported: installation"},
		"no permission":      {`"issues": "write", `, ``, "Default events are not supported by permissions: issues"},
		"no JSON":            {`{"name"`, `{name`, "not valid JSON"},
		"no url":             {`https://example.org`, `example`, "Error url is not a valid URL"},
		"localhost":          {`HOOK`, `http://localhost:8080/hook`, "reachable over the public Internet (localhost)"},
		"loopback":           {`HOOK`, `https://127.0.0.1/hook`, "reachable over the public Internet (127.0.0.1)"},
	} {
		text := strings.Replace(strings.Replace(goodManifest, tt.old, tt.new, 1), "HOOK", "https://bot.example.org/hook", 1)
		req, err := http.NewRequest(http.MethodPost, "https://github.test/settings/apps/new", strings.NewReader(url.Values{"manifest": {text}}.Encode()))
		check(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := remote.Transport().RoundTrip(req)
		check(t, err)
		body, err := io.ReadAll(resp.Body)
		check(t, err)
		if resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	if status, _, _ := w.browse("/settings/apps/new", url.Values{"manifest": {strings.Replace(goodManifest, "HOOK", "http://127.0.0.1:1/", 1)}}, ""); status != http.StatusOK {
		t.Error("an emulator on this machine refuses a webhook on this machine")
	}
}

func TestHookConfigOfAnAppWithoutSecret(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{NoWebhookSecret: true})
	code := w.register("/settings/apps/new", w.manifest(), maya)
	made, _, err := w.anonymous().Apps.CompleteAppManifest(t.Context(), code)
	check(t, err)
	if made.WebhookSecret != nil {
		t.Errorf("the secret is %q, want null", made.GetWebhookSecret())
	}
	mine := w.appClient(githubsim.App{ID: made.GetID(), PrivateKeyPEM: []byte(made.GetPEM())})
	w.awaitEvent("ping")
	if got := w.hooks.all(); regexp.MustCompile(`(?i)signature`).MatchString(flatten(t, got[len(got)-1].header)) {
		t.Error("a delivery without secret is signed")
	}
	_, _, err = mine.Apps.UpdateHookConfig(t.Context(), &github.HookConfig{Secret: github.String("s3cret")})
	check(t, err)
	got, _, err := mine.Apps.GetHookConfig(t.Context())
	check(t, err)
	if got.GetSecret() != "********" || got.GetURL() == "" {
		t.Errorf("hook config %v", got)
	}
}

func flatten(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	check(t, err)
	return string(text)
}
