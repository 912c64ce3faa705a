package cmd_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestRequiredSandboxMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFails(t, "TestScripts/solve")
}
