package dockerd_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/test/dockerd"
	"github.com/yudai-dev/yudai/test/require"
)

// TestEngineStartsAndLeavesNothing starts an engine, kills it, starts it again
// with what it had, and stops it.
func TestEngineStartsAndLeavesNothing(t *testing.T) {
	require.Need(t, "docker", dockerd.Missing())
	e, err := dockerd.Start(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(strings.TrimPrefix(e.Host, "unix://"))
	e.Kill()
	if err := e.Launch(t.Context()); err != nil {
		t.Error(err)
	}
	if err := has(t.Context(), e); err != nil {
		t.Errorf("the image after a crash of the engine: %v", err)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left below %s: %v", dir, err)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, at := range lines {
		if line, err := os.ReadFile(at); err == nil && strings.Contains(string(line), dir) {
			t.Errorf("%s runs on: %q", at, line)
		}
	}
}

func has(ctx context.Context, e *dockerd.Engine) error {
	cli, err := e.Client()
	if err != nil {
		return err
	}
	defer func() { _ = cli.Close() }()
	_, err = cli.ImageInspect(ctx, e.Image)
	return err
}
