package e2bsim_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/internal/machine"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

// required reports whether YUDAI_TEST_REQUIRE names something.
func required(what string) bool {
	return slices.Contains(strings.Split(os.Getenv(sandboxtest.RequireEnv), ","), what)
}

// requireMachine skips the test where machines cannot run, and fails it where
// they are required.
func requireMachine(t *testing.T) {
	t.Helper()
	err := machine.Supported()
	if err == nil {
		return
	}
	if required("bubblewrap") && (os.Geteuid() == 0 || required("root")) {
		t.Fatal(err)
	}
	t.Skip(err)
}

// requireNPM does the same for node and npm.
func requireNPM(t *testing.T) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if required("npm") {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

func TestRequiredMachineMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFails(t, "TestCommand")
}

func TestRequiredNPMMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFailsWithout(t, "npm", "TestOfficialSDK")
}
