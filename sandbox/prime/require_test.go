package prime_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredMachineMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestPromises")
}
