package ghapp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

func TestIdentityIsAskedOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	for range 3 {
		id, err := w.app.Identity(t.Context())
		must(t, err)
		if d := cmp.Diff(ghapp.Identity{ID: w.secrets.AppID, Slug: "yudai", Bot: "yudai[bot]"}, id); d != "" {
			t.Error(d)
		}
	}
	n := 0
	for _, r := range w.traffic.sent {
		if r.path == "/app" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	for _, role := range []string{"admin", "maintain", "write", "triage", "read"} {
		w.hub.CreateUser("user-" + role)
		must(t, w.hub.SetPermission("octo/hello", "user-"+role, role))
	}
	for login, want := range map[string]struct {
		level string
		write bool
	}{
		"user-admin": {"admin", true}, "user-maintain": {"maintain", true}, "user-write": {"write", true},
		"user-triage": {"triage", false}, "user-read": {"read", false}, "nobody-at-all": {"none", false},
		"yudai[bot]": {"none", false}, "": {"none", false},
	} {
		level, write, err := w.app.Permission(t.Context(), w.repo, login)
		if err != nil || level != want.level || write != want.write {
			t.Errorf("%q has %q, may write %v, %v", login, level, write, err)
		}
	}
	w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultServerError, Count: -1})
	if _, write, err := w.app.Permission(t.Context(), w.repo, "user-admin"); err == nil || write {
		t.Errorf("a failed look-up gives rights: %v", err)
	}
}

func TestCustomRoleCountsAsItsBase(t *testing.T) {
	t.Parallel()
	gh := &answers{answer: func(req *http.Request) *http.Response {
		return respond(req, 200, `{"permission":"write","role_name":"release-manager","user":null}`)
	}}
	level, write, err := testApp(t, gh, nil).Permission(t.Context(), testRepo, "ada")
	if level != "release-manager" || !write || err != nil {
		t.Errorf("%q, %v, %v", level, write, err)
	}
}

func TestIssue(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	issue, err := w.app.Issue(t.Context(), w.repo, w.issue)
	want := solve.Issue{Number: w.issue, Title: "It says hullo", Body: "It should say hello.", Author: "ada"}
	if d := cmp.Diff(solve.IssueNow{Issue: want, Open: true}, issue); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	must(t, w.hub.CloseIssue("octo/hello", w.issue, "ada"))
	must(t, w.hub.LockIssue("octo/hello", w.issue, true))
	if issue, err = w.app.Issue(t.Context(), w.repo, w.issue); issue.Open || !issue.Locked || err != nil {
		t.Errorf("%+v, %v", issue, err)
	}
	if _, err = w.app.Issue(t.Context(), w.repo, 999); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("no such issue: %v", err)
	}
}

func TestRepo(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	got, err := w.app.Repo(t.Context(), "octo", "hello")
	if d := cmp.Diff(w.repo, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	_, err = w.hub.CreateRepo("bob", "other", nil)
	must(t, err)
	if _, err := w.app.Repo(t.Context(), "bob", "other"); !errors.Is(err, ghapp.ErrNotInstalled) {
		t.Errorf("without the App: %v", err)
	}
	must(t, w.hub.Suspend(githubsim.Installation{ID: w.repo.Installation}))
	if _, err := w.app.Repo(t.Context(), "octo", "hello"); !errors.Is(err, ghapp.ErrNotInstalled) {
		t.Errorf("suspended: %v", err)
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	sha, err := w.hub.CommitFiles("octo/hello", "feat/slash-in-name", "x", map[string]string{"x": "y"})
	must(t, err)
	if got, err := w.app.Branch(t.Context(), w.repo, "feat/slash-in-name"); got != sha || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := w.app.Branch(t.Context(), w.repo, "feat"); !errors.Is(err, solve.ErrNotFound) || errors.Is(err, solve.ErrNoCommit) {
		t.Errorf("no such branch: %v", err)
	}
}

func TestEmptyRepositoryIsToldApart(t *testing.T) {
	t.Parallel()
	gh := &answers{answer: func(req *http.Request) *http.Response {
		return respond(req, 409, `{"message":"Git Repository is empty."}`)
	}}
	_, err := testApp(t, gh, nil).Branch(t.Context(), testRepo, "main")
	if !errors.Is(err, solve.ErrNoCommit) || !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("error is %v", err)
	}
}

// tokensMade are the requests for tokens.
func tokensMade(hub *githubsim.Hub) []string {
	var out []string
	for _, r := range hub.History() {
		if strings.HasSuffix(r.Path, "/access_tokens") {
			out = append(out, string(r.Body))
		}
	}
	return out
}

func TestTokensAreNarrowed(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		before := len(tokensMade(w.hub))
		w.store.want(w.reply("ask-1", "hello"))
		w.runUntilSettled()
		_, release, err := w.app.Clone(t.Context(), w.repo)
		must(t, err)
		must(t, release(t.Context()))
		all := tokensMade(w.hub)
		if before != 1 || len(all) != 3 {
			t.Fatalf("tokens: %v", all)
		}
		for i, want := range []string{
			`{"repository_ids":[ID],"permissions":{"contents":"read","issues":"read","metadata":"read","pull_requests":"read"}}`,
			`{"repository_ids":[ID],"permissions":{"checks":"write","contents":"write","issues":"write","metadata":"read","pull_requests":"write"}}`,
			`{"repository_ids":[ID],"permissions":{"contents":"read","metadata":"read"}}`,
		} {
			got := strings.TrimSpace(all[i])
			if k := strings.Index(got, "["); k >= 0 {
				got = got[:k] + "[ID" + got[strings.Index(got, "]"):]
			}
			if got != want {
				t.Errorf("token %d is %s\nwant %s", i, got, want)
			}
		}
	})
}

