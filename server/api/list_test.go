package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// listing is an answer of GET /solve.
type listing struct {
	Solves []map[string]any
	Next   string
}

// ids are the last three characters of the solves' names.
func (l listing) ids() (out []string) {
	for _, s := range l.Solves {
		id := fmt.Sprint(s["solve_id"])
		out = append(out, id[len(id)-3:])
	}
	return out
}

// list asks for a part of the list.
func (s site) list(t *testing.T, query string) (out listing) {
	t.Helper()
	if res := s.call(t, "GET", "/solve?"+query, "", nil, &out); res.StatusCode != http.StatusOK || out.Solves == nil {
		t.Fatalf("%s: %d %+v", query, res.StatusCode, out)
	}
	return out
}

// fill puts n solves on the shelf, the oldest first. Every tenth is solved, and every hundredth of another repository.
func (s site) fill(n int) {
	for i := range n {
		one := solve.Solve{
			ID: solve.ID(fmt.Sprintf("cnv8q5k6n88s73a1%04d", i)), State: solve.StateUnsolved, Created: noon(),
			Repo: solve.Repo{ID: 1, Owner: "octo", Name: "hello"}, Issue: solve.Issue{Number: i + 1},
		}
		if i%10 == 0 {
			one.State = solve.StateSolved
		}
		if i%100 == 0 {
			one.Repo.Name = "other"
		}
		s.solves = append(s.solves, one)
	}
}

// TestListGoesOnWhereItStopped: every solve is listed once, the newest first, whatever is added meanwhile.
func TestListGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	if got := s.list(t, ""); len(got.Solves) != 0 || got.Next != "" {
		t.Errorf("an empty store: %+v", got)
	}
	s.fill(7)
	first := s.list(t, "limit=3")
	s.solves = append(s.solves, solve.Solve{ID: "cnv8q5k6n88s73a19999", State: solve.StateQueued})
	second := s.list(t, "limit=3&cursor="+url.QueryEscape(first.Next))
	third := s.list(t, "limit=3&cursor="+second.Next)
	got := [][]string{first.ids(), second.ids(), third.ids()}
	if diff := cmp.Diff([][]string{{"006", "005", "004"}, {"003", "002", "001"}, {"000"}}, got); diff != "" || third.Next != "" {
		t.Errorf("%s, then %q", diff, third.Next)
	}
	if whole := s.list(t, "limit=8"); len(whole.Solves) != 8 || whole.Next != "" {
		t.Errorf("%d solves, then %q", len(whole.Solves), whole.Next)
	}
}

// TestListFilters: a call with a filter that lets little pass ends early, and says where to go on.
func TestListFilters(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.fill(2500)
	for query, want := range map[string]int{
		"": 2500, "state=solved": 250, "repository=octo/other": 25, "repository=Octo/Other&state=unsolved": 0, "state=queued": 0,
	} {
		found, calls := 0, 0
		for next := ""; calls == 0 || next != ""; calls++ {
			part := s.list(t, "limit=100&"+query+"&cursor="+next)
			found, next = found+len(part.Solves), part.Next
		}
		if found != want || calls < 3 || calls > 26 {
			t.Errorf("%s: %d solves in %d calls, want %d", query, found, calls, want)
		}
	}
}

// TestListTells: what a list says of a solve, and nothing of what there is not.
func TestListTells(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.solves = []solve.Solve{{
		ID: "cnv8q5k6n88s73a1e0h0", State: solve.StateQueued, Repo: solve.Repo{Owner: "octo", Name: "hello"}, Issue: solve.Issue{Number: 6}, Created: noon(),
	}, {
		ID: "cnv8q5k6n88s73a1e0h1", State: solve.StateSolved, Repo: solve.Repo{Owner: "octo", Name: "hello"},
		Issue: solve.Issue{Number: 7, Title: "It breaks"}, Decision: &solve.Decision{Champion: 1}, Plan: solve.Plan{Unpriced: []string{"o3"}},
		Pull: &solve.Pull{Number: 8, URL: "https://github.com/octo/hello/pull/8"}, Created: noon(), Ended: noon().Add(time.Minute),
	}}
	s.runs = []solve.Run{{
		N: 1, State: solve.RunPassed, Candidate: &solve.Candidate{Added: 1}, Verdict: &solve.Verdict{Outcome: solve.Passed},
		Progress: solve.Progress{Usage: solve.Usage{Calls: 1, Cost: 250_000}},
	}}
	waiting := map[string]any{
		"solve_id": "cnv8q5k6n88s73a1e0h0", "state": "queued", "repository": "octo/hello", "issue_number": 6.0, "cost_usd": 0.25,
		"created_at": "2026-11-21T12:00:00Z",
	}
	want := []map[string]any{{
		"solve_id": "cnv8q5k6n88s73a1e0h1", "state": "solved", "repository": "octo/hello", "issue_number": 7.0, "title": "It breaks",
		"champion": 1.0, "grade": "unproven", "cost_usd": 0.25, "created_at": "2026-11-21T12:00:00Z", "ended_at": "2026-11-21T12:01:00Z",
		"pull_request_url": "https://github.com/octo/hello/pull/8", "unpriced_models": []any{"o3"},
	}, waiting}
	if diff := cmp.Diff(want, s.list(t, "").Solves); diff != "" {
		t.Error(diff)
	}
}

// TestListRefuses: what is wrong with a request is said where it is.
func TestListRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for query, want := range map[string]string{
		"limit=0": "query.limit", "limit=101": "query.limit", "limit=x": "query.limit", "cursor=solve": "query.cursor", "state=ended": "query.state",
	} {
		var p problem
		res := s.call(t, "GET", "/solve?"+query, "", nil, &p)
		if res.StatusCode != http.StatusUnprocessableEntity || len(p.Errors) != 1 || p.Errors[0].Location != want {
			t.Errorf("%s: %d %+v", query, res.StatusCode, p)
		}
	}
	if res := s.call(t, "GET", "/solve", "", map[string]string{"Authorization": "Bearer wrong"}, nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %d", res.StatusCode)
	}
	s.broken = errors.New("dial tcp 10.0.0.7: refused")
	var p problem
	if res := s.call(t, "GET", "/solve", "", nil, &p); res.StatusCode != 500 || strings.Contains(p.Detail, "10.0.0.7") || !strings.Contains(s.log.String(), "10.0.0.7") {
		t.Errorf("a broken store: %d %+v", res.StatusCode, p)
	}
}
