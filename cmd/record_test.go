package cmd_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/cmd"
	"github.com/yudai-dev/yudai/store/bolt"
)

// TestRecordReadsTheFile where no server answers, and says what is missing.
func TestRecordReadsTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, config := filepath.Join(dir, "yudai.db"), filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("server: {address: \"127.0.0.1:1\"}\nstore: {path: %q}\n", file)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ repo, want string }{
		{"octo/hello", "no server answers"}, {"octo", "write it as owner/name"}, {"octo/hello", "track record of octo/hello: not found"},
	} {
		if strings.HasPrefix(c.want, "track") {
			s, err := bolt.Open(bolt.Config{Path: file})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var out, errs bytes.Buffer
		code := cmd.Execute(t.Context(), []string{"record", "--config", config, c.repo}, strings.NewReader(""), &out, &errs)
		if code != 1 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d, %q, want %q", c.repo, code, errs.String(), c.want)
		}
	}
}
