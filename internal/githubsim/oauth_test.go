package githubsim_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

const (
	callback = "https://bot.example.org/signin/callback"
	verifier = "a-verifier-that-only-the-far-end-knows-0123456789"
)

// agree has a person authorize the App and returns the answer that the browser carries back.
func (w *world) agree(app githubsim.App, as, do string) url.Values {
	w.t.Helper()
	sum := sha256.Sum256([]byte(verifier))
	ask := url.Values{
		"client_id": {app.ClientID}, "redirect_uri": {callback}, "state": {"s&1"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	status, body, to := w.browse("/login/oauth/authorize?"+ask.Encode(), url.Values{"as": {as}, "do": {do}}, w.hub.URL())
	rest, ok := strings.CutPrefix(to, callback+"?")
	if status != http.StatusFound || !ok {
		w.t.Fatalf("authorize: %d to %q\n%s", status, to, body)
	}
	answer := must[url.Values](w.t)(url.ParseQuery(rest))
	if answer.Get("state") != "s&1" {
		w.t.Errorf("the state came back as %q", answer.Get("state"))
	}
	return answer
}

// exchange gives a code back for a token; change spoils the request.
func (w *world) exchange(app githubsim.App, code string, change ...string) url.Values {
	w.t.Helper()
	form := url.Values{
		"client_id": {app.ClientID}, "client_secret": {app.ClientSecret}, "code": {code},
		"redirect_uri": {callback}, "code_verifier": {verifier},
	}
	if len(change) > 0 {
		form.Set(change[0], "wrong")
	}
	_, body, _ := w.browse("/login/oauth/access_token", form, "")
	return must[url.Values](w.t)(url.ParseQuery(body))
}

// TestSigningIn walks from the page that asks to the person's account, and is refused wherever something is wrong.
func TestSigningIn(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	app, err := w.hub.RegisterApp(githubsim.AppSpec{Name: "Door", CallbackURLs: []string{callback}})
	check(t, err)
	as := func(token string) (*github.User, error) {
		u, _, err := w.anonymous().WithAuthToken(token).Users.Get(t.Context(), "")
		return u, err
	}
	answer := w.exchange(app, w.agree(app, maya, "authorize").Get("code"))
	me, err := as(answer.Get("access_token"))
	check(t, err)
	if me.GetLogin() != maya || me.GetID() == 0 {
		t.Errorf("signed in as %v", me)
	}
	if said := w.agree(app, maya, "cancel"); said.Get("error") != "access_denied" || said.Get("code") != "" {
		t.Errorf("who cancels is sent back with %v", said)
	}
	for field, want := range map[string]string{
		"client_id": "incorrect_client_credentials", "client_secret": "incorrect_client_credentials", "code": "bad_verification_code",
		"redirect_uri": "redirect_uri_mismatch", "code_verifier": "bad_verification_code",
	} {
		code := w.agree(app, maya, "authorize").Get("code")
		if got := w.exchange(app, code, field); got.Get("error") != want || got.Get("access_token") != "" {
			t.Errorf("a wrong %s: %v", field, got)
		}
	}
	code := w.agree(app, maya, "authorize").Get("code")
	w.exchange(app, code)
	if again := w.exchange(app, code); again.Get("error") == "" {
		t.Error("a code works twice")
	}
	elsewhere := url.Values{"client_id": {app.ClientID}, "redirect_uri": {"https://evil.example/"}}
	status, _, to := w.browse("/login/oauth/authorize?"+elsewhere.Encode(), url.Values{"as": {maya}, "do": {"authorize"}}, w.hub.URL())
	if status != http.StatusBadRequest || to != "" {
		t.Errorf("an address that the App does not name: %d to %q", status, to)
	}
	w.hub.Advance(9 * time.Hour)
	_, err = as(answer.Get("access_token"))
	refused(t, err, http.StatusUnauthorized)
}
