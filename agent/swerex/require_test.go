package swerex_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredClientMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "pip", "TestClient")
}
