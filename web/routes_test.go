package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// access is what a route answers to who is not signed in, to people, and to the operator.
type access struct {
	path, form                                 string
	nobody, stranger, reader, writer, operator int
}

func accessTable() map[string]access {
	solve := "/solves/" + decided
	return map[string]access{
		"GET /{$}":                            {"/", "", 401, 200, 200, 200, 200},
		"GET /live":                           {"/live?solve=" + decided, "", 401, 404, 200, 200, 200},
		"GET /repositories":                   {"/repositories", "", 401, 200, 200, 200, 200},
		"GET /solves/{id}":                    {solve, "", 401, 404, 200, 200, 200},
		"POST /solves/{id}/ask":               {solve + "/ask", "do=retry", 404, 404, 403, 303, 403},
		"GET /solves/{id}/bundle":             {solve + "/bundle", "", 401, 404, 200, 200, 200},
		"GET /solves/{id}/compare":            {solve + "/compare?runs=1,2", "", 401, 404, 200, 200, 200},
		"GET /solves/{id}/files/{name}":       {solve + "/files/run-1.patch", "", 401, 404, 200, 200, 200},
		"GET /solves/{id}/logs/{name}":        {solve + "/logs/run-1.log", "", 401, 404, 200, 200, 200},
		"GET /solves/{id}/logs/{name}/raw":    {solve + "/logs/base-tests.log/raw", "", 401, 404, 200, 200, 200},
		"GET /solves/{id}/logs/{name}/search": {solve + "/logs/run-1.log/search?q=fail", "", 401, 404, 200, 200, 200},
		"GET /solves/{id}/logs/{name}/stream": {solve + "/logs/run-1.log/stream", "", 401, 404, 200, 200, 200},
		"GET /solves/{id}/runs/{n}":           {solve + "/runs/1", "", 401, 404, 200, 200, 200},
		"GET /settings":                       {"/settings", "", 401, 404, 404, 404, 200},
		"GET /settings/live":                  {"/settings/live", "", 401, 404, 404, 404, 200},
		"POST /settings/check":                {"/settings/check", "", 404, 404, 404, 404, 303},
		"GET /assets/{name}":                  {"/assets/none.css", "", 404, 404, 404, 404, 404},
		"GET /enter":                          {"/enter?key=wrong", "", 404, 303, 303, 303, 303},
		"GET /sessions":                       {"/sessions", "", 401, 200, 200, 200, 200},
		"GET /signin":                         {"/signin", "", 303, 303, 303, 303, 303},
		"GET /signin/callback":                {"/signin/callback?state=x&code=y", "", 401, 401, 401, 401, 401},
		"POST /login":                         {"/login", "token=x", 401, 401, 401, 401, 401},
		"POST /logout":                        {"/logout", "", 404, 303, 303, 303, 303},
		"POST /sessions/end":                  {"/sessions/end", "name=0123456789abcdef", 404, 303, 303, 303, 303},
	}
}

// TestEveryRouteHasItsRow walks the mux: a route that nobody thought of fails it.
func TestEveryRouteHasItsRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ended, end := context.WithCancel(t.Context())
	end() // streams of what goes on would not end
	for _, pattern := range w.pages.Patterns() {
		row, ok := accessTable()[pattern]
		if !ok {
			t.Errorf("%s: has no row", pattern)
			continue
		}
		method, _, _ := strings.Cut(pattern, " ")
		for who, want := range map[string]int{
			"": row.nobody, "made-up": row.nobody, "stranger": row.stranger, "reader": row.reader, "writers": row.writer, "operator": row.operator,
		} {
			got := w.send(method, row.path, w.cookieOf(who), row.form, func(r *http.Request) { *r = *r.WithContext(ended) })
			if got.Code != want {
				t.Errorf("%s as %q: %d, want %d", pattern, who, got.Code, want)
			}
			if hidden := got.Code == http.StatusUnauthorized || who == "stranger"; hidden && strings.Contains(got.Body.String(), "semver") {
				t.Errorf("%s tells %q of a repository", pattern, who)
			}
			if got.Code == http.StatusUnauthorized && method == http.MethodGet {
				wants(t, got.Body.String(), `action="/login"`, public+"/signin?to=")
			}
		}
	}
}

// cookieOf signs somebody in; "" is nobody.
func (w *world) cookieOf(who string) string {
	w.t.Helper()
	switch who {
	case "":
		return ""
	case "made-up":
		return "yudai=made-up"
	case "operator":
		return w.enter()
	}
	return w.signIn(who)
}

var checkShape = regexp.MustCompile(`name="check" value="([0-9a-f]{64})"`)

// send sends a form as a page of the session would, with its check.
func (w *world) send(method, path, cookie, values string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	w.t.Helper()
	if method == http.MethodPost {
		if found := checkShape.FindStringSubmatch(w.ask(http.MethodGet, "/sessions", cookie).Body.String()); found != nil {
			values += "&check=" + found[1]
		}
		change = append([]func(*http.Request){form(values), func(r *http.Request) { r.Header.Set("Cookie", cookie) }}, change...)
	}
	return w.ask(method, path, cookie, change...)
}

