package server

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/sandbox/drivers"
)

// BuildSandbox makes what sandboxes of a driver start from at its provider: the
// template of e2b. It shows what happens and returns the settings that use it.
func BuildSandbox(ctx context.Context, cfg Config, driver string, show func(line string)) (settings string, err error) {
	settings, err = drivers.Build(ctx, cfg.Sandbox, driver, show)
	if err != nil {
		return "", fmt.Errorf("build for sandboxes: %w", err)
	}
	return settings, nil
}
