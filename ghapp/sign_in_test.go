package ghapp_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

const (
	callback = "https://bot.example.org/signin/callback"
	verifier = "a-verifier-that-only-this-side-knows-0123456789"
)

// agree is a browser in which ada agrees to sign in; it returns the code.
func (w *world) agree(address string) string {
	w.t.Helper()
	form := url.Values{"as": {"ada"}, "do": {"authorize"}}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	must(w.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := w.hub.Transport().RoundTrip(req)
	must(w.t, err)
	must(w.t, answer.Body.Close())
	to, err := url.Parse(answer.Header.Get("Location"))
	must(w.t, err)
	if to.Query().Get("state") != "the state" {
		w.t.Fatalf("GitHub sends the browser to %s (%s)", to, answer.Status)
	}
	return to.Query().Get("code")
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		door, err := w.hub.RegisterApp(githubsim.AppSpec{Name: "door", Key: testKey(), CallbackURLs: []string{callback}})
		must(t, err)
		if w.app.SignIn(ghapp.NewSecret("x"), callback) != nil {
			t.Error("one can sign in without a client ID")
		}
		w.cfg.App.ClientID = door.ClientID
		app := w.newApp(w.traffic)
		if app.SignIn(ghapp.Secret{}, callback) != nil {
			t.Error("one can sign in without a client secret")
		}
		in := app.SignIn(ghapp.NewSecret(door.ClientSecret), callback)
		ada, err := in.Person(t.Context(), w.agree(in.URL("the state", verifier)), verifier)
		must(t, err)
		if want := w.hub.CreateUser("ada"); ada.ID != want.ID || ada.Login != "ada" {
			t.Errorf("signed in as %+v, want %+v", ada, want)
		}
		code := w.agree(in.URL("the state", verifier))
		_, err = in.Person(t.Context(), code, verifier+"x")
		if err == nil || !strings.Contains(err.Error(), "bad_verification_code") || strings.Contains(err.Error(), code) {
			t.Errorf("another verifier: %v", err)
		}
		_, err = app.SignIn(ghapp.NewSecret("wrong-secret"), callback).Person(t.Context(), w.agree(in.URL("the state", verifier)), verifier)
		if err == nil || !strings.Contains(err.Error(), "incorrect_client_credentials") || strings.Contains(err.Error(), "wrong-secret") {
			t.Errorf("another secret: %v", err)
		}
	})
}

// TestAccess: what a person may do depends on the account, not on who has its name by now.
func TestAccess(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		person := func(login string) solve.Person { return solve.Person{ID: w.hub.CreateUser(login).ID, Login: login} }
		w.hub.CreateUser("rita")
		must(t, w.hub.SetPermission("octo/hello", "rita", "read"))
		must(t, w.hub.SetPrivate("octo/hello", true))
		for _, c := range []struct {
			who  solve.Person
			want solve.Access
		}{
			{person("ada"), solve.Access{Reads: true, Writes: true}},
			{person("rita"), solve.Access{Reads: true}},
			{person("mallory"), solve.Access{}},
			{solve.Person{ID: person("mallory").ID, Login: "ada"}, solve.Access{}},
			{solve.Person{ID: 1, Login: "nobody-has-this-name"}, solve.Access{}},
			{solve.Person{}, solve.Access{}},
		} {
			if got, err := w.app.Access(t.Context(), w.repo, c.who); err != nil || got != c.want {
				t.Errorf("%+v may %+v (%v), want %+v", c.who, got, err, c.want)
			}
		}
		must(t, w.hub.SetPrivate("octo/hello", false))
		if got, err := w.app.Access(t.Context(), w.repo, person("mallory")); err != nil || got != (solve.Access{Reads: true}) {
			t.Errorf("a stranger may %+v in a public repository (%v)", got, err)
		}
	})
}
