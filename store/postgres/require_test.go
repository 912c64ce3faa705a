package postgres_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

func TestSkipsFailWherePostgresIsRequired(t *testing.T) {
	t.Parallel()
	require.SkipFailsWithout(t, "postgres", "TestTheDatabasesClockDecides")
}
