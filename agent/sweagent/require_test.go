package sweagent_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestRequiredProgramMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFailsWithout(t, "swe-agent", "TestRealProgram")
}
