package e2bsim_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestRequiredMachineMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFails(t, "TestCommand")
}

func TestRequiredNPMMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFailsWithout(t, "npm", "TestOfficialSDK")
}
