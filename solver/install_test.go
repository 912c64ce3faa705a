package solver

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/sandbox"
)

func TestHostsIn(t *testing.T) {
	t.Parallel()
	got := hostsIn(map[string]string{
		"GOPROXY": "https://go.example.com/x|http://second.example.com,direct", "PIP_INDEX_URL": "https://pypi.example.com:443/simple",
		"CARGO_X": "sparse+https://crates.example.com/", "FLAG": "1", "FILE": "file:///etc/passwd", "GOSUMDB": "off", "BAD": "https://a_b!/",
		"npm_config_registry": "https://go.example.com/npm",
	})
	want := []string{"crates.example.com", "go.example.com", "pypi.example.com", "second.example.com"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type refuser struct {
	sandbox.Sandbox
	hosts []string
}

func (r refuser) Refused() []string    { return r.hosts }
func (r refuser) Place() sandbox.Place { return sandbox.Place{Driver: "docker"} }

// TestClosedNamesTheSetting: whoever reads that an install failed learns which setting opens what it asked for.
func TestClosedNamesTheSetting(t *testing.T) {
	t.Parallel()
	allowed := []string{"pypi.org"}
	for name, c := range map[string]struct {
		hosts []string
		only  bool
		want  string
	}{
		"nothing":  {nil, false, ""},
		"unlisted": {[]string{"cdn.example.com", "bad host`"}, false, ". It asked for `cdn.example.com`: solver.tests.hosts can allow that"},
		"left out": {[]string{"cdn.example.com"}, true, ". It asked for `cdn.example.com`: network in .github/yudai.yml leaves it closed"},
		"private":  {[]string{"pypi.org"}, false, ". Here `pypi.org` leads to a private address: sandbox.docker.allow_private can allow that"},
	} {
		if got := closed(refuser{hosts: c.hosts}, allowed, c.only); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
