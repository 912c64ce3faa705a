package cmd_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/cmd"
)

// TestSandboxBuild shows the build's log and what belongs into config.yml.
func TestSandboxBuild(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"POST /v3/templates": `{"templateID":"t","buildID":"b"}`, "GET /templates/t/files/{hash}": `{"present":true}`,
		"POST /v2/templates/t/builds/b": ``,
	}
	mux := http.NewServeMux()
	for pattern, body := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	mux.HandleFunc("GET /templates/t/builds/b/status", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("logsOffset") == "0" {
			_, _ = io.WriteString(w, `{"status":"building","logEntries":[{"message":"apt-get update"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"status":"ready"}`)
	})
	service := httptest.NewServer(mux)
	t.Cleanup(service.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "c.yml")
	key := filepath.Join(dir, "key")
	text := "solver: {tests: {require_fix: true}}\nsandbox:\n  e2b:\n    template: mine\n    api_key_env: \"\"\n    api_key_file: " + key + "\n    api_url: " + service.URL + "\n"
	for file, content := range map[string]string{config: text, key: "e2b_secret"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if code := cmd.Execute(t.Context(), []string{"sandbox", "build", "e2b", "-c", config}, nil, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	want := "apt-get update\n\nBuilt. Sandboxes start from it with this in config.yml:\n\nsandbox:\n  driver: e2b\n  e2b:\n    template: mine\n"
	if out.String() != want || strings.Contains(out.String()+errs.String(), "e2b_secret") {
		t.Errorf("printed %q", out.String())
	}
	if want := config + ":1:31: solver.tests.require_fix: has no effect any more"; strings.Count(errs.String(), want) != 1 {
		t.Errorf("the notice is %q", errs.String())
	}
}
