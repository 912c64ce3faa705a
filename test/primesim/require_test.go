package primesim_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredBubblewrapMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestCommands")
}

func TestRequiredPipMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "pip", "TestPythonSDK")
	require.SkipFailsWithout(t, "pip", "TestCommandLine")
}
