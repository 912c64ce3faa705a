package server_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server"
)

// TestEntriesOfEndpoints: what the page has people copy is read as it stands, one server for each chapter, and the
// models of a solve are those of the entry.
func TestEntriesOfEndpoints(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/endpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{} // chapter by server
	for _, chapter := range strings.Split(string(page), "\n## ")[1:] {
		name, _, _ := strings.Cut(chapter, "\n")
		found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(chapter)
		if found == nil {
			continue
		}
		cfg, err := server.Parse(name, []byte(found[1]), noEnv)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		e := cfg.Models.Models[0]
		if e.BaseURL == "" || !strings.HasSuffix(e.BaseURL, "/v1") || seen[e.BaseURL] != "" {
			t.Errorf("%s: base_url %q, which %q has", name, e.BaseURL, seen[e.BaseURL])
		}
		seen[e.BaseURL] = name
		if local := strings.HasPrefix(e.BaseURL, "http://127.0.0.1:"); !local && e.APIKeyEnv == "" {
			t.Errorf("%s: a public server without a key", name)
		}
		if len(cfg.Solver.Defaults.Models) != 1 || cfg.Solver.Defaults.Models[0] != e.Name {
			t.Errorf("%s: a solve asks %v", name, cfg.Solver.Defaults.Models)
		}
	}
	if len(seen) != 7 {
		t.Errorf("%d servers on the page: %v", len(seen), seen)
	}
}
