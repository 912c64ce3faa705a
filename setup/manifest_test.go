package setup_test

import (
	"encoding/json"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/palantir/go-githubapp/githubapp"

	"github.com/yudai-dev/yudai/handlers"
)

// manifest is what GitHub reads of app-manifest.json
// (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest).
type manifest struct {
	Name           string `json:"name"`
	URL            string `json:"url"`
	Description    string `json:"description"`
	Public         bool   `json:"public"`
	HookAttributes struct {
		URL    string `json:"url"`
		Active bool   `json:"active"`
	} `json:"hook_attributes"`
	CallbackURLs          []string `json:"callback_urls"`
	RequestOAuthOnInstall bool     `json:"request_oauth_on_install"`

	Events      []string          `json:"default_events"`
	Permissions map[string]string `json:"default_permissions"`
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	f, err := os.Open("../app-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var m manifest
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestListsExactlyTheHandledEvents(t *testing.T) {
	t.Parallel()
	var handled []string
	for _, h := range handlers.New(handlers.Options{}) {
		handled = append(handled, h.Handles()...)
	}
	for _, unasked := range []string{"installation", "installation_repositories"} {
		if !slices.Contains(handled, unasked) {
			t.Errorf("%s comes by itself, and nobody handles it", unasked)
		}
		handled = slices.DeleteFunc(handled, func(e string) bool { return e == unasked })
	}
	slices.Sort(handled)
	if diff := cmp.Diff(handled, readManifest(t).Events); diff != "" {
		t.Error(diff)
	}
}

// GitHub refuses a manifest as a whole for a webhook without a URL or on this
// machine, for the installation events, and for an event without its permission.
func TestManifestIsNotRefused(t *testing.T) {
	t.Parallel()
	m := readManifest(t)
	u, err := url.Parse(m.HookAttributes.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil {
		t.Errorf("webhook URL %q", m.HookAttributes.URL)
	}
	if !m.HookAttributes.Active || u.Path != githubapp.DefaultWebhookRoute {
		t.Errorf("webhook %+v", m.HookAttributes)
	}
	if len(m.CallbackURLs) != 1 || !strings.HasSuffix(m.CallbackURLs[0], "/signin/callback") || m.RequestOAuthOnInstall {
		t.Errorf("people come back to %q", m.CallbackURLs)
	}
	needs := map[string]string{
		"issues": "issues", "issue_comment": "issues", "pull_request": "pull_requests", "pull_request_review": "pull_requests",
		"check_run": "checks", "check_suite": "checks",
	}
	for _, event := range m.Events {
		if strings.HasPrefix(event, "installation") {
			t.Errorf("%s comes by itself and must not be listed", event)
		}
		if need, known := needs[event]; !known || m.Permissions[need] == "" {
			t.Errorf("%s lacks its permission %q", event, need)
		}
	}
	if m.Name == "" || len(m.Name) > 34 || m.URL == "" {
		t.Errorf("name or url: %+v", m)
	}
}

// Nothing beyond what yudai writes is asked for; workflows least of all.
func TestManifestAsksForLittle(t *testing.T) {
	t.Parallel()
	want := map[string]string{"metadata": "read", "issues": "write", "pull_requests": "write", "contents": "write", "checks": "write"}
	if diff := cmp.Diff(want, readManifest(t).Permissions); diff != "" {
		t.Error(diff)
	}
}
