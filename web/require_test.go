package web_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredBrowserMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "browser", "TestInABrowser")
}
