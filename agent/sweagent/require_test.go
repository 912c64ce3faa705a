package sweagent_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredProgramMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "swe-agent", "TestRealProgram")
}
