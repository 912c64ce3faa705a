package machine_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/machine"
)

// require skips the test where machines cannot run, and fails it where
// YUDAI_TEST_REQUIRE names what is missing.
func require(t *testing.T) {
	t.Helper()
	sandboxtest.RequireMachines(t, machine.Supported())
}

func TestRequiredMachineMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFails(t, "TestUsersAndTools")
}
