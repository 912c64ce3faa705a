package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

// read asks for something that is no JSON.
func (s site) read(t *testing.T, path, authorization string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err.Error()
	}
	return res, string(body)
}

const ran = "cnv8q5k6n88s73a1e0h0" // a solve with runs

// withRuns is a site whose solve has a run with a patch and one of each kind without.
func withRuns(t *testing.T, change func(*api.API)) site {
	t.Helper()
	s := newSite(t, change)
	s.solves = []solve.Solve{{ID: ran, State: solve.StateRunning, Created: noon()}}
	s.runs = []solve.Run{
		{Solve: ran, N: 1, State: solve.RunPassed, Candidate: &solve.Candidate{Artifact: "run-1.patch"}},
		{Solve: ran, N: 2, State: solve.RunWorking, Attempt: 3},
		{Solve: ran, N: 3, State: solve.RunFailed, Candidate: &solve.Candidate{}},
		{Solve: ran, N: 4, State: solve.RunPassed, Candidate: &solve.Candidate{Artifact: "run-4.patch"}},
	}
	s.files = map[string]string{"run-1.patch": "diff --git a/x b/x\n"}
	return s
}

// TestPatch: the patch itself, and why there is none.
func TestPatch(t *testing.T) {
	t.Parallel()
	s := withRuns(t, nil)
	res, body := s.read(t, "/solve/"+ran+"/runs/1/patch", "Bearer "+token)
	if res.StatusCode != http.StatusOK || body != "diff --git a/x b/x\n" || res.Header.Get("Content-Type") != "text/x-diff" {
		t.Errorf("%d %v %q", res.StatusCode, res.Header, body)
	}
	if res, body := s.read(t, "/solve/"+ran+"/runs/1/patch", "Bearer wrong"); res.StatusCode != http.StatusUnauthorized || strings.Contains(body, "diff") {
		t.Errorf("without the token: %d %s", res.StatusCode, body)
	}
	for path, want := range map[string]string{
		ran + "/runs/2/patch":                    "run 2 has no patch: it is working",
		ran + "/runs/3/patch":                    "the patch of run 3 was too large to keep",
		ran + "/runs/4/patch":                    "kept no more (store.keep_logs)",
		ran + "/runs/9/patch":                    "no such solve, or it has no run of this number",
		"cnv8q5k6n88s73a1e0h9" + "/runs/1/patch": "no such solve, or it has no run of this number",
	} {
		var p problem
		if res := s.call(t, "GET", "/solve/"+path, "", nil, &p); res.StatusCode != http.StatusNotFound || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %d %+v", path, res.StatusCode, p)
		}
	}
	if res := s.call(t, "GET", "/solve/"+ran+"/runs/0/patch", "", nil, nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("run 0: %d", res.StatusCode)
	}
	s.broken = errors.New("dial tcp 10.0.0.7: refused")
	if res, body := s.read(t, "/solve/"+ran+"/runs/1/patch", "Bearer "+token); res.StatusCode != 500 || strings.Contains(body, "10.0.0.7") {
		t.Errorf("a broken store: %d %s", res.StatusCode, body)
	}
}

// TestLog: what is asked of the logs is what was asked for, and headers say where the next call goes on.
func TestLog(t *testing.T) {
	t.Parallel()
	s := withRuns(t, func(a *api.API) {
		a.Log = func(_ context.Context, r solve.Run, tests bool, from int) ([]byte, int, error) {
			switch {
			case tests:
				return []byte("ok\n"), 2, nil
			case r.N == 2:
				return []byte(strings.Repeat("line\n", 10-from)), 10, nil
			default:
				return nil, 0, solve.ErrNotFound
			}
		}
	})
	for _, c := range []struct{ query, body, next, attempt, live string }{
		{"", strings.Repeat("line\n", 9), "10", "3", "true"},
		{"?log=agent&from=9", "line\n", "10", "3", "true"},
		{"?from=10", "", "10", "3", "true"},
		{"?log=tests", "ok\n", "2", "3", "false"},
	} {
		res, body := s.read(t, "/solve/"+ran+"/runs/2/log"+c.query, "Bearer "+token)
		h := res.Header
		if res.StatusCode != http.StatusOK || body != c.body || h.Get("Yudai-Next-Line") != c.next || h.Get("Yudai-Attempt") != c.attempt ||
			h.Get("Yudai-Live") != c.live || h.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %v %q", c.query, res.StatusCode, h, body)
		}
	}
	for path, want := range map[string]int{
		"1/log": http.StatusNotFound, "9/log": http.StatusNotFound, "2/log?from=0": http.StatusUnprocessableEntity,
		"2/log?log=base": http.StatusUnprocessableEntity,
	} {
		var p problem
		if res := s.call(t, "GET", "/solve/"+ran+"/runs/"+path, "", nil, &p); res.StatusCode != want || p.Status != want {
			t.Errorf("%s: %d %+v", path, res.StatusCode, p)
		}
	}
}
