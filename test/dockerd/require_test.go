package dockerd_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestRequiredEngineMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFailsWithout(t, "docker", "TestEngineStartsAndLeavesNothing")
}
