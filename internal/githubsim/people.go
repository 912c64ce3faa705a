package githubsim

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ErrNotFound says that a user, repository, issue or other object is not there.
var ErrNotFound = errors.New("not found")

// User is somebody with an account, a bot or an organisation.
type User struct {
	ID    int64
	Login string
	Type  string // User, Bot, Organization
}

// App is a registered GitHub App with what its owner knows of it.
type App struct {
	ID            int64
	Slug, Name    string
	PrivateKeyPEM []byte // PKCS#1, as GitHub issues keys
	WebhookSecret string
	// ClientID and ClientSecret are what it signs people in with.
	ClientID, ClientSecret string
}

// AppSpec describes an app to register; only Name is needed.
type AppSpec struct {
	Name string
	// Owner is the account it belongs to; empty is octo-org.
	Owner string
	// Key saves making one; tests that make many hubs share a key.
	Key *rsa.PrivateKey
	// Secret signs the webhooks; empty makes one.
	Secret string
	// Permissions are asked for at installation; nil is what yudai asks for:
	// metadata read; issues, pull_requests, contents and checks write.
	Permissions map[string]string
	// Events are subscribed; nil is issues, issue_comment, pull_request,
	// pull_request_review, check_run and check_suite. Installation events always come.
	Events []string
	// WebhookURL is where events go; see Hub.SetWebhookURL.
	WebhookURL string
	// CallbackURLs are where people who sign in may be sent back to.
	CallbackURLs []string
}

// CreateApp registers an app with the usual permissions and events.
func (h *Hub) CreateApp(name string) (App, error) { return h.RegisterApp(AppSpec{Name: name}) }

// RegisterApp registers an app. Its bot is the user "<slug>[bot]".
func (h *Hub) RegisterApp(spec AppSpec) (App, error) {
	if spec.Key == nil {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return App{}, fmt.Errorf("make key of app %s: %w", spec.Name, err)
		}
		spec.Key = key
	}
	if spec.Secret == "" {
		spec.Secret = randomHex(20)
	}
	if spec.Permissions == nil {
		spec.Permissions = map[string]string{
			"metadata": "read", "issues": "write", "pull_requests": "write", "contents": "write", "checks": "write",
		}
	}
	if spec.Events == nil {
		spec.Events = []string{"issues", "issue_comment", "pull_request", "pull_request_review", "check_run", "check_suite"}
	}
	slug := slugOf(spec.Name)
	if slug == "" {
		return App{}, fmt.Errorf("register app %q: the name has no letters or digits", spec.Name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.apps {
		if a.slug == slug {
			return App{}, fmt.Errorf("register app %s: the name is taken", spec.Name)
		}
	}
	a := &app{
		id: h.id(), slug: slug, name: spec.Name, owner: h.makeUser(cmp.Or(spec.Owner, "octo-org"), "Organization"),
		bot: h.makeUser(slug+"[bot]", "Bot"), key: &spec.Key.PublicKey, secret: spec.Secret,
		hookURL: spec.WebhookURL, hookID: h.id(), perms: clonePerms(spec.Permissions),
		events: slices.Clone(spec.Events), created: h.now(),
		clientID: "Iv1." + randomHex(8), clientSecret: randomHex(20), callbacks: slices.Clone(spec.CallbackURLs),
	}
	a.perms["metadata"] = "read"
	h.apps[a.id] = a
	h.signal()
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(spec.Key)}
	return App{
		ID: a.id, Slug: a.slug, Name: a.name, PrivateKeyPEM: pem.EncodeToMemory(block), WebhookSecret: a.secret,
		ClientID: a.clientID, ClientSecret: a.clientSecret,
	}, nil
}

// AppBySlug finds an app that was registered on the pages. Its secrets are not told:
// they were given out to whoever redeemed the code.
func (h *Hub) AppBySlug(slug string) (App, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.apps {
		if a.slug == slug {
			return App{ID: a.id, Slug: a.slug, Name: a.name}, nil
		}
	}
	return App{}, fmt.Errorf("app %s: %w", slug, ErrNotFound)
}

// SetWebhookURL sets where the app's events go. While it is empty, deliveries
// fail as they do when nobody listens, and stay in the log.
func (h *Hub) SetWebhookURL(app App, url string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.apps[app.ID]
	if a == nil {
		return fmt.Errorf("app %d: %w", app.ID, ErrNotFound)
	}
	a.hookURL = url
	return nil
}

// Ping sends the app a ping, as GitHub does when a webhook is set up.
func (h *Hub) Ping(app App) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.apps[app.ID]
	if a == nil {
		return fmt.Errorf("app %d: %w", app.ID, ErrNotFound)
	}
	h.enqueue(a, newGUID(), "ping", "", nil, nil, obj{
		"zen": "Keep it logically awesome.", "hook_id": a.hookID, "hook": h.hookJSON(a),
	})
	h.signal()
	return nil
}

// CreateUser makes an account; one that exists is returned as it is.
func (h *Hub) CreateUser(login string) User {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.makeUser(login, "User").view()
}

// CreateBot makes the account of a foreign bot; login should end in "[bot]".
func (h *Hub) CreateBot(login string) User {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.makeUser(login, "Bot").view()
}

func (u *user) view() User { return User{ID: u.id, Login: u.login, Type: u.kind} }

func (h *Hub) makeUser(login, kind string) *user {
	if u := h.users[strings.ToLower(login)]; u != nil {
		return u
	}
	u := &user{id: h.id(), login: login, kind: kind, created: h.now()}
	h.users[strings.ToLower(login)] = u
	return u
}

func clonePerms(p map[string]string) map[string]string {
	out := make(map[string]string, len(p)+1)
	for k, v := range p {
		out[k] = v
	}
	return out
}

var slugPattern = regexp.MustCompile(`[^a-z0-9]+`)

func slugOf(name string) string {
	return strings.Trim(slugPattern.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func newGUID() string {
	x := randomHex(16)
	return x[:8] + "-" + x[8:12] + "-4" + x[13:16] + "-a" + x[17:20] + "-" + x[20:]
}
