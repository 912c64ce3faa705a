package e2e_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredSandboxMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestStatusAndHelp")
}

func TestRequiredBrowserMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "browser", "TestSetupInABrowser")
}