func TestEvictMintsANewToken(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	before := len(tokensMade(w.hub))
	for range 2 {
		_, err := w.app.Branch(t.Context(), w.repo, "main")
		must(t, err)
	}
	if n := len(tokensMade(w.hub)); n != before {
		t.Errorf("%d tokens more for a client that is kept", n-before)
	}
	w.app.Evict(w.repo.Installation)
	_, err := w.app.Branch(t.Context(), w.repo, "main")
	must(t, err)
	if n := len(tokensMade(w.hub)); n != before+1 {
		t.Errorf("%d tokens more after Evict", n-before)
	}
}

func TestCloneTokenReadsOneRepositoryAndIsRevoked(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]githubsim.TokenShape{"classic": githubsim.TokenClassic, "stateless": githubsim.TokenStateless} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, githubsim.Options{Tokens: shape})
			access, release, err := w.app.Clone(t.Context(), w.repo)
			must(t, err)
			if access.URL != w.cfg.WebURL+"/octo/hello.git" || strings.Contains(access.URL, "@") {
				t.Errorf("URL is %s", access.URL)
			}
			if got := len(access.Token.Reveal()); (shape == githubsim.TokenClassic) != (got == 40) {
				t.Errorf("the token has %d characters", got)
			}
			if _, err := w.app.Branch(t.Context(), w.repo, "main"); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				must(t, release(t.Context()))
			}
			if n := w.hub.Requests("DELETE", "/installation/token"); n != 1 {
				t.Errorf("revoked %d times", n)
			}
			// The shared clients go on with their own tokens.
			if _, err := w.app.Branch(t.Context(), w.repo, "main"); err != nil {
				t.Errorf("after the release: %v", err)
			}
		})
	}
}

func TestCloneNeedsTheApp(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	gone := w.repo
	gone.ID = 999999
	if _, _, err := w.app.Clone(t.Context(), gone); !errors.Is(err, ghapp.ErrNotInstalled) {
		t.Errorf("a repository the App cannot see: %v", err)
	}
	must(t, w.hub.Uninstall(githubsim.Installation{ID: w.repo.Installation}))
	if _, _, err := w.app.Clone(t.Context(), w.repo); !errors.Is(err, ghapp.ErrNotInstalled) {
		t.Errorf("uninstalled: %v", err)
	}
}

