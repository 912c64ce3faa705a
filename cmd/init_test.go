package cmd

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server"
)

// TestEndpointsOfInit: the endpoints with an address of their own are those of docs/endpoints.md, with the same
// address and variable, and a model that its chapter names.
func TestEndpointsOfInit(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/endpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	page := map[string]string{}
	for _, chapter := range strings.Split(string(data), "\n## ")[1:] {
		name, text, _ := strings.Cut(chapter, "\n")
		page[strings.ToLower(strings.NewReplacer(" ", "", ".", "").Replace(name))] = text
	}
	for _, e := range endpoints {
		if e.url == "" {
			continue
		}
		found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page[e.name])
		if found == nil {
			t.Errorf("%s is not on the page", e.name)
			continue
		}
		cfg, err := server.Parse(e.name, []byte(found[1]), func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		m := cfg.Models.Models[0]
		if m.BaseURL != e.url || m.APIKeyEnv != e.keyEnv || m.Provider != e.provider || !strings.Contains(found[1], e.model) {
			t.Errorf("%+v, on the page %+v", e, m)
		}
	}
}
