package e2e_test

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/internal/githubsim/openapi"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/test/require"
)

// screenshots rewrites the pictures in docs/images.
var screenshots = flag.Bool("screenshots", false, "rewrite the pictures in docs/images")

// requireBrowser finds a browser, or skips, unless there has to be one.
func requireBrowser(t *testing.T) string {
	t.Helper()
	require.Daily(t)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.Need(t, "browser", errors.New("no chromium here"))
	return ""
}

// browser is one browser with a fresh profile; tab is its first tab.
type browser struct {
	t      *testing.T
	tab    context.Context
	images string // where pictures go
}

func newBrowser(t *testing.T, program string) *browser {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1000, 700),
	}
	for _, name := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
		"disable-component-update", "disable-sync", "hide-scrollbars", "disable-dev-shm-usage",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	all, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	tab, closed := chromedp.NewContext(all)
	t.Cleanup(func() {
		closed()
		end()
	})
	images, err := filepath.Abs(filepath.Join("..", "..", "docs", "images"))
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, tab, images}
}

// do runs actions in the tab, bounded.
func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.tab, actions...); err != nil { // the tab's own context: a shorter one would end the browser with it
		b.t.Fatal(err)
	}
}

// await waits until a page with this headline is there; pages reload by themselves.
func (b *browser) await(headline string) {
	b.t.Helper()
	b.awaitThat(headline, func(h, _ string) bool { return h == headline })
}

// awaitText waits until the page says something.
func (b *browser) awaitText(want string) {
	b.t.Helper()
	b.awaitThat(want, func(_, text string) bool { return strings.Contains(text, want) })
}

func (b *browser) awaitThat(what string, ok func(headline, text string) bool) {
	b.t.Helper()
	const look = `[(document.querySelector("h1") || {innerText: ""}).innerText, document.body.innerText, document.readyState]`
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var seen []string
	for end := time.After(30 * time.Second * patience); ; {
		err := chromedp.Run(b.tab, chromedp.Evaluate(look, &seen)) // fails while a page is being replaced
		if err == nil && seen[2] == "complete" && ok(seen[0], seen[1]) {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			b.t.Fatalf("no page with %q (%v); there is: %q", what, err, seen)
		}
	}
}

// picture keeps a picture of the page for the documentation.
func (b *browser) picture(name string) {
	b.t.Helper()
	if !*screenshots {
		return
	}
	var image []byte
	b.do(chromedp.EmulateViewport(1000, 700), chromedp.CaptureScreenshot(&image))
	if err := os.WriteFile(filepath.Join(b.images, name), image, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// fill replaces what stands in a field.
func fill(field, value string) chromedp.Action {
	return chromedp.SetValue(field, value, chromedp.ByQuery)
}

func click(what string) chromedp.Action { return chromedp.Click(what, chromedp.ByQuery) }

// newUnregistered is a world whose GitHub knows no App, under another name than
// ours: the way there and back crosses sites, as in life.
func newUnregistered(t *testing.T, a *txtar.Archive) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), env: map[string]string{}}
	w.hub = githubsim.New(githubsim.Options{Dir: filepath.Join(w.dir, "github"), APIPrefix: "/api/v3", Tokens: githubsim.TokenAlternate})
	l := listen(t)
	w.hub.SetBaseURL(strings.Replace("http://"+l.Addr().String(), "127.0.0.1", "localhost", 1))
	served := make(chan error, 1)
	go func() { served <- w.hub.Serve(l) }()
	t.Cleanup(func() {
		w.must(w.hub.Close())
		w.must(<-served)
	})
	w.hub.CreateUser(user)
	files := map[string]string{}
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "repo/"); ok {
			files[name] = string(f.Data)
		}
	}
	var err error
	w.repo, err = w.hub.CreateRepo(owner, "project", files)
	w.must(err)
	w.must(w.hub.SetPermission(w.repo.FullName(), user, "write"))
	w.cfg = w.config(a)
	builtIn := server.Default().GitHub
	w.cfg.GitHub.WebURL, w.cfg.GitHub.V3APIURL, w.cfg.GitHub.V4APIURL = builtIn.WebURL, builtIn.V3APIURL, builtIn.V4APIURL
	if files["run.sh"] != "" {
		w.cfg.Solver.Tests.Command, w.cfg.Solver.Tests.Format, w.cfg.Solver.Tests.Report = "sh run.sh", "junit", "report.xml"
	}
	api, err := openapi.New("/api/v3")
	w.must(err)
	w.github = api.Transport(http.DefaultTransport, func(err error) { t.Errorf("traffic does not fit GitHub's description: %v", err) })
	return w
}

