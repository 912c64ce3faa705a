package setup

import (
	"slices"
	"strings"

	"github.com/palantir/go-githubapp/githubapp"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/web"
)

// Manifest is what GitHub registers an App from: the content of app-manifest.json,
// which a test compares with it.
// https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
type Manifest struct {
	Name        string       `json:"name"`
	URL         string       `json:"url"`
	Description string       `json:"description"`
	Public      bool         `json:"public"`
	Hook        ManifestHook `json:"hook_attributes"`
	RedirectURL string       `json:"redirect_url,omitempty"`
	// Callbacks are where people who sign in are sent back to; nobody has to sign in to install the App.
	Callbacks       []string          `json:"callback_urls"`
	SignInOnInstall bool              `json:"request_oauth_on_install"`
	Events          []string          `json:"default_events"`
	Permissions     map[string]string `json:"default_permissions"`
}

// ManifestHook is where webhooks go.
type ManifestHook struct {
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

// NewManifest is yudai's manifest for a server at a public URL. The events are those
// that handlers handle; about installations GitHub tells every App unasked, and
// refuses a manifest that names these events.
func NewManifest(publicURL string) Manifest {
	m := Manifest{
		Name: "yudai", URL: "https://github.com/yudai-dev/yudai",
		Description: "Solves labelled issues with several agents at once and opens one pull request: the candidate that your tests prefer.",
		Hook:        ManifestHook{URL: hookURL(publicURL), Active: true},
		Callbacks:   []string{web.CallbackURL(publicURL)},
		Permissions: map[string]string{
			"metadata": "read", "issues": "write", "pull_requests": "write", "contents": "write", "checks": "write",
		},
	}
	for _, h := range handlers.New(handlers.Options{}) {
		for _, event := range h.Handles() {
			if !strings.HasPrefix(event, "installation") {
				m.Events = append(m.Events, event)
			}
		}
	}
	slices.Sort(m.Events)
	return m
}

// hookURL is where GitHub sends the webhooks of a server at a public URL.
func hookURL(publicURL string) string {
	return strings.TrimSuffix(publicURL, "/") + githubapp.DefaultWebhookRoute
}
