package drivers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox/e2b"
)

// Buildable lists the drivers whose sandboxes start from something that [Build] makes.
func Buildable() []string { return []string{"e2b"} }

// Build makes what sandboxes of a driver start from, at its provider, and shows
// what happens, line by line. It returns the lines of config.yml that use it.
func Build(ctx context.Context, c Config, name string, show func(line string)) (settings string, err error) {
	if !slices.Contains(Buildable(), name) {
		fix := fmt.Sprintf("there is something to build for %s only", strings.Join(Buildable(), ", "))
		if name == "docker" {
			fix = "build its image with make docker-image, which calls docker build on sandbox/docker/image"
		}
		return "", fmt.Errorf("nothing to build for driver %q: %s", name, fix)
	}
	if err := e2b.Build(ctx, c.E2B, show); err != nil {
		return "", err
	}
	return "sandbox:\n  driver: e2b\n  e2b:\n    template: " + c.E2B.Template + "\n", nil
}