// TestSetupInABrowser walks from the printed link to a solved issue, in one process.
func TestSetupInABrowser(t *testing.T) {
	program := requireBrowser(t)
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newUnregistered(t, a)
	b := newBrowser(t, program)
	t.Chdir(w.dir)
	w.cfg.Store.Path, w.cfg.Sandbox.Local.Dir = server.Default().Store.Path, server.Default().Sandbox.Local.Dir // as without config.yml
	log := &logBuffer{}
	set, err := server.NewSetup(t.Context(), w.cfg, server.Where{}, server.Options{
		Getenv: func(k string) string { return w.env[k] }, Log: zerolog.New(log), Transport: w.github,
	})
	w.must(err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- set.Run(ctx) }()
	base := "http://" + set.Addr()

	b.do(chromedp.Navigate(set.URL()))
	b.register(w.hub.URL(), base)
	b.install(w.repo.FullName())
	b.await("Everything fits")
	b.picture("setup-5-fits.png")
	left := filepath.Join(filepath.Dir(w.cfg.Store.Path), "secrets", "new-app.json")
	w.must(os.WriteFile(left, []byte("{}"), 0o600)) // as if killed right after the last step
	b.do(click("#done"))
	b.await("yudai serves")
	b.picture("setup-6-serves.png")
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("GitHub's answer is left on the disk: %v", err)
	}

	for path, want := range map[string]int{"/setup": 404, "/setup/check": 404, "/healthz": 200, "/docs": 200} {
		resp, err := http.Get(base + path)
		w.must(err)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s when the set-up is done: %d, want %d", path, resp.StatusCode, want)
		}
	}
	w.openIssue(a)
	w.must(w.hub.Label(w.repo.FullName(), w.issue, user, w.cfg.Server.Label))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	w.awaitComments([]string{"Solved"})
	if pulls := w.pulls(); len(pulls) != 1 {
		t.Errorf("%d pull requests", len(pulls))
	}
	stop()
	w.must(<-done)
	w.nothingLeaked(log.String(), set.URL())
}

// register fills the first page in and creates the App on GitHub's page.
func (b *browser) register(github, base string) {
	b.t.Helper()
	b.await("Set up yudai")
	location := ""
	b.do(chromedp.Location(&location))
	if location != base+"/setup" {
		b.t.Errorf("the token stays in the address bar: %s", location)
	}
	b.do(fill("#public_url", "https://yudai.example.org"), fill("#owner", "acme"))
	b.picture("setup-1-describe.png")
	b.do(fill("#public_url", "https://localhost"), click("#next"))
	b.awaitText("GitHub cannot reach this machine under that name")
	b.do(fill("#public_url", base), fill("#owner", owner), fill("#github", github), click("#next"))
	b.await("Create the App on GitHub")
	b.picture("setup-2-create.png")
	b.do(click("#create"))
	b.await("Create GitHub App for " + owner)
	b.picture("setup-3-github.png")
	b.do(click("#create"))
	b.await("Install and check")
}

// install opens GitHub's page in a tab of its own, and chooses the repository.
func (b *browser) install(repo string) {
	b.t.Helper()
	b.awaitText("its signature is right")
	b.picture("setup-4-check.png")
	opened := chromedp.WaitNewTarget(b.tab, func(i *target.Info) bool { return i.Type == "page" })
	b.do(click("#install"))
	tab, end := chromedp.NewContext(b.tab, chromedp.WithTargetID(<-opened))
	defer end()
	other := &browser{b.t, tab, b.images}
	other.await("Install yudai")
	other.do(click(`input[value="`+repo+`"]`), click("#install"))
	other.await("yudai is installed")
}

// nothingLeaked: what the set-up wrote is closed to others, and not in the log.
func (w *world) nothingLeaked(log, link string) {
	w.t.Helper()
	_, token, _ := strings.Cut(link, "=")
	if strings.Contains(log, token) {
		w.t.Error("the token is in the log")
	}
	for _, name := range []string{"github-app.pem", "webhook-secret", "client-secret"} {
		path := filepath.Join(filepath.Dir(w.cfg.Store.Path), "secrets", name)
		data, err := os.ReadFile(path)
		w.must(err)
		info, err := os.Stat(path)
		w.must(err)
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		if info.Mode().Perm() != 0o600 || strings.Contains(log, lines[len(lines)/2]) {
			w.t.Errorf("%s has mode %v, or is in the log", name, info.Mode())
		}
	}
}
