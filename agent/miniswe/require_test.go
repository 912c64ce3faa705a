package miniswe_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredPipMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "pip", "TestSolves")
	require.SkipFailsWithout(t, "pip", "TestSameAsNative")
}
