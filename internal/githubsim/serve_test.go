package githubsim_test

import (
	"crypto/rsa"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// TestServe: the zero value serves API and pages on one listener, without a
// prefix, until Close.
func TestServe(t *testing.T) {
	t.Parallel()
	hub := githubsim.New(githubsim.Options{})
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	served := make(chan error, 1)
	go func() { served <- hub.Serve(l) }()
	app := must[githubsim.App](t)(hub.RegisterApp(githubsim.AppSpec{Name: "Plain", Key: must[*rsa.PrivateKey](t)(sharedKey())}))
	must[githubsim.Repo](t)(hub.CreateRepo(owner, name, map[string]string{"a": "a"}))
	must[githubsim.Installation](t)(hub.Install(app, owner))

	root := "http://" + l.Addr().String()
	tr, err := ghinstallation.NewAppsTransport(http.DefaultTransport, app.ID, app.PrivateKeyPEM)
	check(t, err)
	client := github.NewClient(&http.Client{Transport: tr})
	client.BaseURL, err = client.BaseURL.Parse(root + "/")
	check(t, err)
	got, _, err := client.Apps.Get(t.Context(), "")
	check(t, err)
	if got.GetSlug() != "plain" || hub.URL() != root || !strings.HasPrefix(got.GetHTMLURL(), root+"/") {
		t.Errorf("app %v at %s, hub says %s", got, root, hub.URL())
	}
	resp, err := http.Get(root + "/acme/widget")
	check(t, err)
	check(t, resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		t.Errorf("page: status %d", resp.StatusCode)
	}
	check(t, hub.Close())
	check(t, <-served)
	check(t, hub.Serve(must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")))) // a closed hub does not serve again
}

// TestConditionalRequest: an unchanged answer is a 304 for the same token.
func TestConditionalRequest(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	token := w.mint(nil).GetToken()
	ask := func(token, tag string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.hub.APIURL()+"users/maya", nil)
		check(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("If-None-Match", tag)
		resp, err := w.base.RoundTrip(req)
		check(t, err)
		check(t, resp.Body.Close())
		return resp
	}
	first := ask(token, "")
	if first.Header.Get("X-GitHub-Request-Id") == "" || first.Header.Get("X-RateLimit-Remaining") == "" {
		t.Errorf("headers %v", first.Header)
	}
	if again := ask(token, first.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("the same token got %d", again.StatusCode)
	}
	if other := ask(w.mint(nil).GetToken(), first.Header.Get("ETag")); other.StatusCode != http.StatusOK {
		t.Errorf("another token got %d", other.StatusCode)
	}
}
