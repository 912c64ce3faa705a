package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
)

// validating is an API that holds files against the built-in configuration.
func validating(a *api.API) {
	a.Operator, a.ReadsConfig = solver.DefaultConfig().Operator(nil, nil, nil, "yudai:solve"), true
}

// validate asks and returns the status and the answer.
func (s site) validate(t *testing.T, text, authorization string) (int, map[string]any) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"config": text})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/validate", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", authorization)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func TestValidateTellsEveryProblem(t *testing.T) {
	t.Parallel()
	s := newSite(t, validating)
	status, answer := s.validate(t, "tests: 1\nlimits:\n  run_time: 9h\n", "Bearer "+token)
	want := map[string]any{
		"valid": false, "read": true,
		"problems": []any{
			map[string]any{"line": 1.0, "column": 1.0, "key": "tests", "message": "unknown key; did you mean test?"},
			map[string]any{"line": 3.0, "column": 13.0, "key": "limits.run_time",
				"message": "is 9h, but the operator allows at most 20m: lower it, or leave it out"},
		},
	}
	if diff := cmp.Diff(want, answer); diff != "" || status != http.StatusOK {
		t.Errorf("%d %s", status, diff)
	}
}

func TestValidateTellsWhatHolds(t *testing.T) {
	t.Parallel()
	s := newSite(t, validating)
	status, answer := s.validate(t, "test: {command: make check}\nnetwork: [pypi.org]\nprotected: [docs/]\nlimits: {run_steps: 5}\nprofiles: {two: {repeat: 2, stop: all}}\nstop: first_green\n", "Bearer "+token)
	effective, _ := answer["effective"].(map[string]any)
	if status != http.StatusOK || answer["valid"] != true || effective == nil {
		t.Fatalf("%d %v", status, answer)
	}
	limits, _ := effective["limits"].(map[string]any)
	for _, c := range []struct{ got, want any }{
		{effective["test"], map[string]any{"command": "make check", "format": "exit"}},
		{effective["network"], []any{"pypi.org"}}, {effective["network_detected"], false},
		{effective["protected"], []any{"docs/"}}, {effective["stop"], "first_green"},
		{effective["profiles"], []any{map[string]any{"name": "two", "label": "yudai:two"}}},
		{limits["run_steps"], 5.0}, {limits["run_time_s"], 1200.0},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestValidateNeedsTheToken: the answer tells the operator's limits.
func TestValidateNeedsTheToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, validating)
	for _, authorization := range []string{"", "Bearer wrong"} {
		if status, answer := s.validate(t, "", authorization); status != http.StatusUnauthorized || answer["effective"] != nil {
			t.Errorf("%q: %d %v", authorization, status, answer)
		}
	}
}

func TestValidateBoundsTheFile(t *testing.T) {
	t.Parallel()
	s := newSite(t, validating)
	for size, valid := range map[int]bool{solve.MaxRepoConfig: true, solve.MaxRepoConfig + 1: false} {
		text := strings.Repeat("#<", size)[:size] // JSON writes < as six bytes
		if status, answer := s.validate(t, text, "Bearer "+token); status != http.StatusOK || answer["valid"] != valid {
			t.Errorf("%d bytes: %d %v", size, status, answer)
		}
	}
	if status, _ := s.validate(t, strings.Repeat("#", 9*solve.MaxRepoConfig), "Bearer "+token); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large: %d", status)
	}
}
