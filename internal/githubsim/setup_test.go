package githubsim_test

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/internal/githubsim/openapi"
)

// Loaded once for all tests: both cost more than a test.
var (
	sharedKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })
	sharedAPI = sync.OnceValues(func() (*openapi.Validator, error) { return openapi.New("/api/v3") })
)

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a hub with a repository, two people and an installed app, whose
// clients go through the OpenAPI validator.
type world struct {
	t      *testing.T
	hub    *githubsim.Hub
	app    githubsim.App
	inst   githubsim.Installation
	repo   githubsim.Repo
	issue  int
	client *github.Client // as the installation
	jwt    *github.Client // as the app
	hooks  *receiver
	base   http.RoundTripper
}

const (
	owner = "acme"
	name  = "widget"
	full  = "acme/widget"
	maya  = "maya" // may write
	otto  = "otto" // may not
)

// receiver is a webhook's far end: it keeps what came and answers as told.
type receiver struct {
	mu     sync.Mutex
	got    []delivered
	status int
}

type delivered struct {
	header  http.Header
	payload []byte
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, delivered{req.Header.Clone(), body})
	if r.status != 0 {
		w.WriteHeader(r.status)
	}
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) all() []delivered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivered(nil), r.got...)
}

// events lists "event.action" in the order of arrival.
func (r *receiver) events(t *testing.T) []string {
	var out []string
	for _, d := range r.all() {
		event, err := github.ParseWebHook(d.header.Get("X-GitHub-Event"), d.payload)
		check(t, err)
		name := d.header.Get("X-GitHub-Event")
		if a, ok := event.(interface{ GetAction() string }); ok {
			name += "." + a.GetAction()
		}
		out = append(out, name)
	}
	return out
}

func setup(t *testing.T, opts githubsim.Options) *world {
	t.Helper()
	w := &world{t: t, hooks: &receiver{}}
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	opts.APIPrefix = "/api/v3"
	w.hub = githubsim.New(opts)
	t.Cleanup(func() { check(t, w.hub.Close()) })
	server := httptest.NewServer(w.hub)
	t.Cleanup(server.Close)
	w.hub.SetBaseURL(server.URL)
	far := httptest.NewServer(w.hooks)
	t.Cleanup(far.Close)

	key := must[*rsa.PrivateKey](t)(sharedKey())
	w.app = must[githubsim.App](t)(w.hub.RegisterApp(githubsim.AppSpec{Name: "Yudai Test", Key: key, WebhookURL: far.URL}))
	w.hub.CreateUser(maya)
	w.hub.CreateUser(otto)
	w.repo = must[githubsim.Repo](t)(w.hub.CreateRepo(owner, name, map[string]string{
		"README.md": "# Widget\n", "run.sh": "#!/bin/sh\necho hi\n", "src/add.go": "package src\n\nfunc Add(a, b int) int { return a - b }\n",
	}))
	check(t, w.hub.SetPermission(full, maya, "write"))
	w.inst = must[githubsim.Installation](t)(w.hub.Install(w.app, owner))
	w.issue = must[int](t)(w.hub.OpenIssue(full, maya, "Add subtracts", "It should add."))

	api := must[*openapi.Validator](t)(sharedAPI())
	w.base = api.Transport(http.DefaultTransport, func(err error) { t.Errorf("not GitHub's API: %v", err) })
	w.jwt = w.appClient(w.app)
	w.client = w.install(nil)
	return w
}

func (w *world) appClient(app githubsim.App) *github.Client {
	w.t.Helper()
	tr, err := ghinstallation.NewAppsTransport(w.base, app.ID, app.PrivateKeyPEM)
	check(w.t, err)
	tr.BaseURL = w.hub.APIURL()
	return w.point(github.NewClient(&http.Client{Transport: tr}))
}

// install is a client of the installation, narrowed as options say.
func (w *world) install(options *github.InstallationTokenOptions) *github.Client {
	w.t.Helper()
	tr, err := ghinstallation.New(w.base, w.app.ID, w.inst.ID, w.app.PrivateKeyPEM)
	check(w.t, err)
	tr.BaseURL = w.hub.APIURL()[:len(w.hub.APIURL())-1]
	tr.InstallationTokenOptions = options
	return w.point(github.NewClient(&http.Client{Transport: tr}))
}

func (w *world) point(c *github.Client) *github.Client {
	out, err := c.WithEnterpriseURLs(w.hub.APIURL(), w.hub.APIURL())
	check(w.t, err)
	return out
}

// refused asserts that err is GitHub's answer with status and returns it.
func refused(t *testing.T, err error, status int) *github.ErrorResponse {
	t.Helper()
	var resp *github.ErrorResponse
	if !errors.As(err, &resp) {
		t.Fatalf("got %v, want an error response %d", err, status)
	}
	if resp.Response.StatusCode != status {
		t.Fatalf("got status %d (%s), want %d", resp.Response.StatusCode, resp.Message, status)
	}
	return resp
}

const patience = 20 * time.Second
