package setup_test

import (
	"fmt"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/setup"
)

// TestWhichDriversStopTheStart: the default one always, unless another takes over from
// it while it is away; of the others what only a change of the settings mends.
func TestWhichDriversStopTheStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fallback string
		problem        error
		stops          bool
	}{
		{"local", "", sandbox.ErrUnavailable, true},
		{"local", "", fmt.Errorf("%w: cgroups", sandbox.ErrLimit), true},
		{"local", "docker", sandbox.ErrUnavailable, false},
		{"local", "docker", sandbox.ErrCapacity, false},
		{"local", "docker", sandbox.ErrSetting, true},
		{"e2b", "", sandbox.ErrUnavailable, false},
		{"e2b", "", sandbox.ErrSetting, true},
		{"docker", "docker", sandbox.ErrUnavailable, false},
		{"docker", "docker", fmt.Errorf("%w: %w", sandbox.ErrUnavailable, sandbox.ErrSetting), true},
	} {
		cfg := drivers.DefaultConfig()
		cfg.Choices, cfg.Fallback = []string{"e2b"}, c.fallback
		if got := setup.MustStop(cfg, c.name, c.problem); got != c.stops {
			t.Errorf("%s with the fallback %q: %v stops the start: %t", c.name, c.fallback, c.problem, got)
		}
	}
}
