package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/watch"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

const token = "an operator's token"

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// shelf is a store of solves with the promise of Create, and a GitHub with one repository.
type shelf struct {
	mu     sync.Mutex
	solves []solve.Solve
	runs   []solve.Run
	tracks []solve.TrackRecord
	files  map[string]string // artifacts
	events []solve.Entry
	// watchers are told of events.
	watchers watch.Watchers
	broken   error
	github   error
}

func (s *shelf) Create(_ context.Context, n solve.Solve) (solve.Solve, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.solves {
		if old.Trigger.Key == n.Trigger.Key || !old.State.Final() && old.Repo.ID == n.Repo.ID && old.Issue.Number == n.Issue.Number {
			return old, false, nil
		}
	}
	if s.broken == nil {
		s.solves = append(s.solves, n)
	}
	return n, true, s.broken
}

func (s *shelf) Solve(_ context.Context, id solve.ID) (solve.Solve, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.solves {
		if old.ID == id {
			return old, s.broken
		}
	}
	return solve.Solve{}, fmt.Errorf("solve %s: %w", id, solve.ErrNotFound)
}

func (s *shelf) Solves(_ context.Context, before solve.ID, most int) (out []solve.Solve, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.solves {
		if before == "" || one.ID < before {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b solve.Solve) int { return strings.Compare(string(b.ID), string(a.ID)) })
	return out[:min(most, len(out))], s.broken
}

func (s *shelf) Runs(context.Context, solve.ID) ([]solve.Run, error) { return s.runs, s.broken }

func (s *shelf) Run(_ context.Context, id solve.ID, n int) (solve.Run, error) {
	for _, r := range s.runs {
		if r.Solve == id && r.N == n {
			return r, s.broken
		}
	}
	return solve.Run{}, fmt.Errorf("run %d: %w", n, solve.ErrNotFound)
}

func (s *shelf) Events(_ context.Context, _ solve.ID, after uint64) ([]solve.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[min(int(after), len(s.events)):], s.broken
}

func (s *shelf) Watch(ctx context.Context) <-chan struct{} { return s.watchers.Watch(ctx) }

// happens adds an event of the only solve, which brings it to a state.
func (s *shelf) happens(run int, name solve.EventName, to solve.State) {
	s.mu.Lock()
	s.events = append(s.events, solve.Entry{Solve: s.solves[0].ID, Seq: uint64(len(s.events) + 1), At: noon(), Run: run, Event: name, To: string(to)})
	s.solves[0].State = to
	s.mu.Unlock()
	s.watchers.Signal()
}

func (s *shelf) Artifact(_ context.Context, _ solve.ID, name string) ([]byte, error) {
	if text, ok := s.files[name]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("artifact %s: %w", name, solve.ErrNotFound)
}

func (s *shelf) TrackRecords(context.Context) ([]solve.TrackRecord, error) { return s.tracks, s.broken }

func (s *shelf) RequestCancel(_ context.Context, id solve.ID, by, why string) (solve.Solve, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.solves {
		if one := &s.solves[i]; one.ID == id {
			one.State, one.CancelBy, one.CancelWhy, one.Reason = solve.StateCancelled, by, why, why
			return *one, s.broken
		}
	}
	return solve.Solve{}, fmt.Errorf("solve %s: %w", id, solve.ErrNotFound)
}

func (s *shelf) Repo(_ context.Context, owner, name string) (solve.Repo, error) {
	if owner+"/"+name != "octo/hello" {
		return solve.Repo{}, api.Refusal("the GitHub App is not installed on the repository")
	}
	return solve.Repo{Installation: 7, ID: 1, Owner: owner, Name: name, DefaultBranch: "main"}, s.github
}

func (s *shelf) Issue(_ context.Context, _ solve.Repo, number int) (solve.Issue, error) {
	if number > 9 {
		return solve.Issue{}, api.Refusal("there is no such issue")
	}
	return solve.Issue{Number: number, Title: "It breaks", Body: "always", Author: "kim"}, nil
}

// safeLog is a log that requests write and the test reads.
type safeLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// site is the API behind a listener.
type site struct {
	*shelf
	url string
	log *safeLog
}

