package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
	"github.com/yudai-dev/yudai/test/require"
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
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end %d, %v", n, err)
	}
}

// TestServedCallHoldsNothingUp: while the first process serves a call that takes its time,
// commands end, and a forwarder that was killed comes back.
func TestServedCallHoldsNothingUp(t *testing.T) {
	t.Parallel()
	sb, err := opened(t).driver.Open(t.Context(), sandbox.Spec{Name: "busy", Network: sandbox.Network{Allow: []string{"allowed.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	up, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		res, err := sb.Exec(t.Context(), sandbox.Command{Stdout: w, Timeout: time.Minute, Shell: `: >/workspace/.yudai/` + neverBegun + `.on; echo up
until [ -e /tmp/go ]; do sleep 0.05; done
for p in /proc/[0-9]*; do [ "$(tr '\0' '\n' <$p/cmdline | sed -n 2p)" = forward ] && kill -9 ${p#/proc/} && break; done
until : 3<>/dev/tcp/127.0.0.1/3128; do sleep 0.05; done 2>/dev/null`})
		if err == nil && res.ExitCode != 0 {
			err = fmt.Errorf("%+v", res)
		}
		ended <- err
	}()
	if _, err := up.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	b := sb.(*box)
	c, err := (&firstProcess{dir: b.dir, left: b.helper.left}).call(t.Context(), protocol.CallServe, protocol.VerbKill, []string{"id=" + neverBegun}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := os.WriteFile(filepath.Join(b.dir, "data/tmp/go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- c.wait(t.Context()) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case err := <-served:
		t.Errorf("the command waited for the other's end: %v", err)
	}
}

// neverBegun is a command that somebody has claimed and nobody starts: to kill it takes
// as long as that may take.
const neverBegun = "4503599627370497"

// TestAttachTellsWhatRunsOn: an owner whose predecessor's commands do not end is told so.
func TestAttachTellsWhatRunsOn(t *testing.T) {
	t.Parallel()
	require.Long(t) // it waits as long as the commands may take
	sb, err := opened(t).driver.Open(t.Context(), sandbox.Spec{Name: "stuck", Network: sandbox.Network{Allow: []string{"allowed.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	// The forwarder poses as the supervisor of a command: it is the program's, and does not end.
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: `cd /workspace/.yudai; : >` + neverBegun + `.on
for p in /proc/[0-9]*; do [ "$(tr '\0' '\n' <$p/cmdline | sed -n 2p)" = forward ] && echo ${p#/proc/} >` + neverBegun + `.pid && exit; done; exit 1`})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%q, %+v, %v", out, res, err)
	}
	if err := sb.(*box).takeOver(t.Context()); err == nil || !strings.Contains(err.Error(), "still run") {
		t.Errorf("take over: %v", err)
	}
}
