package e2e_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"
)

// TestPagesOfASolve opens the printed link after a real solve, and reads every page of it: they come from what the engine stored.
func TestPagesOfASolve(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "02_command")
	w := newWorld(t, a)
	srv, stop := w.serve()
	w.openIssue(a)
	w.trigger(s)
	v := w.final(srv, 2*time.Minute)
	jar, err := cookiejar.New(nil)
	w.must(err)
	browser := &http.Client{Jar: jar}
	read := func(url string) string {
		answer, err := browser.Get(url)
		w.must(err)
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		w.must(err)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", url, answer.Status, data)
		}
		return string(data)
	}
	base, page := "http://"+srv.Addr(), "/solves/"+string(v.Solve.ID)
	read(srv.PageURL("/"))
	for path, want := range map[string]string{
		page:                                "is the champion",
		"/":                                 v.Solve.Issue.Title,
		page + "/runs/1":                    `class="stepcard`,
		page + "/logs/run-1.log":            ">1\n2\n",
		page + "/logs/run-1.log/raw":        "$ ",
		page + "/logs/run-1-tests.log":      "block",
		page + "/logs/base-tests.log":       "block",
		page + "/logs/run-1.log/stream":     "event: end",
		page + "/logs/run-1.log/search?q=$": `"total":`,
		page + "/files/run-1.patch":         "diff --git",
		page + "/files/run-1.traj.json":     "trajectory_format",
		page + "/bundle":                    "statement",
	} {
		if text := read(base + path); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%.2000s", path, want, text)
		}
	}
	jar, err = cookiejar.New(nil)
	w.must(err)
	browser.Jar = jar
	if answer, err := browser.Get(base + page); err != nil || answer.StatusCode == http.StatusOK {
		t.Errorf("without a session: %v %v", answer, err)
	}
	live, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.PageURL("/live"), http.NoBody)
	w.must(err)
	answer, err := browser.Do(live)
	w.must(err)
	defer answer.Body.Close()
	began := time.Now()
	stop() // an open stream does not hold the end up
	if took := time.Since(began); took > w.cfg.Server.ShutdownTimeout/2 {
		t.Errorf("it took %s to stop", took)
	}
}
