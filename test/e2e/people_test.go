package e2e_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/web"
)

// TestPeopleOnThePages signs in with GitHub in two browsers: who may write presses a button, and the engine answers on
// the issue as it answers a comment; for who may not read, the solve is not there.
func TestPeopleOnThePages(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "02_command")
	w := newWorld(t, a)
	l := listen(t)
	w.cfg.Server.Address = l.Addr().String()
	w.cfg.Server.PublicURL = "http://" + l.Addr().String()
	w.must(l.Close())
	door, err := w.hub.RegisterApp(githubsim.AppSpec{Name: "door", CallbackURLs: []string{web.CallbackURL(w.cfg.Server.PublicURL)}})
	w.must(err)
	w.cfg.GitHub.App.ClientID, w.env["GITHUB_APP_CLIENT_SECRET"] = door.ClientID, door.ClientSecret
	w.hub.CreateUser("mallory")
	w.must(w.hub.SetPrivate(w.repo.FullName(), true))
	srv, _ := w.serve()
	w.openIssue(a)
	w.trigger(s)
	v := w.final(srv, 2*time.Minute)
	path := "/solves/" + string(v.Solve.ID)
	client, seen := w.signsIn(user, path)
	if !strings.Contains(seen, "is the champion") {
		t.Fatalf("%s sees\n%.2000s", user, seen)
	}
	check := regexp.MustCompile(`name="check" value="([0-9a-f]+)"`).FindStringSubmatch(seen)
	answer, err := client.PostForm(w.cfg.Server.PublicURL+path+"/ask", url.Values{"do": {"cancel"}, "check": {check[1]}})
	w.must(err)
	w.must(answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the button: %s", answer.Status)
	}
	w.poll(20*time.Second, func() bool { return w.comments("has already ended: solved") == 1 })
	if _, seen := w.signsIn("mallory", path); !strings.Contains(seen, "There is no such page") || strings.Contains(seen, "champion") {
		t.Errorf("mallory sees\n%.2000s", seen)
	}
}

// signsIn opens a page as somebody who signs in on the way, and returns the browser and what it shows in the end.
func (w *world) signsIn(login, path string) (*http.Client, string) {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	w.must(err)
	client := &http.Client{Jar: jar}
	read := func(answer *http.Response, err error) string {
		w.must(err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		w.must(err)
		return string(text)
	}
	ask := read(client.Get(w.cfg.Server.PublicURL + path))
	link := regexp.MustCompile(`href="(http[^"]*/signin\?[^"]*)"`).FindStringSubmatch(ask)
	if link == nil {
		w.t.Fatalf("no way in:\n%s", ask)
	}
	asked, err := client.Get(link[1])
	if text := read(asked, err); !strings.Contains(text, "Authorize door") {
		w.t.Fatalf("GitHub shows\n%s", text)
	}
	return client, read(client.PostForm(asked.Request.URL.String(), url.Values{"as": {login}, "do": {"authorize"}}))
}
