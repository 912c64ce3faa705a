package docker_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestRequiredEngineMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "docker", "TestPromises")
}
