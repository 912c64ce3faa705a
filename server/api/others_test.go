package api_test

import (
	"net/http"
	"testing"
)

// TestOtherAddressesAreProblems: what no operation answers is told as everything else, and says what there is.
func TestOtherAddressesAreProblems(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, c := range []struct {
		method, path, allow string
		status              int
	}{
		{"GET", "/solve/", "", 404},
		{"GET", "/solve/" + ran, "", 404},
		{"POST", "/solve/" + ran + "/runs/1", "", 404},
		{"GET", "/solve/" + ran + "/status/more", "", 404},
		{"DELETE", "/solve", "GET, POST", 405},
		{"POST", "/solve/" + ran + "/status", "GET", 405},
		{"PUT", "/solve/" + ran + "/runs/1/log", "GET", 405},
		{"DELETE", "/repos/octo/hello/record", "GET", 405},
		{"GET", "/validate", "POST", 405},
	} {
		var p problem
		res := s.call(t, c.method, c.path, "", nil, &p)
		if res.StatusCode != c.status || p.Status != c.status || p.Detail == "" || res.Header.Get("Allow") != c.allow ||
			res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %v %+v", c.method, c.path, res.StatusCode, res.Header, p)
		}
	}
	s.fill(1)
	if res := s.call(t, "HEAD", "/solve", "", nil, nil); res.StatusCode != http.StatusOK {
		t.Errorf("HEAD: %d", res.StatusCode)
	}
}
