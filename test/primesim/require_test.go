package primesim_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestRequiredBubblewrapMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFails(t, "TestCommands")
}

func TestRequiredPipMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFailsWithout(t, "pip", "TestPythonSDK")
	sandboxtest.SkipFailsWithout(t, "pip", "TestCommandLine")
}