// TestWithoutATokenThereIsNoForm: where nothing could open it, there is no door.
func TestWithoutATokenThereIsNoForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pages.Token, w.pages.SignIn = "", nil
	for _, path := range []string{"/signin", "/signin/callback?code=x"} {
		if got := w.ask(http.MethodGet, path, ""); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	got := w.ask(http.MethodGet, "/", "")
	if wants(t, got.Body.String(), "the link that yudai printed"); got.Code != http.StatusNotFound {
		t.Errorf("without a token: %d", got.Code)
	}
	if got := w.ask(http.MethodPost, "/login", "", form("token=")); got.Code != http.StatusNotFound {
		t.Errorf("an empty token where there is none: %d", got.Code)
	}
}

func form(values string) func(*http.Request) {
	return func(r *http.Request) {
		*r = *httptest.NewRequest(r.Method, r.URL.String(), strings.NewReader(values))
		r.Host = "yudai.example"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.ask(http.MethodPost, "/login", "", form("token=wrong"))
	if got.Code != http.StatusUnauthorized || got.Header().Get("Set-Cookie") != "" {
		t.Errorf("a wrong token: %d %v", got.Code, got.Header())
	}
	got = w.ask(http.MethodPost, "/login", "", form("token="+token+"&to=/solves/"+decided))
	set := got.Header().Get("Set-Cookie")
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/solves/"+decided {
		t.Fatalf("the token: %d %v", got.Code, got.Header())
	}
	wants(t, set, "HttpOnly", "SameSite=Lax", "Path=/")
	cookie, _, _ := strings.Cut(set, ";")
	if len(cookie) < 52 {
		t.Errorf("the cookie holds too little: %s", cookie)
	}
	foreign := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if got := w.send(http.MethodPost, "/logout", cookie, "", foreign); got.Code != http.StatusForbidden {
		t.Errorf("a POST from another site: %d", got.Code)
	}
	if got := w.ask(http.MethodGet, "/", cookie); got.Code != http.StatusOK {
		t.Errorf("with the session: %d", got.Code)
	}
	if got := w.ask(http.MethodPost, "/logout", cookie); got.Code != http.StatusForbidden {
		t.Errorf("a form without the session's check: %d", got.Code)
	}
	w.send(http.MethodPost, "/logout", cookie, "")
	if got := w.ask(http.MethodGet, "/", cookie); got.Code != http.StatusUnauthorized {
		t.Errorf("after signing out: %d", got.Code)
	}
	cookie = w.enter()
	w.now = w.now.Add(12 * time.Hour)
	if got := w.ask(http.MethodGet, "/", cookie); got.Code != http.StatusUnauthorized {
		t.Errorf("after twelve hours: %d", got.Code)
	}
}

// TestALinkOpensOnce: who finds the link later, or after its end, gets nothing, and a link leads nowhere else.
func TestALinkOpensOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := w.pages.PageLink("/solves/" + decided)
	got := w.ask(http.MethodGet, link, "")
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/solves/"+decided {
		t.Fatalf("the first time: %d %v", got.Code, got.Header())
	}
	if got := w.ask(http.MethodGet, link, ""); got.Code != http.StatusNotFound || got.Header().Get("Set-Cookie") != "" {
		t.Errorf("the second time: %d %v", got.Code, got.Header())
	}
	late := w.pages.PageLink("/")
	w.now = w.now.Add(time.Hour)
	if got := w.ask(http.MethodGet, late, ""); got.Code != http.StatusNotFound || got.Header().Get("Set-Cookie") != "" {
		t.Errorf("after an hour: %d %v", got.Code, got.Header())
	}
	for _, to := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)", ""} {
		if got := w.ask(http.MethodGet, w.pages.PageLink(to), ""); got.Header().Get("Location") != "/" {
			t.Errorf("to %q leads to %q", to, got.Header().Get("Location"))
		}
	}
}

// TestPagesCarryTheirPolicy: no script but ours runs, and nothing is loaded from elsewhere.
func TestPagesCarryTheirPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie := w.enter()
	for _, path := range allPages() {
		got := w.ask(http.MethodGet, path, cookie)
		policy, body := got.Header().Get("Content-Security-Policy"), got.Body.String()
		wants(t, policy, "default-src 'none'", "script-src 'nonce-", "frame-ancestors 'none'", "require-trusted-types-for 'script'")
		for _, bad := range []string{" style=", " onclick=", "<style", "javascript:", "<script>", "http://www."} {
			if strings.Contains(body, bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		_, nonce, _ := strings.Cut(policy, "'nonce-")
		nonce, _, _ = strings.Cut(nonce, "'")
		wants(t, body, `nonce="`+nonce+`"`)
	}
}