func newSite(t *testing.T, change func(*api.API)) site {
	t.Helper()
	s := site{shelf: &shelf{}, log: &safeLog{}}
	ids := 0
	a := api.API{
		Solves: s.shelf, GitHub: s.shelf, Token: ghapp.NewSecret(token), TokenSetting: "YUDAI_API_TOKEN",
		Vocabulary: handlers.Vocabulary{Models: []string{"gpt-5-mini"}, Strategies: []string{"test-first"}, Agents: []string{"mini"}},
		WebURL:     "https://github.com", PublicURL: "https://yudai.example.com/", Now: noon,
		NewID: func() solve.ID { ids++; return solve.ID(fmt.Sprintf("cnv8q5k6n88s73a1e0h%d", ids)) },
	}
	if change != nil {
		change(&a)
	}
	mux, log := http.NewServeMux(), zerolog.New(s.log)
	if err := a.Register(mux); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(log.WithContext(r.Context())))
	}))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// problem is the part of problem JSON that the tests look at.
type problem struct {
	Status int
	Detail string
	Errors []struct{ Message, Location string }
}

// call sends a request with the token and decodes the answer into out.
func (s site) call(t *testing.T, method, path, body string, header map[string]string, out any) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			t.Fatalf("%s %s: %d %s: %v", method, path, res.StatusCode, data, err)
		}
	}
	return res
}

func TestPostSolveStoresWhatWasAsked(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var got map[string]any
	res := s.call(t, "POST", "/solve", `{"repo_url": "https://github.com/octo/hello.git", "issue_number": 7, "base_branch": "v1",
		"matrix": {"models": ["gpt-5-mini"], "temps": [0, 0.5], "max_edits": [0, 5], "evolution": ["test-first"], "agents": ["mini"], "repeat": 3}, "stop": "waves",
		"limits": {"max_parallel": 2, "time_budget_s": 600}}`, nil, &got)
	url := "https://yudai.example.com/solve/cnv8q5k6n88s73a1e0h1/status"
	want := map[string]any{"solve_id": "cnv8q5k6n88s73a1e0h1", "state": "queued", "status_url": url, "created": true}
	if diff := cmp.Diff(want, got); diff != "" || res.StatusCode != 202 || res.Header.Get("Location") != url {
		t.Errorf("answer %d, location %q: %s", res.StatusCode, res.Header.Get("Location"), diff)
	}
	stored := []solve.Solve{{
		V: 1, ID: "cnv8q5k6n88s73a1e0h1", State: solve.StateQueued, Created: noon(),
		Repo:    solve.Repo{Installation: 7, ID: 1, Owner: "octo", Name: "hello", DefaultBranch: "main"},
		Issue:   solve.Issue{Number: 7, Title: "It breaks", Body: "always", Author: "kim"},
		Trigger: solve.Trigger{Kind: solve.TriggerAPI, Key: "api:cnv8q5k6n88s73a1e0h1", At: noon()},
		Request: solve.Request{
			Models: []string{"gpt-5-mini"}, Temps: []float64{0, 0.5}, Edits: []int{0, 5}, Strategies: []string{"test-first"}, Agents: []string{"mini"},
			Parallel: 2, TimeBudget: 10 * time.Minute, Base: "v1", Repeat: 3, Stop: solve.StopWaves,
		},
	}}
	if diff := cmp.Diff(stored, s.solves); diff != "" {
		t.Error(diff)
	}
}

func TestPostSolveTwiceIsOneSolve(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	key := map[string]string{"Idempotency-Key": "nightly"}
	var first, again, live struct {
		SolveID string `json:"solve_id"`
		Created bool
	}
	a := s.call(t, "POST", "/solve", `{"repo_url": "octo/hello", "issue_number": 7}`, key, &first)
	b := s.call(t, "POST", "/solve", `{"repo_url": "octo/hello", "issue_number": 7}`, key, &again)
	c := s.call(t, "POST", "/solve", `{"repo_url": "octo/hello", "issue_number": 7}`, nil, &live)
	if a.StatusCode != 202 || b.StatusCode != 200 || c.StatusCode != 200 || !first.Created || again.Created || live.Created ||
		again.SolveID != first.SolveID || live.SolveID != first.SolveID || len(s.solves) != 1 {
		t.Errorf("answers %d %d %d: %+v %+v %+v", a.StatusCode, b.StatusCode, c.StatusCode, first, again, live)
	}
	if got := s.solves[0].Trigger.Key; got != "api:nightly" {
		t.Errorf("trigger key %q", got)
	}
}

