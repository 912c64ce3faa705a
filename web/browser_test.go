package web_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
	"github.com/yudai-dev/yudai/web"
)

// screenshots rewrites the pictures in docs/images.
var screenshots = flag.Bool("screenshots", false, "rewrite the pictures in docs/images")

// browser is the one browser of the package's tests; problems is what its console complained of.
type browser struct {
	t        *testing.T
	tab      context.Context
	base     string
	axe      string // the checker of accessibility
	problems []string
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	require.Daily(t)
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
		}
	}
	if program == "" {
		require.Need(t, "browser", errors.New("no chromium here"))
	}
	profile, err := os.MkdirTemp("", "yudai-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // processes of the browser may write a little longer
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program), chromedp.UserDataDir(profile)}
	for _, name := range []string{
		"headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking", "disable-component-update",
		"disable-sync", "hide-scrollbars", "disable-dev-shm-usage",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	all, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	tab, closed := chromedp.NewContext(all, chromedp.WithErrorf(func(format string, args ...any) {
		if !strings.HasPrefix(format, "unhandled node event") { // it does not know of dialogs
			fmt.Fprintf(os.Stderr, format+"\n", args...)
		}
	}))
	t.Cleanup(func() {
		closed()
		end()
	})
	b := &browser{t: t, tab: tab, base: base, axe: axeScript(t)}
	chromedp.ListenTarget(tab, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			b.problems = append(b.problems, e.Entry.Text+" "+e.Entry.URL)
		}
	})
	b.do(log.Enable())
	return b
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.tab, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open opens a page and waits until its parts are there.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitReady("main"))
}

// await waits until an expression is true.
func (b *browser) await(what string) {
	b.t.Helper()
	ok := false
	if err := chromedp.Run(b.tab, chromedp.Poll(what, &ok, chromedp.WithPollingTimeout(30*time.Second))); err != nil {
		b.t.Fatalf("%v: never %s", err, what)
	}
}

// number is what an expression comes to.
func (b *browser) number(what string) (n float64) {
	b.t.Helper()
	b.do(chromedp.Evaluate(what, &n))
	return n
}

// look shows the page in a colour scheme and a width. It may not be wider than the window.
func (b *browser) look(scheme string, width int64, picture string) {
	b.t.Helper()
	b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(width, 760))
	if over := b.number("document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
		b.t.Errorf("%s, %s at %d: %v pixels too wide", picture, scheme, width, over)
	}
	b.accessible(fmt.Sprintf("%s at %d", scheme, width))
	var image []byte
	if !*screenshots || picture == "" {
		return
	}
	b.do(chromedp.CaptureScreenshot(&image))
	if err := os.WriteFile(filepath.Join("..", "docs", "images", picture), image, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// TestInABrowser walks the pages in one browser: light, dark, narrow, live, with a large log. Its console stays empty.
func TestInABrowser(t *testing.T) {
	w := newWorld(t)
	w.store.files[decided+"/base-tests.log"] = largeLog(100_000)
	b := newBrowser(t, w.serve())
	b.open("/")
	b.look("light", 360, "") // the form
	b.problems = nil         // its status is 401, which the console tells
	b.signsIn(w)
	b.open(w.pages.PageLink("/"))
	for path, name := range map[string]string{
		"/": "board", "/repositories": "repositories", "/settings?all=1": "settings", "/solves/" + decided: "solve", "/solves/" + atWork: "work", "/solves/" + decided + "/runs/1": "run",
		"/solves/" + decided + "/logs/run-1.log": "log", "/solves/" + decided + "?diff=1&against=2": "against", "/solves/" + decided + "/compare?runs=1,2,3": "compare",
	} {
		b.open(path)
		b.look("light", 360, "")
		b.look("dark", 1120, map[string]string{"run": "page-run.png"}[name])
		b.look("light", 1120, map[string]string{"solve": "page-solve.png"}[name])
	}
	b.asksTheDoctor(w)
	b.usesKeys()
	b.seesManyRuns(w)
	b.followsARun(w)
	b.followsALog(w)
	b.readsALargeLog()
	if len(b.problems) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(b.problems, "\n"))
	}
}

