package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// scrape reads the values of our metrics, by name with labels, without those that are 0.
func scrape(t *testing.T, m server.Metered) map[string]string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("scraped %d: %s", rec.Code, rec.Body)
	}
	text := rec.Body.String()
	found, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		if strings.HasPrefix(p.Metric, "yudai_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "yudai_") && value != "0" {
			out[strings.TrimPrefix(name, "yudai_")] = value
		}
	}
	return out
}

// TestMetricsAskForTheToken where others than this machine can reach them.
func TestMetricsAskForTheToken(t *testing.T) {
	t.Parallel()
	numbers := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	const token = "a-token-of-the-api"
	for _, c := range listeners() {
		for header, right := range map[string]bool{"": false, "Bearer " + token: true, "Bearer wrong": false, "Bearer ": false, token: false} {
			for set, known := range map[string]bool{token: true, "": false} {
				req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
				req.Header.Set("Authorization", header)
				rec := httptest.NewRecorder()
				server.PublicMetrics(server.Listen{Address: c.address, PublicURL: c.public, Metrics: true}, numbers, ghapp.NewSecret(set)).ServeHTTP(rec, req)
				if ok := rec.Code == http.StatusOK; ok != (c.onlyHere || right && known) {
					t.Errorf("%+v with %q, token %q: %d", c, header, set, rec.Code)
				}
			}
		}
	}
	if server.PublicMetrics(server.Listen{Address: ":1", Metrics: true, MetricsAddress: ":2"}, numbers, ghapp.NewSecret(token)) != nil {
		t.Error("they are served at both addresses")
	}
}

// TestEveryMetricIsInThePage and nothing else.
func TestEveryMetricIsInThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(yudai_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		told = append(told, m[1])
	}
	have := server.MetricNames()
	slices.Sort(told)
	slices.Sort(have)
	if diff := cmp.Diff(have, told); diff != "" {
		t.Errorf("metrics that are (-) and that docs/metrics.md explains (+):\n%s", diff)
	}
}

func TestDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	m := server.NewMetered()
	mem := &memory{known: map[string]solve.Intent{}}
	events := handlers.New(handlers.Options{Accepter: m.Accepter(mem)})
	in, err := server.NewIntake(secret, events)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(m.Intake(in, events))
	t.Cleanup(srv.Close)
	h := hook{memory: mem, url: srv.URL}
	body := labeled(t)
	other := func(id string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-GitHub-Delivery", id) }
	}
	h.post(t, "issues", body, nil)
	h.post(t, "issues", body, nil)
	h.post(t, "issues", bytes.Replace(body, []byte(`"labeled"`), []byte(`"pinned"`), 1), nil)
	h.post(t, "star", []byte(`{}`), nil)
	h.post(t, "issues", body, func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64)) })
	h.post(t, "whatever_"+strings.Repeat("x", 20), body, func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") })
	mem.broken = errors.New("the disk is full")
	h.post(t, "issues", body, other("72d3162e-cc78-11e3-81ab-4c9367dc0959"))
	mem.broken = nil
	for _, one := range events { // as the sweep hands it over
		if slices.Contains(one.Handles(), "issues") {
			if err := one.Handle(t.Context(), "issues", "72d3162e-cc78-11e3-81ab-4c9367dc0960", body); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[string]string{}
	for _, one := range []string{
		`event="issues",result="stored"`, `event="issues",result="known"`, `event="issues",result="ignored"`, `event="other",result="ignored"`,
		`event="issues",result="refused"`, `event="other",result="refused"`, `event="issues",result="failed"`, `event="issues",result="missed"`,
	} {
		want[`deliveries_total{`+one+`}`] = "1"
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Error(diff)
	}
}

// openStore is an empty one with a living node, which reports the ends of solves.
func openStore(t *testing.T, m server.Metered) *bolt.Store {
	t.Helper()
	cfg := bolt.DefaultConfig()
	cfg.Ended = m.Ended
	cfg.Path = filepath.Join(t.TempDir(), "yudai.db")
	s, err := bolt.Open(cfg)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
		err = s.Heartbeat(t.Context(), "n", time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStatesAreCounted: live ones are read, ended ones counted once.
func TestStatesAreCounted(t *testing.T) {
	t.Parallel()
	m := server.NewMetered()
	s := openStore(t, m)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []solve.ID{"waits", "runs", "ends", "stopped"} {
		one := solve.Solve{ID: id, Repo: solve.Repo{ID: 1}, Created: time.Now().Add(time.Duration(i-100) * time.Second)}
		one.Trigger.Key, one.Issue.Number = string(id), i
		_, _, err := s.Create(t.Context(), one)
		must(err)
	}
	apply := func(c solve.Change) {
		t.Helper()
		_, _, err := s.Apply(t.Context(), c)
		must(err)
	}
	for _, id := range []solve.ID{"runs", "ends"} {
		apply(solve.Change{Solve: id, Event: solve.Claimed{}})
		apply(solve.Change{Solve: id, Event: solve.BaseReady{Runs: []solve.Run{
			{N: 1}, {N: 2}, {N: 3, State: solve.RunPassed, From: &solve.Origin{Solve: "old", N: 1}},
		}}})
	}
	apply(solve.Change{Solve: "ends", Run: 1, Event: solve.Aborted{}})
	apply(solve.Change{Solve: "ends", Event: solve.Aborted{}})
	for range 2 {
		_, err := s.RequestCancel(t.Context(), "stopped", "me", "")
		must(err)
	}
	_, err := s.Accept(t.Context(), solve.Delivery{GUID: "g"}, solve.Intent{Command: &solve.Command{Kind: solve.CommandHelp, At: time.Now().Add(-time.Hour)}})
	must(err)

	m.Watch(s, map[int64]int{0: 4000, 7: 12}, map[int64]float64{7: 2.5})
	got := scrape(t, m)
	for name, least := range map[string]string{"oldest_waiting_solve_seconds": "10", "oldest_unanswered_ask_seconds": "36", "store_bytes": "", "store_commits_total": ""} {
		if v := got[name]; v == "" || !strings.HasPrefix(v, least) {
			t.Errorf("%s is %q", name, v)
		}
		delete(got, name)
	}
	want := map[string]string{
		`solves{state="queued"}`: "1", `solves{state="running"}`: "1",
		`runs{state="queued"}`:               "2",
		`solves_ended_total{state="failed"}`: "1", `solves_ended_total{state="cancelled"}`: "1",
		`runs_ended_total{state="error"}`: "1", `runs_ended_total{state="cancelled"}`: "1",
		`github_requests_left{installation="app"}`: "4000", `github_requests_left{installation="7"}`: "12",
		`github_writes_left{installation="7"}`: "2.5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	must(s.Close())
	if v := scrapeBroken(t, m); !strings.Contains(v, "yudai_github_writes_left") || strings.Contains(v, "yudai_store_bytes") {
		t.Errorf("with a broken store: %s", v)
	}
}

// scrapeBroken scrapes until the store has to be read again.
func scrapeBroken(t *testing.T, m server.Metered) (text string) {
	t.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for range 50 {
		rec := httptest.NewRecorder()
		m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if text = rec.Body.String(); !strings.Contains(text, "yudai_store_bytes") {
			break
		}
		<-ticker.C
	}
	return text
}

func TestSandboxesAreCounted(t *testing.T) {
	t.Parallel()
	m, driver := server.NewMetered(), fakesandbox.New(nil)
	d := m.Driver(driver)
	open := func(name string) sandbox.Sandbox {
		t.Helper()
		sb, err := d.Open(t.Context(), sandbox.Spec{Name: name, Launch: true})
		if err != nil {
			t.Fatal(err)
		}
		return sb
	}
	a, b, c := open("a"), open("b"), open("c")
	if _, ok := sandbox.As[sandbox.Stamper](b); !ok {
		t.Error("a counted sandbox has no stamp any more")
	}
	if p, ok := sandbox.As[sandbox.Placed](b); !ok || p.Place().ID != "fake-b" {
		t.Error("a counted sandbox does not tell any more where it is")
	}
	if e, ok := sandbox.As[sandbox.Egress](b); !ok || e.Restrict(t.Context(), sandbox.Network{}) != nil {
		t.Error("the network of a counted sandbox cannot be restricted any more")
	}
	l, ok := sandbox.As[sandbox.Launcher](b)
	if !ok || l.Launch(t.Context(), sandbox.Command{Shell: "x"}) != nil || l.Halt(t.Context()) != nil {
		t.Error("a counted sandbox launches no programs any more")
	}
	if runs, err := l.Launched(t.Context()); runs || err != nil {
		t.Errorf("after Halt: %v, %v", runs, err)
	}
	forker, ok := d.(sandbox.Forker)
	if !ok {
		t.Fatal("a counted driver cannot fork any more")
	}
	if _, err := forker.Freeze(t.Context(), a); err != nil || !forker.HasBase(t.Context(), "a") {
		t.Errorf("not frozen: %v", err)
	}
	for _, sb := range []sandbox.Sandbox{a, b, b} { // twice is once
		if err := sb.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "c"}); err == nil {
		t.Error("a name was given twice")
	}
	if _, err := d.Sweep(t.Context(), func(i sandbox.Info) bool { return i.Name == c.Name() }); err != nil {
		t.Error(err)
	}
	want := map[string]string{
		`sandboxes_open{driver="fake"}`: "1", `sandbox_opens_total{driver="fake",result="opened"}`: "3", `sandbox_opens_total{driver="fake",result="failed"}`: "1",
		`sandbox_closes_total{driver="fake",result="closed"}`: "2", `sandbox_leaks_total{driver="fake"}`: "1",
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Error(diff)
	}
}

// talker is a model that answers or fails.
type talker struct {
	name string
	err  error
}

func (m talker) Name() string              { return m.name }
func (m talker) InMode(string) agent.Model { return m }
func (m talker) Query(context.Context, []agent.Message) (agent.Reply, error) {
	return agent.Reply{Usage: solve.Usage{Calls: 1, Input: 100, CachedRead: 30, Output: 7, Cost: 250_000}}, m.err
}

func TestModelsAreCounted(t *testing.T) {
	t.Parallel()
	m := server.NewMetered()
	for _, one := range []talker{{name: "good"}, {name: "good"}, {"dumb", errors.New("no")}} {
		mini := agent.NewMini(agent.DefaultConfig())
		mini.Queried = m.Queried
		sb, err := fakesandbox.New(nil).Open(t.Context(), sandbox.Spec{Name: "y-test"})
		if err != nil {
			t.Fatal(err)
		}
		mini.Run(t.Context(), agent.Job{
			Task: "x", Model: one, Sandbox: sb, Limits: solve.Limits{RunSteps: 1},
			Tree: func(context.Context) (string, error) { return "", nil },
			Save: func(context.Context, []byte, solve.Progress) error { return nil },
		})
	}
	want := map[string]string{
		`model_calls_total{model="good",result="answered"}`: "2", `model_calls_total{model="dumb",result="failed"}`: "1",
		`model_tokens_total{kind="input",model="good"}`: "200", `model_tokens_total{kind="cached",model="good"}`: "60",
		`model_tokens_total{kind="output",model="good"}`: "14", `model_cost_dollars_total{model="good"}`: "0.5",
		`model_tokens_total{kind="input",model="dumb"}`: "100", `model_tokens_total{kind="cached",model="dumb"}`: "30",
		`model_tokens_total{kind="output",model="dumb"}`: "7", `model_cost_dollars_total{model="dumb"}`: "0.25",
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Error(diff)
	}
}

// TestGatewayIsCounted: what agents ask for is counted, and among the models' calls are
// those that reached one.
func TestGatewayIsCounted(t *testing.T) {
	t.Parallel()
	m := server.NewMetered()
	used := solve.Usage{Calls: 1, Input: 100, CachedRead: 30, Output: 7, Cost: 250_000}
	for outcome, u := range map[string]solve.Usage{gateway.OK: used, gateway.Cut: used, gateway.Failed: {}, gateway.Denied: {}, gateway.Refused: {}} {
		m.Gateway(gateway.Count{Model: "good", API: agent.APIChat, Outcome: outcome, Usage: u})
	}
	want := map[string]string{
		`model_calls_total{model="good",result="answered"}`: "1", `model_calls_total{model="good",result="failed"}`: "2",
		`model_tokens_total{kind="input",model="good"}`: "200", `model_tokens_total{kind="cached",model="good"}`: "60",
		`model_tokens_total{kind="output",model="good"}`: "14", `model_cost_dollars_total{model="good"}`: "0.5",
	}
	for _, outcome := range []string{gateway.OK, gateway.Cut, gateway.Failed, gateway.Denied, gateway.Refused} {
		want[`gateway_calls_total{api="chat",outcome="`+outcome+`"}`] = "1"
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Error(diff)
	}
}

func TestRequestsAndWritesAreCounted(t *testing.T) {
	t.Parallel()
	m := server.NewMetered()
	codes := []int{200, 201, 304, 404, 503}
	next := m.GitHub(tripper(func(*http.Request) (*http.Response, error) {
		if len(codes) == 0 {
			return nil, errors.New("no line")
		}
		code := codes[0]
		codes = codes[1:]
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(""))}, nil
	}))
	for range 6 {
		if res, err := next.RoundTrip(httptest.NewRequest(http.MethodGet, "https://example.org", nil)); err == nil {
			_ = res.Body.Close()
		}
	}
	m.Written(solve.EffectReact, "written")
	want := map[string]string{
		`github_requests_total{class="2xx"}`: "2", `github_requests_total{class="3xx"}`: "1", `github_requests_total{class="4xx"}`: "1",
		`github_requests_total{class="5xx"}`: "1", `github_requests_total{class="error"}`: "1",
		`github_writes_total{kind="react",outcome="written"}`: "1",
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Error(diff)
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type asksError struct{ err error }

func (a asksError) Commands(context.Context) ([]solve.Command, error) { return nil, a.err }

type leased time.Duration

func (l leased) Leased() time.Time { return time.Now().Add(time.Duration(l)) }

// TestReadyz: 200 only when all parts work, else 503 and which does not. Why the store does not answer is for the log, once for many requests.
func TestReadyz(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store           error
		lease           time.Duration
		writing, ending bool
		status          int
		text            string
	}{
		"ready":         {nil, time.Minute, true, false, http.StatusOK, "ready"},
		"no store":      {errors.New("to solves on db.internal"), time.Minute, true, false, http.StatusServiceUnavailable, "the store does not answer\n"},
		"no lease":      {nil, -time.Second, true, false, http.StatusServiceUnavailable, "the engine holds no lease"},
		"no writer":     {nil, time.Minute, false, false, http.StatusServiceUnavailable, "the GitHub writer does not run"},
		"shutting down": {nil, time.Minute, true, true, http.StatusServiceUnavailable, "shutting down"},
	} {
		var log strings.Builder
		rec := httptest.NewRecorder()
		ready := server.Readiness(asksError{c.store}, leased(c.lease), zerolog.New(&log), c.writing, c.ending)
		ready.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		ready.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if c.store != nil && strings.Count(log.String(), c.store.Error()) != 1 || c.store == nil && log.Len() > 0 {
			t.Errorf("%s: the log has %q", name, log.String())
		}
		if rec.Code != c.status || !strings.HasPrefix(rec.Body.String(), c.text) || strings.Count(rec.Body.String(), "\n") != 1 {
			t.Errorf("%s: %d %q", name, rec.Code, rec.Body)
		}
	}
}
