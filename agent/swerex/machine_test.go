package swerex_test

import (
	"context"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/yudai-dev/yudai/agent/swerex"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

func TestMain(m *testing.M) {
	local.Stage()
	os.Exit(m.Run())
}

const token = "run-token"

// serve starts an endpoint in front of a machine.
func serve(t *testing.T, box sandbox.Sandbox) (*swerex.Server, string) {
	t.Helper()
	s := swerex.New(box, token)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return s, web.URL
}
