package e2bsim_test

import (
	"testing"

	"github.com/yudai-dev/yudai/test/e2bsim"
	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/require"
)

// start starts a server that the test closes.
func start(t *testing.T, change ...func(*e2bsim.Options)) *e2bsim.Server {
	t.Helper()
	require.Machines(t, machine.Supported())
	o := e2bsim.Options{Dir: t.TempDir()}
	for _, c := range change {
		c(&o)
	}
	s, err := e2bsim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
