package server_test

import (
	"runtime/debug"
	"testing"

	"github.com/yudai-dev/yudai/server"
)

// TestLean is not parallel: the setting is the whole process's.
func TestLean(t *testing.T) {
	before := debug.SetGCPercent(70)
	defer debug.SetGCPercent(before)
	server.Lean(func(string) string { return "70" })
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("the operator's GOGC became %d", got)
	}
	server.Lean(func(string) string { return "" })
	if got := debug.SetGCPercent(before); got != 50 {
		t.Errorf("the collector's target is %d percent, want 50", got)
	}
}
