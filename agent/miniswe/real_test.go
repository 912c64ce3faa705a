package miniswe_test

import (
	"context"
	"io"
	"testing"

	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/test/require"
	"github.com/yudai-dev/yudai/test/toolcache"
)

// installed is where the agent's own install was run, once for each lock, script and Python.
func installed(t *testing.T) string {
	t.Helper()
	require.Daily(t)
	_, python, err := toolcache.Python(t.Context())
	require.Need(t, "pip", err)
	return agenttest.Installed(t, "pip", "miniswe", miniswe.Program().Install, python)
}

// printed is what the program printed, for a test that failed.
func printed(t *testing.T, get func(context.Context, string) (io.ReadCloser, error)) string {
	t.Helper()
	r, err := get(t.Context(), command.OutputFile)
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
