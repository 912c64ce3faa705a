package machine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/yudai-dev/yudai/test/machine"
)

func itoa(n int) string { return strconv.Itoa(n) }

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// TestLinksStayInside: a link inside leads where it leads inside.
func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("host"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := start(t)
	run(t, m, machine.User, `echo inside >/tmp/f; ln -s /tmp/f /home/user/abs; ln -s `+outside+` /home/user/out; ln -s ../../../../../../../..`+outside+` /home/user/up; ln -s /etc /home/user/etc`)
	f, err := m.Open("/home/user/abs")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := io.ReadAll(f); string(data) != "inside\n" {
		t.Errorf("%q, %v", data, err)
	}
	for _, name := range []string{"/home/user/out", "/home/user/up", "../../.." + outside} {
		if f, err := m.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	err = m.Within("/home/user/etc/passwd", func(host string) error {
		data, err := os.ReadFile(host)
		if !bytes.Contains(data, []byte("user:x:1000")) || bytes.Contains(data, []byte("daemon")) {
			t.Errorf("not the machine's own passwd: %s", data)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	w, err := m.Create("/tmp/new")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteString("from the host"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, m, machine.User, `cat /tmp/new; stat -c %U /tmp/new`); got != "from the hostroot" {
		t.Errorf("%q", got)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	m := start(t)
	master, slave, err := m.Terminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	c, p, err := m.Spawn(t.Context(), machine.Job{User: machine.User, Env: []string{"PATH=" + machine.Path}, Terminal: slave,
		Argv: []string{"bash", "-c", "tty; stty size; exec 3</dev/tty && echo controlling"}})
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	out, _ := io.ReadAll(master) // ends with an error of the terminal's
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if string(out) != "/dev/pts/0\r\n24 80\r\ncontrolling\r\n" {
		t.Errorf("%q", out)
	}
}
