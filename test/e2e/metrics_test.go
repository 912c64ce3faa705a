package e2e_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// page reads a page of the server.
func (w *world) page(addr, path string) (status int, text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	w.must(err)
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	w.must(err)
	return res.StatusCode, string(data)
}

// numbers are the values of a scrape, by name with labels.
func (w *world) numbers(addr string) map[string]float64 {
	w.t.Helper()
	status, text := w.page(addr, "/metrics")
	if status != http.StatusOK {
		w.t.Fatalf("/metrics answers %d: %s", status, text)
	}
	found, err := promlint.New(strings.NewReader(text)).Lint()
	w.must(err)
	for _, p := range found {
		w.t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if strings.Contains(text, w.repo.Name) || strings.Contains(text, user) {
		w.t.Error("the metrics hold a name")
	}
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && name != "#" {
			out[name], err = strconv.ParseFloat(value, 64)
			w.must(err)
		}
	}
	return out
}

// TestMetricsOfASolve: a real solve is seen while it runs and after it ended, in
// numbers that fit what the store and GitHub say.
func TestMetricsOfASolve(t *testing.T) {
	t.Parallel()
	require.Long(t)
	requireSandbox(t)
	a, s := load(t, "01_label")
	w := newWorld(t, a)
	srv, stop := w.serve()
	w.openIssue(a)
	w.trigger(s)
	w.until(srv, 4*time.Minute, func(v report.View) bool { return v.Solve.State == solve.StateRunning })
	during := w.numbers(srv.Addr())
	v := w.final(srv, 4*time.Minute)
	if v.Solve.State != solve.StateSolved {
		t.Fatalf("the solve is %s: %s", v.Solve.State, v.Solve.Reason)
	}
	if during[`yudai_sandbox_opens_total{driver="local",result="opened"}`] == 0 || during[`yudai_github_requests_total{class="2xx"}`] == 0 {
		t.Errorf("while it runs: %v", during)
	}
	w.poll(10*time.Second, func() bool { return w.numbers(srv.Addr())[`yudai_sandboxes_open{driver="local"}`] == 0 })
	w.poll(10*time.Second, func() bool { return w.numbers(srv.Addr())[`yudai_solves{state="publishing"}`] == 0 })
	got := w.numbers(srv.Addr())
	var calls, passed float64
	for _, r := range v.Runs {
		calls += float64(r.Progress.Usage.Calls)
		if r.State == solve.RunPassed {
			passed++
		}
	}
	for name, want := range map[string]float64{
		`yudai_deliveries_total{event="issues",result="stored"}`:      1,
		`yudai_solves_ended_total{state="solved"}`:                    1,
		`yudai_runs_ended_total{state="passed"}`:                      passed,
		`yudai_github_writes_total{kind="pull",outcome="written"}`:    1,
		`yudai_github_writes_total{kind="result",outcome="written"}`:  1,
		`yudai_github_writes_total{kind="outcome",outcome="written"}`: 1,
		`yudai_sandbox_closes_total{driver="local",result="closed"}`:  got[`yudai_sandbox_opens_total{driver="local",result="opened"}`],
		`yudai_solves{state="running"}`:                               0,
		`yudai_runs{state="working"}`:                                 0,
		`yudai_oldest_waiting_solve_seconds`:                          0,
	} {
		if got[name] != want {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
	var counted float64
	for name, n := range got {
		if strings.HasPrefix(name, "yudai_model_calls_total{") && strings.Contains(name, `result="answered"`) {
			counted += n
		}
	}
	if counted != calls || calls == 0 {
		t.Errorf("%g model calls were counted, the runs made %g", counted, calls)
	}
	left := `{installation="` + strconv.FormatInt(v.Solve.Repo.Installation, 10) + `"}`
	if got["yudai_github_writes_left"+left] <= 0 || got["yudai_store_bytes"] <= 0 || got["yudai_store_commits_total"] <= 0 {
		t.Errorf("left %g, bytes %g, commits %g", got["yudai_github_writes_left"+left], got["yudai_store_bytes"], got["yudai_store_commits_total"])
	}
	if status, text := w.page(srv.Addr(), "/readyz"); status != http.StatusOK || text != "ready\n" {
		t.Errorf("/readyz: %d %q", status, text)
	}
	stop()

	// With an address of their own they are not on the public one.
	own := freeAddress(t)
	w.cfg.Server.MetricsAddress = own
	srv, _ = w.serve()
	w.numbers(own)
	w.poll(10*time.Second, func() bool { status, _ := w.page(own, "/readyz"); return status == http.StatusOK })
	if status, _ := w.page(srv.Addr(), "/metrics"); status != http.StatusNotFound {
		t.Errorf("the public /metrics answers %d", status)
	}
}

// freeAddress is an address on this machine at which nothing listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
