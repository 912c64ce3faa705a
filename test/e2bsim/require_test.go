package e2bsim_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredMachineMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestCommand")
}

func TestRequiredNPMMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "npm", "TestOfficialSDK")
}
