package primesim_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/test/primesim"
)

// TestCommandLine drives the stub through the official command line, in the way
// that the pages for operators describe.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	p := official(t)
	s := setup(t, primesim.Options{Images: []primesim.Image{{Name: "yudai/sandbox:cli", Build: time.Minute}}})
	prime := func(wantCode int, args ...string) string {
		t.Helper()
		out, err := p.run(t, s, "prime", append([]string{"--plain"}, args...)...)
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if code != wantCode || (err != nil && exit == nil) {
			t.Fatalf("prime %v: %v\n%s", args, err, out)
		}
		return out
	}
	made := prime(0, "sandbox", "create", "yudai/sandbox:cli", "--name", "by-hand", "--label", "yudai", "--timeout-minutes", "30", "--env", "GIVEN=x y", "--yes")
	id := created(t, made)
	if !strings.Contains(made, "image is being") {
		t.Errorf("no word of the image build:\n%s", made)
	}
	s.Advance(2 * time.Minute)
	s.await(id, primesim.StatusRunning)

	var listed struct {
		Sandboxes []struct{ ID, Name, Image, Status string }
		Total     int
	}
	decode(t, prime(0, "sandbox", "list", "--label", "yudai", "-o", "json"), &listed)
	if listed.Total != 1 || listed.Sandboxes[0].ID != id || listed.Sandboxes[0].Status != "RUNNING" || listed.Sandboxes[0].Image != "yudai/sandbox:cli" {
		t.Errorf("listed %+v", listed)
	}
	var got map[string]any
	decode(t, prime(0, "sandbox", "get", id, "-o", "json"), &got)
	if got["id"] != id || got["docker_image"] != "yudai/sandbox:cli" || got["status"] != "RUNNING" {
		t.Errorf("got %v", got)
	}

	if out := prime(7, "sandbox", "run", id, "-w", "/tmp", "-e", "A=b", "--", "bash", "-c", `echo "$A $GIVEN $(pwd)" && exit 7`); !strings.Contains(out, "b x y /tmp") {
		t.Errorf("the run printed\n%s", out)
	}
	local := filepath.Join(t.TempDir(), "local")
	if err := os.WriteFile(local, []byte("there and back"), 0o600); err != nil {
		t.Fatal(err)
	}
	prime(0, "sandbox", "upload", id, local, "/srv/")
	prime(0, "sandbox", "download", id, "/srv/local", local+".back")
	if data, err := os.ReadFile(local + ".back"); err != nil || string(data) != "there and back" {
		t.Errorf("downloaded %q, %v", data, err)
	}
	if out := prime(0, "whoami"); !strings.Contains(out, "stub@example.org") {
		t.Errorf("whoami: %s", out)
	}

	prime(0, "sandbox", "delete", id, "--yes")
	if billed := s.Billed(); len(billed) > 0 {
		t.Errorf("still billed: %v", billed)
	}
	s.SetKey(s.key, false)
	if out := prime(1, "sandbox", "list", "-o", "json"); !strings.Contains(out, "unauthorized") {
		t.Errorf("with a revoked key: %s", out)
	}
}

// created finds the id in what a create prints.
func created(t *testing.T, out string) string {
	t.Helper()
	m := regexp.MustCompile(`Successfully created sandbox (\S+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no id in\n%s", out)
	}
	return m[1]
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}
