package machine_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/internal/machine"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

// require skips the test where machines cannot run, and fails it where
// YUDAI_TEST_REQUIRE names what is missing.
func require(t *testing.T) {
	t.Helper()
	err := machine.Supported()
	if err == nil {
		return
	}
	required := strings.Split(os.Getenv(sandboxtest.RequireEnv), ",")
	if slices.Contains(required, "bubblewrap") && (os.Geteuid() == 0 || slices.Contains(required, "root")) {
		t.Fatal(err)
	}
	t.Skip(err)
}

func TestRequiredMachineMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFails(t, "TestUsersAndTools")
}
