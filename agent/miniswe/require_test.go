package miniswe_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestRequiredPipMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFailsWithout(t, "pip", "TestSolves")
	sandboxtest.SkipFailsWithout(t, "pip", "TestSameAsNative")
}
