package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// TestSigningInByGitHub: only the browser that began gets in, and only by an answer to what it asked.
func TestSigningInByGitHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := w.ask(http.MethodGet, "/signin?to=//evil.example", "")
	set := ask.Header().Get("Set-Cookie")
	wants(t, set, "HttpOnly", "SameSite=Lax", "Path=/signin")
	kept, _, _ := strings.Cut(set, ";")
	to, err := url.Parse(ask.Header().Get("Location"))
	if err != nil || to.Host != "github.example" {
		t.Fatalf("%v %v", to, err)
	}
	state, verifier := to.Query().Get("state"), to.Query().Get("verifier")
	if len(state) < 43 || len(verifier) < 43 || len(verifier) > 128 {
		t.Errorf("state %q, verifier %q", state, verifier)
	}
	for name, c := range map[string]struct{ cookie, query, want string }{
		"another browser":  {"", "state=" + state + "&code=reader/" + verifier, "began in the last ten minutes"},
		"another state":    {kept, "state=x&code=reader/" + verifier, "began in the last ten minutes"},
		"no state":         {strings.Replace(kept, state, "", 1), "state=x&code=reader/" + verifier, "began in the last ten minutes"},
		"who said no":      {kept, "state=" + state + "&error=access_denied", "GitHub did not sign you in"},
		"a code of others": {kept, "state=" + state + "&code=reader/other", "GitHub did not tell who you are"},
	} {
		got := w.ask(http.MethodGet, "/signin/callback?"+c.query, c.cookie)
		if wants(t, got.Body.String(), c.want); got.Code != http.StatusUnauthorized || strings.Contains(got.Header().Get("Set-Cookie"), "yudai=") {
			t.Errorf("%s: %d %v", name, got.Code, got.Header())
		}
	}
	got := w.ask(http.MethodGet, "/signin/callback?state="+state+"&code=reader/"+verifier, kept)
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/" {
		t.Errorf("the right answer: %d %v", got.Code, got.Header())
	}
}

// TestSessionsOutliveARestart: those of people do, those of the operator do not, and nothing in the file opens a page.
func TestSessionsOutliveARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, operator := w.signIn("reader"), w.enter()
	data, err := os.ReadFile(w.sessions)
	if err != nil || strings.Contains(string(data), strings.TrimPrefix(mine, "yudai=")) || strings.Contains(string(data), `"id":0`) {
		t.Errorf("%v: %s", err, data)
	}
	w.restart()
	if got := w.ask(http.MethodGet, "/", mine); got.Code != http.StatusOK {
		t.Errorf("after a restart: %d", got.Code)
	}
	if got := w.ask(http.MethodGet, "/", operator); got.Code != http.StatusUnauthorized {
		t.Errorf("the operator after a restart: %d", got.Code)
	}
	w.send(http.MethodPost, "/logout", mine, "")
	w.restart()
	if got := w.ask(http.MethodGet, "/", mine); got.Code != http.StatusUnauthorized {
		t.Errorf("signed out, after a restart: %d", got.Code)
	}
}

// TestSessionsPage lists where a person is signed in, and ends one or all; those of others stay.
func TestSessionsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, other := w.signIn("reader"), w.signIn("reader"), w.signIn("writers")
	page := w.ask(http.MethodGet, "/sessions", one).Body.String()
	if wants(t, page, "(this one)", `href="/sessions">reader<`); strings.Count(page, `name="name"`) != 2 {
		t.Errorf("%s", page)
	}
	_, name, _ := strings.Cut(page, "(this one)")
	_, name, _ = strings.Cut(name, `name="name" value="`)
	w.send(http.MethodPost, "/sessions/end", two, "name="+name[:16])
	for cookie, want := range map[string]int{one: 401, two: 200} {
		if got := w.ask(http.MethodGet, "/sessions", cookie); got.Code != want {
			t.Errorf("one ended: %d, want %d", got.Code, want)
		}
	}
	w.send(http.MethodPost, "/sessions/end", other, "name="+name[:16]) // not theirs
	w.send(http.MethodPost, "/sessions/end", two, "all=1")
	for cookie, want := range map[string]int{two: 401, other: 200} {
		if got := w.ask(http.MethodGet, "/sessions", cookie); got.Code != want {
			t.Errorf("all ended: %d, want %d", got.Code, want)
		}
	}
	w.now = w.now.Add(time.Second)
	for range 20 {
		w.signIn("writers")
	}
	if got := w.ask(http.MethodGet, "/sessions", other); got.Code != http.StatusUnauthorized {
		t.Errorf("the oldest of too many: %d", got.Code)
	}
}