// TestKeyStandsForOneBody: a key that is known refuses another wish, and takes the same one in other words.
func TestKeyStandsForOneBody(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	key := map[string]string{"Idempotency-Key": "nightly"}
	s.call(t, "POST", "/solve", `{"repo_url": "octo/hello", "issue_number": 7, "stop": "all", "matrix": {"temps": [0.5]}}`, key, nil)
	s.solves[0].State = solve.StateSolved
	for body, want := range map[string]int{
		`{"repo_url": "octo/hello", "issue_number": 7, "stop": "all", "matrix": {"temps": [0.5]}}`:                                                 200,
		`{"matrix": {"temps": [5e-1], "models": []}, "limits": {}, "stop": "all", "repo_url": "https://github.com/octo/hello", "issue_number": 7}`: 200,
		`{"repo_url": "octo/hello", "issue_number": 8, "stop": "all", "matrix": {"temps": [0.5]}}`:                                                 422,
		`{"repo_url": "octo/hello", "issue_number": 7, "stop": "all", "matrix": {"temps": [0.6]}}`:                                                 422,
		`{"repo_url": "octo/hello", "issue_number": 7, "stop": "all"}`:                                                                             422,
	} {
		var p problem
		res := s.call(t, "POST", "/solve", body, key, &p)
		refused := len(p.Errors) == 1 && p.Errors[0].Location == "header.Idempotency-Key" &&
			strings.Contains(p.Errors[0].Message, "was used for another request (solve cnv8q5k6n88s73a1e0h1)")
		if res.StatusCode != want || refused != (want == 422) || len(s.solves) != 1 {
			t.Errorf("%s: %d %+v", body, res.StatusCode, p)
		}
	}
}

