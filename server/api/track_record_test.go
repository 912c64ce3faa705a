package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

func TestTrackRecord(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(a *api.API) { a.UsesRecords = true })
	record := solve.TrackRecord{Repo: solve.Repo{ID: 1, Owner: "octo", Name: "hello"}}
	good, bad := solve.Arm{Model: "good", Agent: "mini"}, solve.Arm{Model: "bad", Agent: "mini"}
	record.Add([]solve.Trial{{Arm: bad, Weight: 1}, {Arm: good, Right: 1, Weight: 1}, {Arm: good, Right: 1, Weight: 1}})
	s.tracks = []solve.TrackRecord{record}
	var got map[string]any
	res := s.call(t, "GET", "/repos/Octo/hello/record", "", nil, &got)
	arm := func(name string, won, known, low, high, expected, alpha, beta float64) map[string]any {
		return map[string]any{
			"arm": map[string]any{"model": name, "agent": "mini"}, "won": won, "known": known, "low_percent": low, "high_percent": high,
			"expected_percent": expected, "alpha": alpha, "beta": beta,
		}
	}
	want := map[string]any{"used": true, "arms": []any{arm("good", 2, 2, 34, 100, 60, 6, 4), arm("bad", 0, 1, 0, 79, 44, 4, 5)}}
	if diff := cmp.Diff(want, got); diff != "" || res.StatusCode != 200 {
		t.Errorf("%d (-want +got):\n%s", res.StatusCode, diff)
	}
	if res := s.call(t, "GET", "/repos/octo/other/record", "", nil, nil); res.StatusCode != 404 {
		t.Errorf("another repository: %d", res.StatusCode)
	}
	if res := s.call(t, "GET", "/repos/octo/hello/record", "", map[string]string{"Authorization": "Bearer x"}, nil); res.StatusCode != 401 {
		t.Errorf("a wrong token: %d", res.StatusCode)
	}
	s.broken = errors.New("disk on fire")
	if res := s.call(t, "GET", "/repos/octo/hello/record", "", nil, nil); res.StatusCode != 500 || !strings.Contains(s.log.String(), "disk on fire") {
		t.Errorf("a broken store: %d, log %s", res.StatusCode, s.log)
	}
}

// TestModelsAutoIsAccepted alone: beside names it is a name that is not configured.
func TestModelsAutoIsAccepted(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for models, want := range map[string]int{`["auto"]`: 202, `["auto", "gpt-5-mini"]`: 422} {
		body := `{"repo_url": "https://github.com/octo/hello", "issue_number": 7, "matrix": {"models": ` + models + `}}`
		if res := s.call(t, "POST", "/solve", body, nil, nil); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", models, res.StatusCode, want)
		}
	}
}
