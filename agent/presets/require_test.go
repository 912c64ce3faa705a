package presets_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

// requireNPM skips the test where there is no npm, and fails it where npm is required.
func requireNPM(t *testing.T) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if slices.Contains(strings.Split(os.Getenv(sandboxtest.RequireEnv), ","), "npm") {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

func TestRequiredNPMMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFailsWithout(t, "npm", "TestCodexSolves")
}