// TestRightsAreAskedEachMinute: an answer is good for a minute, and where GitHub gives none nothing is shown.
func TestRightsAreAskedEachMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie := w.signIn("reader")
	see := func() int { return w.ask(http.MethodGet, "/solves/"+decided, cookie).Code }
	if first, second := see(), see(); first != http.StatusOK || second != http.StatusOK || w.hub.asked != 1 {
		t.Errorf("answered %d and %d, asked %d times", first, second, w.hub.asked)
	}
	w.hub.let("reader", solve.Access{})
	if see() != http.StatusOK {
		t.Error("the answer of the last minute is not used")
	}
	w.now = w.now.Add(time.Minute)
	if got := see(); got != http.StatusNotFound {
		t.Errorf("who may read no more: %d", got)
	}
	if page := w.ask(http.MethodGet, "/", cookie).Body.String(); strings.Contains(page, "semver") || strings.Contains(page, "in 24 hours") {
		t.Errorf("the board tells:\n%s", page)
	}
	w.hub.let("reader", solve.Access{Reads: true})
	w.hub.err = errors.New("GitHub is down")
	w.now = w.now.Add(time.Minute)
	if got := see(); got != http.StatusNotFound {
		t.Errorf("while GitHub does not answer: %d", got)
	}
}

// TestWhoLeavesMayComeBack: a browser that does not wait for the answer of GitHub learns nothing, and is asked about again.
func TestWhoLeavesMayComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie := w.signIn("reader")
	w.hub.err = context.Canceled
	w.ask(http.MethodGet, "/solves/"+decided, cookie, func(r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		*r = *r.WithContext(ctx)
	})
	w.hub.err = nil
	if got := w.ask(http.MethodGet, "/solves/"+decided, cookie); got.Code != http.StatusOK {
		t.Errorf("after a request that was given up: %d", got.Code)
	}
}

// TestStrangersCostFewLookUps: anybody can sign in; what they ask in vain does not use up GitHub's limit.
func TestStrangersCostFewLookUps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	readers := w.signIn("reader")
	w.ask(http.MethodGet, "/", readers)
	for n := range 700 { // each a person of their own: the world numbers them by the length of their names
		w.ask(http.MethodGet, "/solves/"+decided, w.signIn(fmt.Sprintf("stranger%0*d", n+10, n)))
	}
	if w.hub.asked > 601 {
		t.Errorf("GitHub was asked %d times", w.hub.asked)
	}
	w.now = w.now.Add(2 * time.Minute)
	if got := w.ask(http.MethodGet, "/solves/"+decided, readers); got.Code != http.StatusOK {
		t.Errorf("who could read before: %d", got.Code)
	}
}

// TestStreamsAskAgain: a stream ends when who reads it may read no more.
func TestStreamsAskAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, cookie := w.serve(), w.signIn("reader")
	for _, path := range []string{"/solves/" + atWork + "/logs/run-1.log/stream", "/live?solve=" + atWork} {
		w.hub.let("reader", solve.Access{Reads: true})
		w.store.change(func() { w.now = w.now.Add(time.Minute) })
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "yudai.example"
		r.Header.Set("Cookie", cookie)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, answer.Status)
		}
		w.hub.let("reader", solve.Access{})
		w.store.change(func() { w.now = w.now.Add(time.Minute) })
		w.store.say(turn(20, "", "cat secret", "secret\n", 0)...)
		seen, err := io.ReadAll(answer.Body) // to its end
		if err != nil || strings.Contains(string(seen), "secret") {
			t.Errorf("%s: %v %s", path, err, seen)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
