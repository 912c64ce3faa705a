package machine_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/require"
)

// requireMachines skips the test where machines cannot run, and fails it where
// YUDAI_TEST_REQUIRE names what is missing.
func requireMachines(t *testing.T) {
	t.Helper()
	require.Machines(t, machine.Supported())
}

func TestRequiredMachineMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestUsersAndTools")
}
