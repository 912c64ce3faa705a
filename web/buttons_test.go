package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// TestButtonsAreForWhoMayPressThem: who reads sees none, who writes sees those that the solve allows.
func TestButtonsAreForWhoMayPressThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, who := range []string{"operator", "reader"} {
		if page := w.ask(http.MethodGet, "/solves/"+decided, w.cookieOf(who)).Body.String(); strings.Contains(page, "/ask") {
			t.Errorf("%s sees buttons", who)
		}
	}
	cookie := w.signIn("writers")
	page, _, _ := strings.Cut(w.ask(http.MethodGet, "/solves/"+decided, cookie).Body.String(), `id="race"`)
	wants(t, page, `value="retry"`, `<option value="2">2: sprawling`, `value="revise"`)
	if strings.Contains(page, `value="cancel"`) || strings.Contains(page, `<option value="1"`) || strings.Contains(page, `<option value="3"`) {
		t.Errorf("a solve that ended, whose champion is run 1 and whose run 3 failed:\n%s", page)
	}
	page = w.ask(http.MethodGet, "/solves/"+atWork, cookie).Body.String()
	if wants(t, page, `value="cancel"`); strings.Contains(page, `value="retry"`) || strings.Contains(page, `value="revise"`) {
		t.Errorf("a solve that goes on:\n%s", page)
	}
	wants(t, w.ask(http.MethodGet, "/solves/"+decided+"?asked=retry", cookie).Body.String(), "asked: retry")
	if page := w.ask(http.MethodGet, "/solves/"+decided+"?asked=a+lie", cookie).Body.String(); strings.Contains(page, "lie") {
		t.Error("a link can put words on the page")
	}
}

// TestPressing: a button asks once, for who has write access at that moment, from a form of their session.
func TestPressing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie, path := w.signIn("writers"), "/solves/"+decided+"/ask"
	press := func(who, values string) int { return w.send(http.MethodPost, path, who, values).Code }
	if got := w.ask(http.MethodPost, path, cookie, form("do=retry"), func(r *http.Request) { r.Header.Set("Cookie", cookie) }); got.Code != http.StatusForbidden {
		t.Errorf("without the check: %d", got.Code)
	}
	foreign := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }
	if got := w.send(http.MethodPost, path, cookie, "do=retry", foreign); got.Code != http.StatusForbidden {
		t.Errorf("from another origin: %d", got.Code)
	}
	if got := press(cookie, "do=solve"); got != http.StatusBadRequest {
		t.Errorf("no button: %d", got)
	}
	if got := w.send(http.MethodPost, path, cookie, "do=pick&n=9"); got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "no run 9") {
		t.Errorf("what is refused: %d %s", got.Code, got.Body)
	}
	if len(w.hub.pressed) != 0 {
		t.Fatalf("asked for %v", w.hub.pressed)
	}
	got := w.send(http.MethodPost, path, cookie, "do=revise&text=keep+the+name")
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/solves/"+decided+"?asked=revise" {
		t.Errorf("the right press: %d %v", got.Code, got.Header())
	}
	press(cookie, "do=pick&n=2&text=x")
	press(cookie, "do=cancel&n=2")
	want := "writers revise keep the name;writers pick 2;writers cancel "
	if got := strings.Join(w.hub.pressed, ";"); got != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
	w.hub.let("writers", solve.Access{Reads: true}) // within the minute
	if got := press(cookie, "do=retry"); got != http.StatusForbidden || len(w.hub.pressed) != 3 {
		t.Errorf("who may write no more: %d, %v", got, w.hub.pressed)
	}
}

// TestReadersPressInVain: anybody reads a public repository; pressing without a right does not use up GitHub's limit.
func TestReadersPressInVain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie := w.signIn("reader")
	for range 5 {
		if got := w.send(http.MethodPost, "/solves/"+decided+"/ask", cookie, "do=retry"); got.Code != http.StatusForbidden {
			t.Errorf("a reader presses: %d", got.Code)
		}
	}
	if w.hub.asked != 1 || len(w.hub.pressed) != 0 {
		t.Errorf("GitHub was asked %d times for %v", w.hub.asked, w.hub.pressed)
	}
}