func TestPostSolveSaysWhereTheFaultIs(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"issue_number": 7}`:                                                                                "body: expected required property repo_url",
		`{"repo_url": "octo/hello", "issue_number": 0}`:                                                      "body.issue_number: expected number >= 1",
		`{"repo_url": "octo/hello", "issue_number": "7"}`:                                                    "body.issue_number: expected integer",
		`{"repo_url": "octo/hello", "issue_number": 7, "modles": []}`:                                        "body.modles: unexpected property",
		`{"repo_url": "octo/hello", "issue_number": 10}`:                                                     "body.issue_number: there is no such issue",
		`{"repo_url": "octo/other", "issue_number": 7}`:                                                      "body.repo_url: the GitHub App is not installed on the repository",
		`{"repo_url": "http://github.com/octo/hello", "issue_number": 7}`:                                    "body.repo_url: must be https://github.com/owner/name or owner/name",
		`{"repo_url": "https://evil.example/octo/hello", "issue_number": 7}`:                                 "body.repo_url: must be",
		`{"repo_url": "https://u:p@github.com/octo/hello", "issue_number": 7}`:                               "body.repo_url: must be",
		`{"repo_url": "https://github.com/octo", "issue_number": 7}`:                                         "body.repo_url: must be",
		`{"repo_url": "octo/hello/issues", "issue_number": 7}`:                                               "body.repo_url: must be",
		`{"repo_url": "../..", "issue_number": 7}`:                                                           "body.repo_url: must be",
		`{"repo_url": "octo/hello", "issue_number": 7, "base_branch": "-x"}`:                                 "body.base_branch: is not a branch name",
		`{"repo_url": "octo/hello", "issue_number": 7, "matrix": {"models": ["gpt-5-mini", "gpt-5-mni"]}}`:   "body.matrix.models[1]: is not one of the configured models; did you mean gpt-5-mini?",
		`{"repo_url": "octo/hello", "issue_number": 7, "matrix": {"temps": [0.5, 3]}}`:                       "body.matrix.temps[1]: is not a temperature",
		`{"repo_url": "octo/hello", "issue_number": 7, "matrix": {"max_edits": [-1]}}`:                       "body.matrix.max_edits[0]: is out of range",
		`{"repo_url": "octo/hello", "issue_number": 7, "matrix": {"agents": ["minni"]}}`:                     "body.matrix.agents[0]: is not one of the configured agents; did you mean mini?",
		`{"repo_url": "octo/hello", "issue_number": 7, "matrix": {"evolution": ["test-last"]}}`:              "body.matrix.evolution[0]: is not one of the configured strategies",
		`{"repo_url": "octo/hello", "issue_number": 7, "stop": "wave"}`:                                      `body.stop: expected value to be one of "all, first_green, waves"`,
		`{"repo_url": "octo/hello", "issue_number": 7, "matrix": {"repeat": 21}}`:                            "body.matrix.repeat: expected number <= 20",
		`{"repo_url": "octo/hello", "issue_number": 7, "limits": {"max_parallel": 65}}`:                      "body.limits.max_parallel: expected number <= 64",
		`{"repo_url": "octo/hello", "issue_number": 7, "limits": {"time_budget_s": 5}}`:                      "body.limits.time_budget_s: expected number >= 60",
		`{"repo_url": "octo/hello", "issue_number": 7, "limits": {"time_budget_s": 5, "max_parallel": "x"}}`: "body.limits.max_parallel: expected integer",
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			var p problem
			res := s.call(t, "POST", "/solve", body, nil, &p)
			if res.StatusCode != 422 || res.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("answer %d %s", res.StatusCode, res.Header.Get("Content-Type"))
			}
			var found []string
			for _, e := range p.Errors {
				found = append(found, e.Location+": "+e.Message)
			}
			if !strings.Contains(strings.Join(found, "\n"), want) || len(s.solves) != 0 {
				t.Errorf("errors %q, want %q; stored %d", found, want, len(s.solves))
			}
		})
	}
}

func TestAPIAcceptsRepositoriesOfTheConfiguredHost(t *testing.T) {
	t.Parallel()
	for url, ok := range map[string]bool{
		"https://ghe.example/base/octo/hello":  true,
		"https://GHE.example/base/octo/hello/": true,
		"octo/hello":                           true,
		"https://github.com/octo/hello":        false,
	} {
		s := newSite(t, func(a *api.API) { a.WebURL = "https://ghe.example/base/" })
		res := s.call(t, "POST", "/solve", fmt.Sprintf(`{"repo_url": %q, "issue_number": 1}`, url), nil, nil)
		if (res.StatusCode == 202) != ok {
			t.Errorf("%s: %d", url, res.StatusCode)
		}
	}
}

func TestAPIHidesInnerErrors(t *testing.T) {
	t.Parallel()
	secretive := errors.New("dial tcp 10.0.0.7: refused")
	for name, tt := range map[string]struct {
		breakIt func(*shelf)
		status  int
	}{
		"github": {func(s *shelf) { s.github = secretive }, 502},
		"store":  {func(s *shelf) { s.broken = secretive }, 500},
	} {
		s := newSite(t, nil)
		tt.breakIt(s.shelf)
		var p problem
		res := s.call(t, "POST", "/solve", `{"repo_url": "octo/hello", "issue_number": 1}`, nil, &p)
		if res.StatusCode != tt.status || strings.Contains(fmt.Sprint(p), "10.0.0.7") || !strings.Contains(s.log.String(), "10.0.0.7") {
			t.Errorf("%s: %d %+v, log %s", name, res.StatusCode, p, s.log.String())
		}
	}
}

func TestAPINeedsTheToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + token, "Bearer " + token + "x", "Bearer " + token[1:], token} {
		for _, path := range []string{"/solve", "/solve/cnv8q5k6n88s73a1e0h1/status"} {
			method := map[bool]string{true: "POST", false: "GET"}[path == "/solve"]
			var p problem
			res := s.call(t, method, path, `{"repo_url": "octo/hello", "issue_number": 1}`, map[string]string{"Authorization": header}, &p)
			if res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") == "" || !strings.Contains(p.Detail, "API token") {
				t.Errorf("%s with %q: %d %+v", path, header, res.StatusCode, p)
			}
		}
	}
	if len(s.solves) != 0 {
		t.Errorf("stored %+v", s.solves)
	}
	if strings.Contains(s.log.String(), token) {
		t.Error("the token is in the log")
	}
	if res := s.call(t, "POST", "/solve", `{"repo_url": "octo/hello", "issue_number": 1}`, map[string]string{"Authorization": "bearer " + token}, nil); res.StatusCode != 202 {
		t.Errorf("scheme in lower case: %d", res.StatusCode)
	}
}

func TestAPIWithoutATokenSaysWhichSetting(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(a *api.API) { a.Token = ghapp.Secret{} })
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x"} {
		var p problem
		res := s.call(t, "GET", "/solve/cnv8q5k6n88s73a1e0h1/status", "", map[string]string{"Authorization": header}, &p)
		if res.StatusCode != 403 || !strings.Contains(p.Detail, "YUDAI_API_TOKEN") {
			t.Errorf("%q: %d %+v", header, res.StatusCode, p)
		}
	}
}

func TestAPIBoundsTheBody(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	body := `{"repo_url": "` + strings.Repeat("x", 64<<10) + `", "issue_number": 1}`
	if res := s.call(t, "POST", "/solve", body, nil, nil); res.StatusCode != 413 {
		t.Errorf("answer %d", res.StatusCode)
	}
}

func TestStatusTellsEverything(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	warm := 0.5
	s.solves = []solve.Solve{{
		ID: "cnv8q5k6n88s73a1e0h0", State: solve.StateSolved, Repo: solve.Repo{ID: 1, Owner: "octo", Name: "hello"}, Issue: solve.Issue{Number: 7},
		Base: solve.Base{Branch: "main", SHA: "abc"}, Plan: solve.Plan{Sandbox: "e2b", Unpriced: []string{"o3"}}, Decision: &solve.Decision{Champion: 1}, Seq: 12,
		Pull:    &solve.Pull{Number: 8, URL: "https://github.com/octo/hello/pull/8", Commit: "def"},
		Created: noon(), Started: noon().Add(time.Second), Deadline: noon().Add(time.Hour), Ended: noon().Add(time.Minute),
	}}
	s.runs = []solve.Run{
		{
			N: 1, Experiment: solve.Experiment{Agent: "mini", Model: "gpt-5-mini", Temperature: &warm, Strategy: "plain", Repeat: 1},
			State: solve.RunPassed, Attempt: 1, Exit: "Submitted", AgentTime: 90 * time.Second,
			Progress:    solve.Progress{Steps: 5, Edits: 2, Usage: solve.Usage{Cost: 250_000, Input: 4000, CachedRead: 1000, Output: 120}},
			SandboxUses: []solve.SandboxUse{{Phase: "work", Driver: "e2b", Hourly: 500_000, Opened: noon(), Closed: noon().Add(time.Hour)}},
			Candidate:   &solve.Candidate{Files: []solve.FileChange{{}, {}}, Added: 3, Deleted: 1, Flags: []string{"adds dependencies: x (go.mod)"}},
			Verdict:     &solve.Verdict{Outcome: solve.Passed, Reason: "1 fixed", Fixed: 1, NewPass: 2},
		},
		{N: 2, Experiment: solve.Experiment{Agent: "mini", Model: "o3", MaxEdits: 5, Strategy: "plain", Repeat: 1}, State: solve.RunError, Reason: "no answer", Attempt: 2, Progress: solve.Progress{Usage: solve.Usage{Cost: 500_000}}},
	}
	var got map[string]any
	res := s.call(t, "GET", "/solve/cnv8q5k6n88s73a1e0h0/status", "", nil, &got)
	var want map[string]any
	if err := json.Unmarshal([]byte(`{
		"solve_id": "cnv8q5k6n88s73a1e0h0", "state": "solved", "repository": "octo/hello", "issue_number": 7,
		"base_branch": "main", "base_sha": "abc", "champion": 1, "grade": {"name": "proven", "reason": "a test that fails on main passes with this change"}, "cost_usd": 0.75, "sandbox_cost_usd": 0.5, "sandbox": "e2b", "events": 12, "unpriced_models": ["o3"],
		"pull_request": {"number": 8, "url": "https://github.com/octo/hello/pull/8", "commit": "def"},
		"created_at": "2026-11-21T12:00:00Z", "started_at": "2026-11-21T12:00:01Z", "deadline_at": "2026-11-21T13:00:00Z", "ended_at": "2026-11-21T12:01:00Z",
		"experiments": [
			{"run": 1, "agent": "mini", "model": "gpt-5-mini", "temperature": 0.5, "max_edits": 0, "strategy": "plain", "repeat": 1,
			 "state": "passed", "attempt": 1, "exit": "Submitted", "steps": 5, "edits": 2, "agent_time_s": 90, "cost_usd": 0.25, "sandbox_cost_usd": 0.5,
			 "latency_ms": 90000, "tokens": 4120, "logs_url": "https://yudai.example.com/solve/cnv8q5k6n88s73a1e0h0/runs/1/log",
			 "pr_url": "https://github.com/octo/hello/pull/8",
			 "files": 2, "added": 3, "deleted": 1, "flags": ["adds dependencies: x (go.mod)"],
			 "verdict": {"outcome": "passed", "reason": "1 fixed", "fixed": 1, "broken": 0, "new_pass": 2}},
			{"run": 2, "agent": "mini", "model": "o3", "max_edits": 5, "strategy": "plain", "repeat": 1, "state": "error", "reason": "no answer",
			 "attempt": 2, "steps": 0, "edits": 0, "agent_time_s": 0, "cost_usd": 0.5, "sandbox_cost_usd": 0, "files": 0, "added": 0, "deleted": 0,
			 "latency_ms": 0, "tokens": 0, "logs_url": "https://yudai.example.com/solve/cnv8q5k6n88s73a1e0h0/runs/2/log"}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || res.StatusCode != 200 {
		t.Errorf("answer %d: %s", res.StatusCode, diff)
	}
}

func TestStatusOfUnknownSolves(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for path, want := range map[string]int{"/solve/cnv8q5k6n88s73a1e0h9/status": 404, "/solve/x/status": 422, "/nothing": 404} {
		if res := s.call(t, "GET", path, "", nil, nil); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

func TestDescriptionIsValidOpenAPI(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var raw json.RawMessage
	res := s.call(t, "GET", "/openapi.json", "", nil, &raw)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/openapi+json" {
		t.Fatalf("answer %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/solve", "/solve/{id}/status"} {
		item := doc.Paths.Value(path)
		if item == nil {
			t.Fatalf("no %s", path)
		}
		for method, o := range item.Operations() {
			if o.Security == nil || len(*o.Security) != 1 {
				t.Errorf("%s %s names no security", method, path)
			}
			for _, status := range []string{"401", "403", "422"} {
				if o.Responses.Value(status) == nil {
					t.Errorf("%s %s does not tell of %s", method, path, status)
				}
			}
		}
	}
	for _, status := range []string{"200", "202"} {
		if doc.Paths.Value("/solve").Post.Responses.Value(status).Value.Content["application/json"].Schema.Value.Properties["solve_id"] == nil {
			t.Errorf("POST /solve %s has no content", status)
		}
	}
}

// TestStatusTellsTheWaves: where the solve stands, and what was not needed.
func TestStatusTellsTheWaves(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	plan := solve.Plan{Stop: solve.StopWaves, Experiments: []solve.Experiment{{Model: "a", Wave: 1, Repeat: 2}, {Model: "a", Wave: 3, Repeat: 1}}}
	s.solves = []solve.Solve{{ID: "cnv8q5k6n88s73a1e0h0", State: solve.StateReducing, Plan: plan, Wave: 1, Created: noon()}}
	s.runs = []solve.Run{
		{N: 1, Experiment: plan.Experiments[0], State: solve.RunPassed, Attempt: 1, Progress: solve.Progress{Usage: solve.Usage{Calls: 1, Cost: 250_000}}},
		{N: 2, Experiment: plan.Experiments[1], State: solve.RunCancelled, NotNeeded: true, Reason: "not needed: run 1 is proven after wave 1"},
	}
	var got struct {
		Stop        string
		Wave, Waves int
		Saved       map[string]any
		Experiments []map[string]any
	}
	s.call(t, "GET", "/solve/cnv8q5k6n88s73a1e0h0/status", "", nil, &got)
	if got.Stop != "waves" || got.Wave != 1 || got.Waves != 3 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(map[string]any{"not_run": 1.0, "stopped": 0.0, "usd": 0.25}, got.Saved); diff != "" {
		t.Error(diff)
	}
	for i, want := range []map[string]any{
		{"wave": 1.0, "repeat": 2.0, "state": "passed", "not_needed": nil},
		{"wave": 3.0, "repeat": 1.0, "state": "cancelled", "not_needed": true, "logs_url": nil, "pr_url": nil, "reason": "not needed: run 1 is proven after wave 1"},
	} {
		for key, value := range want {
			if got.Experiments[i][key] != value {
				t.Errorf("run %d: %s is %v, want %v", i+1, key, got.Experiments[i][key], value)
			}
		}
	}
}
