package githubsim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// keepCode is how long the code of a registration can be redeemed.
const keepCode = time.Hour

// manifest is what GitHub reads of an App's manifest.
type manifest struct {
	Name           string            `json:"name"`
	URL            string            `json:"url"`
	Hook           *manifestHook     `json:"hook_attributes"`
	RedirectURL    string            `json:"redirect_url"`
	Description    string            `json:"description"`
	Public         bool              `json:"public"`
	Events         []string          `json:"default_events"`
	Permissions    map[string]string `json:"default_permissions"`
	CallbackURLs   []string          `json:"callback_urls"`
	SetupURL       string            `json:"setup_url"`
	SetupOnUpdate  bool              `json:"setup_on_update"`
	RequestOnSetup bool              `json:"request_oauth_on_install"`
}

type manifestHook struct {
	URL    string `json:"url"`
	Active *bool  `json:"active"`
}

// conversion is an App that was registered from a manifest and whose secrets
// have not been fetched yet.
type conversion struct {
	app     App
	expires time.Time
}

// readManifest parses a manifest and lists what GitHub refuses it for. local
// says that this GitHub runs on the operator's own machine.
func readManifest(text string, local bool) (m manifest, flaws []string) {
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, []string{"The manifest is not valid JSON."}
	}
	bad := func(format string, args ...any) { flaws = append(flaws, fmt.Sprintf("Error "+format, args...)) }
	if !absolute(m.URL) {
		bad("url is not a valid URL")
	}
	if !absolute(m.RedirectURL) {
		bad("redirect_url is not a valid URL")
	}
	if slices.ContainsFunc(m.CallbackURLs, func(u string) bool { return !absolute(u) }) {
		bad("callback_urls must be valid URLs")
	}
	if m.Hook != nil {
		switch {
		case m.Hook.URL == "":
			bad("url wasn't supplied")
		case !absolute(m.Hook.URL):
			bad("Hook url is not a valid URL")
		case !local && isLocal(m.Hook.URL):
			bad("Hook url is not supported because it isn't reachable over the public Internet (%s)", hostname(m.Hook.URL))
		}
	}
	for _, e := range m.Events {
		switch need := rightFor(e); {
		case strings.HasPrefix(e, "installation"):
			bad("Default events unsupported: %s", e)
		case need != "metadata" && m.Permissions[need] == "":
			bad("Default events are not supported by permissions: %s", e)
		}
	}
	for name, level := range m.Permissions {
		if rank(level) < 1 {
			bad("Default permission %s has no level %q", name, level)
		}
	}
	slices.Sort(flaws)
	return m, flaws
}

func absolute(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func hostname(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// isLocal says whether a URL leads to the machine itself.
func isLocal(text string) bool {
	host := hostname(text)
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// registerFrom makes the App of a manifest for an account and returns the code
// that its secrets are fetched with. GitHub pings the webhook at once.
func (h *Hub) registerFrom(m manifest, owner string) (code string, err error) {
	if len(m.Name) > 34 {
		return "", errors.New("Name is too long (maximum is 34 characters)") //nolint:staticcheck // GitHub's words
	}
	spec := AppSpec{Name: m.Name, Owner: owner, Permissions: m.Permissions, Events: m.Events, Key: h.opts.AppKey, CallbackURLs: m.CallbackURLs}
	if m.Hook != nil {
		spec.WebhookURL = m.Hook.URL
	}
	if spec.Permissions == nil {
		spec.Permissions = map[string]string{}
	}
	if spec.Events == nil {
		spec.Events = []string{}
	}
	made, err := h.RegisterApp(spec)
	if err != nil {
		return "", err
	}
	code = randomHex(20)
	h.mu.Lock()
	if h.opts.NoWebhookSecret {
		h.apps[made.ID].secret, made.WebhookSecret = "", ""
	}
	h.codes[code] = &conversion{app: made, expires: h.now().Add(keepCode)}
	h.mu.Unlock()
	if spec.WebhookURL == "" {
		return code, nil
	}
	return code, h.Ping(made)
}

// convert answers POST /app-manifests/{code}/conversions: once, within an hour.
func convert(c *call) reply {
	h := c.hub
	found := h.codes[c.args["code"]]
	if found == nil || !h.now().Before(found.expires) {
		return notFound()
	}
	delete(h.codes, c.args["code"])
	out, _ := h.appJSON(h.apps[found.app.ID]).(obj)
	out["client_id"], out["client_secret"] = found.app.ClientID, found.app.ClientSecret
	out["webhook_secret"] = orNull(found.app.WebhookSecret)
	out["pem"] = string(found.app.PrivateKeyPEM)
	return created(fmt.Sprintf("app %d", found.app.ID), out)
}

// hookConfig is the webhook of an app as its settings show it.
func (h *Hub) hookConfig(a *app) obj {
	out := obj{"content_type": "json", "insecure_ssl": "0", "url": orPlaceholder(a.hookURL)}
	if a.secret != "" {
		out["secret"] = "********"
	}
	return out
}

func getHookConfig(c *call) reply { return ok(c.hub.hookConfig(c.app)) }

// setHookConfig changes what the request names.
func setHookConfig(c *call) reply {
	var req struct{ URL, Secret *string }
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	if req.URL != nil && !absolute(*req.URL) {
		return fail(http.StatusUnprocessableEntity, "Validation Failed: url must be a URL")
	}
	if req.Secret != nil {
		c.app.secret = *req.Secret
	}
	if req.URL != nil {
		c.app.hookURL = *req.URL
	}
	return ok(c.hub.hookConfig(c.app)).about("hook of app %d", c.app.id)
}

// answerTo is where the browser goes after the registration.
func (m manifest) answerTo(code, state string) (string, error) {
	u, err := url.Parse(m.RedirectURL)
	if err != nil {
		return "", fmt.Errorf("read redirect_url: %w", err)
	}
	q := u.Query()
	q.Set("code", code)
	if state != "" {
		q.Set("state", state)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// origin is scheme and host of the redirect, for the page's policy.
func (m manifest) origin() string {
	u, err := url.Parse(m.RedirectURL)
	if err != nil {
		return ""
	}
	return cmp.Or(u.Scheme, "https") + "://" + u.Host
}
