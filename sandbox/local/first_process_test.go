package local

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox/guest"
)

// played serves calls in the place of a first process. Its helper never leaves.
func played(t *testing.T, serve func(conn *net.UnixConn, files []int)) *firstProcess {
	t.Helper()
	dir := t.TempDir()
	f, err := listenIn(dir, callsSocket, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.(*net.UnixListener).AcceptUnix()
			if err != nil {
				return
			}
			rights := make([]byte, unix.CmsgSpace(4*4))
			_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 64), rights)
			messages, _ := unix.ParseSocketControlMessage(rights[:n])
			if err != nil || len(messages) != 1 {
				return
			}
			files, _ := unix.ParseUnixRights(&messages[0])
			serve(conn, files)
		}
	}()
	return &firstProcess{dir: dir, left: make(chan struct{})}
}

// TestCancelledCallEndsAtOnce: who cancels a call does not wait for an answer, nor for the
// end of a helper that goes on.
func TestCancelledCallEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *firstProcess) error{
		"run": func(ctx context.Context, f *firstProcess) error {
			_, err := f.Run(ctx, guest.Process{Argv: []string{"guest", "exec"}}, func(bool, []byte) {})
			return err
		},
		"upload": func(ctx context.Context, f *firstProcess) error {
			return f.Upload(ctx, "/tmp/f", strings.NewReader(""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			left, cancelled := errors.New("left"), make(chan time.Time, 1)
			f := played(t, func(conn *net.UnixConn, _ []int) {
				t.Cleanup(func() { _ = conn.Close() })
				cancelled <- time.Now()
				cancel(left)
			})
			if err := call(ctx, f); !errors.Is(err, left) {
				t.Errorf("error %v, want the cause", err)
			}
			if took := time.Since(<-cancelled); took >= endTimeout {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestReadAfterTheEnd: a file that was read to its end stays at its end.
func TestReadAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := played(t, func(conn *net.UnixConn, files []int) {
		_, _ = unix.Write(files[2], []byte("text"))
		for _, fd := range files {
			_ = unix.Close(fd)
		}
		_, _ = conn.Write([]byte("0"))
		_ = conn.Close()
	})
	r, err := f.Download(t.Context(), "/tmp/f")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if text, err := io.ReadAll(r); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF { //nolint:errorlint // readers return it bare
		t.Errorf("after the end %d, %v", n, err)
	}
}