// signsIn walks the way by GitHub as a reader, who sees no buttons, and as a writer, who presses two; then it is nobody.
func (b *browser) signsIn(w *world) {
	b.t.Helper()
	w.pages.PublicURL = b.base
	const asks = `document.querySelectorAll("#actions form").length`
	for who, want := range map[string]float64{"reader": 0, "writers": 3} {
		w.hub.agree = who
		b.open("/solves/" + decided)
		b.problems = nil
		b.do(chromedp.Click("a.main"), chromedp.WaitReady("#race"))
		if got := b.number(asks); got != want {
			b.t.Errorf("%s sees %v forms", who, got)
		}
		b.look("light", 360, "")
		b.look("dark", 1120, "")
		if who == "writers" {
			b.do(chromedp.Click("#actions summary"), chromedp.SendKeys("#revision", "keep the name"), chromedp.Click("button[value=revise]"),
				chromedp.WaitReady("#actions [role=status]"))
			b.look("light", 360, "")
			b.look("light", 1120, "page-buttons.png")
			b.open("/solves/" + atWork)
			b.do(chromedp.Click("button[value=cancel]"), chromedp.WaitReady("#actions [role=status]"))
			if got := strings.Join(w.hub.pressed, ";"); got != "writers revise keep the name;writers cancel " {
				b.t.Errorf("pressed: %q", got)
			}
		}
		b.open("/sessions")
		b.look("light", 360, "")
		b.do(chromedp.Click(".out button"), chromedp.WaitReady("a.main"))
		b.look("dark", 360, "") // the ways in
		b.problems = nil
	}
}

// usesKeys walks from the map of the keys to a solve, its second run, and the first failure there.
func (b *browser) usesKeys() {
	b.t.Helper()
	b.open("/repositories")
	b.do(chromedp.KeyEvent("?"))
	b.await(`document.getElementById("keys").open`)
	b.look("dark", 360, "")
	b.look("light", 1120, "")
	b.do(chromedp.KeyEvent("s")) // not while the map is open
	b.do(chromedp.KeyEvent("\u001b"))
	b.await(`!document.getElementById("keys").open && location.pathname === "/repositories"`)
	b.do(chromedp.KeyEvent("s"), chromedp.WaitReady("a.card"))
	b.open("/solves/" + decided)
	b.do(chromedp.KeyEvent("jjjk\r"), chromedp.WaitReady("#log"), chromedp.KeyEvent("e"))
	b.await(`location.pathname.endsWith("/runs/2") && location.hash === "#L4" && !!document.querySelector("div.mark")`)
}

// asksTheDoctor: what the doctor finds appears while it looks, without a reload.
func (b *browser) asksTheDoctor(w *world) {
	b.t.Helper()
	b.open("/settings")
	b.do(chromedp.Click("#doctor button"), chromedp.WaitReady("#doctor [role=status]"), chromedp.Evaluate(`window.mine = true`, nil))
	b.await(`document.getElementById("connection").textContent === "live"`)
	found := web.Checkup{Began: start(), Running: true, Findings: []web.Finding{{Level: web.Good, What: "git", Text: "new enough"}}}
	w.doctor.find(found)
	b.await(`document.querySelector("#doctor td .good") !== null && window.mine`)
	found.Running = false
	found.Findings = append(found.Findings,
		web.Finding{Level: web.Good, What: "sandbox", Text: "local: bubblewrap, fork by overlay"},
		web.Finding{Level: web.Unsure, What: "secrets", Text: "every user of this machine can read secrets/key.pem", Fix: "chmod 600 secrets/key.pem"},
		web.Finding{Level: web.Bad, What: "model", Text: "model gpt-5-mini: the key was refused (HTTP 401); check OPENAI_API_KEY", Fix: "mend what is named"})
	w.doctor.find(found)
	b.await(`document.querySelector("#doctor .answer.bad") !== null && window.mine`)
	b.look("light", 1120, "page-settings.png")
	found.Findings = append(found.Findings, web.Finding{Level: web.Bad, What: "model", Text: "gone " + strings.Repeat("x", 300)})
	w.doctor.find(found)
	b.await(`document.querySelectorAll("#doctor td .bad").length === 2`)
	b.look("dark", 360, "")
}

// seesManyRuns: the grid and the columns of more runs than a telephone is wide do not widen the page.
func (b *browser) seesManyRuns(w *world) {
	b.t.Helper()
	w.store.change(func() {
		for n := 4; n <= 20; n++ {
			r := w.store.runs[decided][1]
			r.N = n
			w.store.runs[decided] = append(w.store.runs[decided], r)
		}
		w.store.runs[decided][0].Verdict.FixedTests = []string{"example.com/a/module/with/a/long/name.TestWithALongName/" + strings.Repeat("sub", 60)}
	})
	for _, path := range []string{"?diff=1&against=2", "/compare?runs=1,2,3"} {
		b.open("/solves/" + decided + path)
		b.look("dark", 360, "")
		b.look("light", 1120, "")
	}
}

