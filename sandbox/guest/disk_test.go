package guest_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/test/machine"
)

// start opens a box on a machine with these options.
func start(t *testing.T, o machine.Options) (*guest.Handle, error) {
	t.Helper()
	requireMachines(t)
	o.Dir = filepath.Join(t.TempDir(), "m")
	h := &held{}
	var err error
	if h.m, err = machine.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.m.Close(); err != nil {
			t.Error(err)
		}
	})
	return guest.Open(t.Context(), &far{m: h.m, gone: &h.gone}, guest.Options{Name: "it", Token: "t", User: machine.User, OOM: "vmstat"})
}

func TestLackingProgramsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := start(t, machine.Options{Hide: []string{"git", "tar"}})
	if !errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), "git, tar") {
		t.Errorf("error %v should be ErrSetting and name git and tar", err)
	}
	_, err = start(t, machine.Options{Hide: []string{"bash"}})
	if !errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), "bash") {
		t.Errorf("error %v should be ErrSetting and name bash", err)
	}
}

// TestFullDisk: commands in a machine whose disk is full end with ErrDisk, whether
// it was their output that filled it or their files.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"head -c 60000000 /dev/zero >/tmp/x; echo over", "head -c 30000000 /dev/zero; exit 0"} {
		b, err := start(t, machine.Options{DiskBytes: 16 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		c := sandbox.Command{Shell: text, Stdout: &out, MaxOutput: 40_000_000}
		if res, err := b.Exec(t.Context(), c); !errors.Is(err, sandbox.ErrDisk) {
			t.Errorf("%q: %+v, %v; want ErrDisk", text, res, err)
		}
		if _, err := b.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrDisk) {
			t.Errorf("the next command: %v, want ErrDisk", err)
		}
		b.End(nil)
	}
}

// TestMuchOutput: what is beyond the limit is neither kept inside nor passed on.
func TestMuchOutput(t *testing.T) {
	t.Parallel()
	b, err := start(t, machine.Options{DiskBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer b.End(nil)
	var out bytes.Buffer
	res, err := b.Exec(t.Context(), sandbox.Command{Shell: "head -c 100000000 /dev/zero; exit 3", Stdout: &out, MaxOutput: 1_000_000})
	if err != nil || res.ExitCode != 3 || !res.Truncated || out.Len() != 1_000_000 {
		t.Errorf("%d bytes, %+v, %v", out.Len(), res, err)
	}
}

// TestForgottenReader: a file that nobody reads or closes does not hold the sandbox's end up,
// and tells why it ended.
func TestForgottenReader(t *testing.T) {
	t.Parallel()
	b, err := start(t, machine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), "/tmp/f", bytes.NewReader(make([]byte, 8<<20)), 0o644); err != nil {
		t.Fatal(err)
	}
	forgotten, err := b.Get(t.Context(), "/tmp/f")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.End(nil)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("End waits for a reader that nobody reads")
	}
	if _, err := io.Copy(io.Discard, forgotten); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("read after End: %v, want ErrGone", err)
	}
}
