package setup

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/ghapp"
)

// plan is what the first page asks for: the App that shall be registered, and where.
type plan struct {
	PublicURL, Owner, Name string
	// Host is where GitHub is.
	Host gitHub
}

// gitHub are the three addresses of one GitHub.
type gitHub struct{ Web, V3, V4 string }

// loginShape is GitHub's rule for the names of accounts; the underscore is in those
// that an enterprise manages.
var loginShape = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,37}[A-Za-z0-9])?$`)

// maxAppName is the longest name of an App, in characters.
const maxAppName = 34

// entered are the fields as typed, with what is wrong with each.
type entered struct {
	PublicURL, Owner, Name, GitHub string
	Problems                       map[string]string
}

// prefill is the first page's beginning: the configuration, else the address that the
// browser uses.
func prefill(cfg App, r *http.Request) entered {
	e := entered{PublicURL: cfg.PublicURL, Name: NewManifest("").Name, GitHub: cfg.GitHub.WebURL}
	if e.PublicURL == "" && badPublicURL(browserURL(r), e.GitHub) == "" {
		e.PublicURL = browserURL(r)
	}
	return e
}

// browserURL is this server's address as the browser has it.
func browserURL(r *http.Request) string { return scheme(r) + "://" + r.Host }

// readPlan reads the form and says what is wrong, by field.
func readPlan(r *http.Request, cfg ghapp.Config) (plan, entered) {
	field := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	e := entered{
		PublicURL: field("public_url"), Owner: field("owner"), Name: field("name"), GitHub: field("github"), Problems: map[string]string{},
	}
	web, problem := readGitHub(e.GitHub)
	if problem != "" {
		e.Problems["github"] = problem
	}
	public := strings.TrimSuffix(e.PublicURL, "/")
	if problem := badPublicURL(public, web); problem != "" {
		e.Problems["public_url"] = problem
	}
	if e.Owner != "" && !loginShape.MatchString(e.Owner) {
		e.Problems["owner"] = "That is not the name of an organisation: letters, digits and dashes, 39 at most. Leave " +
			"it empty for your own account."
	}
	if n := utf8.RuneCountInString(e.Name); n == 0 || n > maxAppName || strings.ContainsFunc(e.Name, unicode.IsControl) {
		e.Problems["name"] = fmt.Sprintf("A name has 1 to %d characters.", maxAppName)
	}
	return plan{PublicURL: public, Owner: e.Owner, Name: e.Name, Host: apisOf(web, cfg)}, e
}

// readGitHub checks the address of a GitHub and returns it without a slash at the end.
func readGitHub(text string) (web, problem string) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case err != nil, u.Host == "", u.Scheme != "https" && u.Scheme != "http", u.User != nil, u.Path != "",
		u.RawQuery != "", u.Fragment != "", !hostShape.MatchString(u.Host):
		return "", "Write https://github.com, or the address of your Enterprise Server: https:// and its host, nothing else."
	case u.Scheme == "http" && !isLocal(u.Hostname()):
		return "", "Write https://: the App's secrets travel there."
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), ""
}

// hostShape is host or host:port as URLs have it; a page's policy takes nothing else.
var hostShape = regexp.MustCompile(`^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$`)

// apisOf finds the APIs of a GitHub: as configured, if it is that one.
func apisOf(web string, cfg ghapp.Config) gitHub {
	builtIn := ghapp.DefaultConfig()
	host, isTenant := strings.CutPrefix(web, "https://")
	switch {
	case web == strings.TrimSuffix(cfg.WebURL, "/"):
		return gitHub{web, cfg.V3APIURL, cfg.V4APIURL}
	case web == builtIn.WebURL:
		return gitHub{web, builtIn.V3APIURL, builtIn.V4APIURL}
	case isTenant && strings.HasSuffix(host, ".ghe.com"):
		return gitHub{web, "https://api." + host, "https://api." + host + "/graphql"}
	}
	return gitHub{web, web + "/api/v3", web + "/api/graphql"}
}

// badPublicURL says why GitHub cannot send webhooks there, "" if it can.
func badPublicURL(text, web string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || !hostShape.MatchString(u.Host) {
		return "Write the address at which GitHub reaches this server, such as https://yudai.example.org."
	}
	if u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return "Only https:// and the host: no path, no query."
	}
	if g, err := url.Parse(web); err == nil && isLocal(g.Hostname()) {
		return "" // a GitHub on this machine reaches this machine
	}
	switch ip := net.ParseIP(u.Hostname()); {
	case isLocal(u.Hostname()):
		return "GitHub cannot reach this machine under that name. Use the address of a proxy or tunnel that leads here."
	case u.Scheme != "https":
		return "Write https://: webhooks carry what people write in private repositories."
	case ip != nil && ip.IsPrivate() && web == ghapp.DefaultConfig().WebURL:
		return "That is a private address, which github.com cannot reach. Use the address of a proxy or tunnel that leads here."
	}
	return ""
}

// isLocal says whether a host is the machine itself.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// newAppURL is GitHub's page that takes a manifest.
func (p plan) newAppURL(state string) string {
	path := "/settings/apps/new"
	if p.Owner != "" {
		path = "/organizations/" + url.PathEscape(p.Owner) + path
	}
	return p.Host.Web + path + "?state=" + url.QueryEscape(state)
}

// apply sets the addresses in a configuration.
func (p plan) apply(cfg App) App {
	cfg.PublicURL = p.PublicURL
	cfg.GitHub.WebURL, cfg.GitHub.V3APIURL, cfg.GitHub.V4APIURL = p.Host.Web, p.Host.V3, p.Host.V4
	return cfg
}