func TestCloneRefusesATokenThatOpensMore(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"write":        `"permissions":{"contents":"write","metadata":"read"}`,
		"nothing":      `"permissions":{"metadata":"read"}`,
		"more":         `"permissions":{"contents":"read","metadata":"read","issues":"write"}`,
		"another repo": `"permissions":{"contents":"read","metadata":"read"},"repositories":[{"id":70,"full_name":"o/r"},{"id":71,"full_name":"o/x"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const token = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
			revoked := false
			gh := roundTrip(func(req *http.Request) *http.Response {
				if req.Method == "DELETE" && req.URL.Path == "/installation/token" {
					revoked = req.Header.Get("Authorization") == "Bearer "+token
					return respond(req, 204, "")
				}
				return respond(req, 201, `{"token":"`+token+`","expires_at":"2099-01-01T00:00:00Z",`+answer+`}`)
			})
			_, release, err := testApp(t, gh, nil).Clone(t.Context(), testRepo)
			if err == nil || release != nil || !revoked || strings.Contains(err.Error(), token) {
				t.Errorf("error %v, revoked %v", err, revoked)
			}
		})
	}
}

type roundTrip func(req *http.Request) *http.Response

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req), nil }

func TestEnterpriseServerPathsAreKept(t *testing.T) {
	t.Parallel()
	var paths []string
	gh := roundTrip(func(req *http.Request) *http.Response {
		paths = append(paths, req.URL.Host+req.URL.Path)
		if strings.HasSuffix(req.URL.Path, "/access_tokens") {
			return respond(req, 201, `{"token":"ghs_x","expires_at":"2099-01-01T00:00:00Z","permissions":{"contents":"read","metadata":"read"}}`)
		}
		return respond(req, 200, `{"ref":"refs/heads/main","object":{"sha":"abc"}}`)
	})
	cfg := ghapp.DefaultConfig()
	cfg.WebURL, cfg.V3APIURL, cfg.V4APIURL = "https://git.corp/", "https://git.corp/api/v3/", "https://git.corp/api/graphql"
	app, err := ghapp.New(cfg, ghapp.Secrets{AppID: 5, PrivateKey: ghapp.NewSecret(testPEM())}, ghapp.Options{Transport: gh})
	must(t, err)
	_, err = app.Branch(t.Context(), testRepo, "main")
	must(t, err)
	access, _, err := app.Clone(t.Context(), testRepo)
	must(t, err)
	want := []string{
		"git.corp/api/v3/app/installations/9/access_tokens", "git.corp/api/v3/repos/o/r/git/ref/heads/main",
		"git.corp/api/v3/app/installations/9/access_tokens",
	}
	if d := cmp.Diff(want, paths); d != "" || access.URL != "https://git.corp/o/r.git" {
		t.Errorf("%s\n%s", access.URL, d)
	}
}

func TestRedirectedWriteIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.app = w.newApp(moved{w.traffic})
		w.store.want(w.reply("ask-1", "hello"))
		w.runUntilSettled()
		if e := w.store.given("ask-1", solve.EffectReply, 0); e.State != solve.EffectDead || !strings.Contains(e.Error, "301") {
			t.Errorf("effect is %s with %+v: %s", e.State, e.Receipt, e.Error)
		}
	})
}

// moved redirects the creation of comments to their list.
type moved struct{ next http.RoundTripper }

func (m moved) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == "POST" && strings.HasSuffix(req.URL.Path, "/comments") {
		return respond(req, 301, `{"message":"Moved Permanently"}`, "Location", req.URL.String()), nil
	}
	return m.next.RoundTrip(req)
}

func TestErrorsSayWhatPeopleMayRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		answer    func(req *http.Request) *http.Response
		public    string
		temporary bool
	}{
		"refused": {func(req *http.Request) *http.Response { return respond(req, 403, `{"message":"secret detail"}`) },
			"GitHub refused to read branch main (403)", false},
		"broken": {func(req *http.Request) *http.Response { return respond(req, 502, `{}`) },
			"GitHub refused to read branch main (502)", true},
		"limited": {func(req *http.Request) *http.Response { return respond(req, 429, `{}`, "Retry-After", "60") },
			"GitHub limits yudai's requests until 12:01 UTC", true},
		"cut": {func(req *http.Request) *http.Response { return respond(req, 200, ``) },
			"GitHub could not be reached", true},
		"suspended": {func(req *http.Request) *http.Response {
			return respond(req, 403, `{"message":"This installation has been suspended"}`)
		}, "yudai is suspended on this repository", true},
		"right missing": {func(req *http.Request) *http.Response {
			return respond(req, 403, `{"message":"Resource not accessible by integration"}`, "X-Accepted-GitHub-Permissions", "contents=read")
		}, "yudai was not granted the permission contents=read", false},
		"no token": {func(req *http.Request) *http.Response { return respond(req, 404, `{"message":"Not Found"}`) },
			"yudai is not installed on this repository", false},
		"no token, refused": {func(req *http.Request) *http.Response {
			return respond(req, 422, `{"message":"The permissions requested are not granted to this installation."}`)
		}, "yudai is not installed on this repository, is suspended, or was not granted its permissions", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gh http.RoundTripper = &answers{answer: test.answer}
			if strings.HasPrefix(name, "no token") {
				gh = roundTrip(test.answer)
			}
			_, err := testApp(t, gh, func() time.Time { return now }).Branch(t.Context(), testRepo, "main")
			var shown interface {
				Public() string
				Temporary() bool
			}
			if !errors.As(err, &shown) {
				t.Fatalf("error %v has nothing to show", err)
			}
			if shown.Public() != test.public || shown.Temporary() != test.temporary {
				t.Errorf("%q, temporary %v", shown.Public(), shown.Temporary())
			}
		})
	}
}

func TestNewRefusesWhatResolveWould(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]ghapp.Secrets{
		"no key": {AppID: 5},
		"no id":  {PrivateKey: ghapp.NewSecret(testPEM())},
	} {
		if _, err := ghapp.New(ghapp.DefaultConfig(), s, ghapp.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTimeoutBoundsEveryCall(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultHangBefore, Count: -1})
		w.app.Evict(w.repo.Installation)
		for name, call := range map[string]func() error{
			"identity": func() error { _, err := w.app.Identity(t.Context()); return err },
			"branch":   func() error { _, err := w.app.Branch(t.Context(), w.repo, "main"); return err },
			"clone":    func() error { _, _, err := w.app.Clone(t.Context(), w.repo); return err },
		} {
			start := time.Now()
			if err := call(); err == nil {
				t.Errorf("%s: no error", name)
			}
			if d := time.Since(start); d > w.cfg.Write.Timeout {
				t.Errorf("%s took %v", name, d)
			}
		}
	})
}
