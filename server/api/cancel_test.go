package api_test

import (
	"errors"
	"strings"
	"testing"
)

// TestCancel: the answer is how the solve stands then. The operator has no name on GitHub, so the reason says where the wish came from.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.call(t, "POST", "/solve", `{"repo_url": "octo/hello", "issue_number": 7}`, nil, nil)
	var told struct {
		State, Reason string
		By            string `json:"cancelled_by"`
	}
	res := s.call(t, "POST", "/solve/cnv8q5k6n88s73a1e0h1/cancel", "", nil, &told)
	if res.StatusCode != 200 || told.State != "cancelled" || told.Reason != "it was cancelled through the API" || told.By != "" {
		t.Errorf("%d %+v", res.StatusCode, told)
	}
	for header, want := range map[string]int{"Bearer wrong": 401, "": 401} {
		if res := s.call(t, "POST", "/solve/cnv8q5k6n88s73a1e0h1/cancel", "", map[string]string{"Authorization": header}, nil); res.StatusCode != want {
			t.Errorf("with %q: %d", header, res.StatusCode)
		}
	}
	var p problem
	if res := s.call(t, "POST", "/solve/cnv8q5k6n88s73a1e0h2/cancel", "", nil, &p); res.StatusCode != 404 || p.Detail != "there is no such solve" {
		t.Errorf("of none: %d %+v", res.StatusCode, p)
	}
	s.broken = errors.New("dial tcp 10.0.0.7: refused")
	res = s.call(t, "POST", "/solve/cnv8q5k6n88s73a1e0h1/cancel", "", nil, &p)
	if res.StatusCode != 500 || strings.Contains(p.Detail, "10.0.0.7") {
		t.Errorf("a broken store: %d %+v", res.StatusCode, p)
	}
}
