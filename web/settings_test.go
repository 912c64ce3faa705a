package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/web"
)

// TestHealthOnTheBoard: who sees a solve sees how drivers and models are; why they fail is the operator's to know.
func TestHealthOnTheBoard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.get("/")
	wants(t, page, "<b>local</b>", "ready</span>", "since 23 November 06:00 UTC", "<b>gpt-5-mini</b>", "fails</span>",
		"check &lt;OPENAI_API_KEY&gt;", "<b>spare</b>", "not asked yet</span>", "SPARE_KEY is not set")
	page = w.ask(http.MethodGet, "/", w.signIn("reader")).Body.String()
	if wants(t, page, "<b>gpt-5-mini</b>", "fails</span>"); strings.Contains(page, "_KEY") {
		t.Errorf("a reader sees an error:\n%s", page)
	}
	if page := w.ask(http.MethodGet, "/", w.signIn("stranger")).Body.String(); strings.Contains(page, "gpt-5-mini") {
		t.Errorf("a stranger sees the models:\n%s", page)
	}
	w.pages.Health = nil
	if page := w.get("/"); strings.Contains(page, `id="parts"`) {
		t.Error("an empty list")
	}
}

// TestSettings: what somebody has set, with where, and on demand all keys.
func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.get("/settings")
	wants(t, page, "server.address", ":9090", "config.yml, line 2", "default: 127.0.0.1:8080", "a repository may set limits.run_time",
		"variable YUDAI_SOLVER_LIMITS_RUN_TIME", "all 4 keys", `<a href="/settings">Settings</a>`)
	if strings.Contains(page, "server.label") {
		t.Error("a key that nobody has set")
	}
	page = w.get("/settings?all=1")
	wants(t, page, "server.label", "&lt;b&gt;long", "only what somebody has set")
	if strings.Index(page, "<h3>server</h3>") > strings.Index(page, "server.label") || strings.Count(page, "<h3>") != 2 {
		t.Errorf("sections: %s", page)
	}
	w.settings = w.settings[1:2]
	wants(t, w.get("/settings"), "Nobody has set anything")
	if page := w.ask(http.MethodGet, "/", w.signIn("writers")).Body.String(); strings.Contains(page, `href="/settings"`) {
		t.Error("a link to a page that is not for them")
	}
	w.pages.Settings = nil
	if got := w.ask(http.MethodGet, "/settings", w.enter()); got.Code != http.StatusNotFound {
		t.Errorf("without settings: %d", got.Code)
	}
}

// TestDoctorOnThePage: a look at the page asks for nothing; the button does, and the page does not wait for it.
func TestDoctorOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wants(t, w.get("/settings"), "Nobody asked for a check", "Check now")
	if w.doctor.started != 0 {
		t.Error("reading the page began a check")
	}
	cookie := w.enter()
	if got := w.send(http.MethodPost, "/settings/check", cookie, ""); got.Header().Get("Location") != "/settings" || w.doctor.started != 1 {
		t.Errorf("%d %v, %d checks", got.Code, got.Header(), w.doctor.started)
	}
	if page := w.get("/settings"); !strings.Contains(page, "The check is running") || strings.Contains(page, "Check now") {
		t.Errorf("while it runs:\n%s", page)
	}
	found := web.Checkup{Began: start(), Findings: []web.Finding{{Level: web.Good, What: "git", Text: "new <enough>"}}}
	w.doctor.find(found)
	wants(t, w.get("/settings"), "Everything fits.", "new &lt;enough&gt;", "23 November 06:00 UTC", "a minute after this one")
	found.Findings = append(found.Findings, web.Finding{Level: web.Unsure, What: "secrets", Text: "x", Fix: "chmod 600 x"})
	w.doctor.find(found)
	wants(t, w.get("/settings"), "It works, with 1 warning.", "chmod 600 x")
	found.Ready, found.Findings = true, append(found.Findings, web.Finding{Level: web.Bad, What: "model", Text: "y"})
	w.doctor.find(found)
	wants(t, w.get("/settings"), "1 finding to mend, 1 warning.", "Check now")
}
