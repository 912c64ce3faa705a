package tree_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredSandboxMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestFingerprint")
}
