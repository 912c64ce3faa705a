package swerex_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/swerex"
	"github.com/yudai-dev/yudai/internal/hostmachine"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/solver/shell"
)

func TestMain(m *testing.M) {
	local.Stage()
	os.Exit(m.Run())
}

const token = "run-token"

// serve starts an endpoint in front of a machine.
func serve(t *testing.T, m agent.Machine, o swerex.Options) (*swerex.Server, string) {
	t.Helper()
	s := swerex.New(m, token, o)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return s, web.URL
}

// host is a machine without walls.
func host(t *testing.T) *hostmachine.Machine {
	t.Helper()
	m, err := hostmachine.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// need skips a test for want of something, or fails it where that is required.
func need(t *testing.T, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("YUDAI_TEST_REQUIRE"), ","), what):
		t.Fatalf("%s is required: %v", what, err)
	default:
		t.Skipf("%s: %v", what, err)
	}
}

// box is a machine that is a real sandbox.
func box(t *testing.T) agent.Machine {
	t.Helper()
	_, err := exec.LookPath("bwrap")
	need(t, "bubblewrap", err)
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited, c.FreeDiskMiB = t.TempDir(), true, 16
	d, err := local.New(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep at the end: %v", err)
		}
	})
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "rex", Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return shell.New(sb)
}