// followsARun: a change is on the page without a reload, and what was opened stays open.
func (b *browser) followsARun(w *world) {
	b.t.Helper()
	b.open("/solves/" + atWork)
	b.do(chromedp.Evaluate(`window.mine = true; document.querySelector("#events").open = false`, nil))
	b.await(`document.getElementById("connection").textContent === "live"`)
	w.store.say(turn(20, "", "go vet ./...", "fine\n", 0)...)
	b.await(`document.querySelector(".last").textContent === "$ go vet ./..."`)
	if b.number(`Number(window.mine && !document.querySelector("#events").open)`) != 1 {
		b.t.Error("the page was loaded again, or opened what was closed")
	}
}

// followsALog: 40,000 lines come while it is followed; none is lost or doubled, and the page stays usable.
func (b *browser) followsALog(w *world) {
	b.t.Helper()
	b.open("/solves/" + atWork + "/runs/1")
	b.await(`document.querySelector(".follow").textContent === "following" && document.getElementById("connection").textContent === "live"`)
	b.do(chromedp.Evaluate(`window.blocked = 0;
		new PerformanceObserver((l) => l.getEntries().forEach((e) => { window.blocked += e.duration; })).observe({type: "longtask"})`, nil))
	before := b.number(`Number(document.querySelector(".block:last-child .n").textContent.trim().split("\n").at(-1))`)
	for n := range 8 {
		w.store.say(turn(30+n, "", "make", largeLog(5_000), 0)...)
	}
	want := int(before) + 8*5_001
	b.await(fmt.Sprintf(`document.querySelector(".block:last-child .n").textContent.trim().endsWith("\n%d")`, want))
	const numbers = `[...document.querySelectorAll(".lines .n")].map((p) => p.textContent).join("").trim().split("\n")`
	if b.number(`Number(`+numbers+`.every((n, i) => Number(n) === i + 1))`) != 1 {
		b.t.Error("the numbers of the lines have gaps or come twice")
	}
	if b.number(`[...document.querySelectorAll(".lines .t")].map((p) => p.textContent).join("").split("\n").length - 1`) != float64(want) {
		b.t.Error("there are other lines than numbers")
	}
	b.t.Logf("40,000 lines while following: main thread blocked for %.0f ms", b.number("window.blocked"))
	w.store.change(func() { w.store.runs[atWork][0].State = solve.RunCancelled })
	b.await(`document.querySelector(".follow").hidden && document.querySelector("#head .pill").textContent.includes("cancelled")`)
}

// readsALargeLog measures a log of 100,000 lines, goes to a line of it, and searches it.
func (b *browser) readsALargeLog() {
	b.t.Helper()
	b.open("/solves/" + decided + "/logs/base-tests.log?from=1")
	const painted = `(performance.getEntriesByName("first-contentful-paint")[0] ?? {startTime: 0}).startTime`
	b.await(painted + ` > 0 && document.readyState === "complete"`)
	nodes := b.number(`(() => { const w = document.createTreeWalker(document, NodeFilter.SHOW_ALL); let n = 0;
		while (w.nextNode()) n++; return n; })()`)
	if nodes > 5_000 {
		b.t.Errorf("%v nodes", nodes)
	}
	b.t.Logf("100,000 lines: painted after %.0f ms, loaded after %.0f ms, %v nodes", b.number(painted),
		b.number(`performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd`), nodes)
	const marked = `(() => { const m = document.querySelector("div.mark"), l = document.querySelector(".lines");
		if (!m) return 0;
		const r = m.getBoundingClientRect(), a = l.getBoundingClientRect();
		return r.top >= a.top && r.bottom <= a.bottom ? Number(m.parentElement.dataset.first) + Math.round(parseFloat(m.style.top) / 20) : 0;
	})()`
	b.do(chromedp.Evaluate(`location.hash = "L90000-L90002"`, nil))
	b.await(marked + " === 90000")
	b.do(chromedp.SendKeys("input[name=q]", "line 99999 \r"))
	b.await(marked + ` === 99999 && document.querySelector(".hits").textContent === "1 of 1"`)
}
