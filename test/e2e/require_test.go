package e2e_test

import (
	"testing"

	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestRequiredSandboxMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFails(t, "TestStatusAndHelp")
}

func TestRequiredBrowserMustNotSkip(t *testing.T) {
	t.Parallel()
	sandboxtest.SkipFailsWithout(t, "browser", "TestSetupInABrowser")
}
