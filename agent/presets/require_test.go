package presets_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredNPMMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "npm", "TestCodexSolves")
}
