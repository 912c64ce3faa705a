package docker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// machine runs programs in one container.
type machine struct {
	driver *Driver
	id     string
}

var _ guest.Remote = (*machine)(nil)

// Run starts a program in the container. Commands have no administrator there.
func (m *machine) Run(ctx context.Context, p guest.Process, out func(stderr bool, data []byte)) (int, error) {
	return m.run(ctx, p.Argv, nil, out)
}

// Upload feeds a file to a program that writes it.
func (m *machine) Upload(ctx context.Context, path string, r io.Reader) error {
	var said bytes.Buffer
	code, err := m.run(ctx, []string{"/bin/bash", "-c", `cat >"$1"`, "yudai", path}, r, func(_ bool, data []byte) { said.Write(data) })
	return m.transferred(ctx, "upload "+path, code, err, &said)
}

// Download reads a file from a program that prints it. The program ends when the reader is closed.
func (m *machine) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	go func() {
		defer cancel()
		var said bytes.Buffer
		code, err := m.run(ctx, []string{"/bin/cat", "--", path}, nil, func(stderr bool, data []byte) {
			if stderr {
				said.Write(data)
			} else if _, err := w.Write(data); err != nil {
				cancel()
			}
		})
		_ = w.CloseWithError(m.transferred(ctx, "download "+path, code, err, &said))
	}()
	return r, nil
}

// transferred is the error of a transfer by a program that ended with this code.
func (m *machine) transferred(ctx context.Context, what string, code int, err error, said *bytes.Buffer) error {
	if err == nil && code != 0 {
		err = m.goneOr(ctx, fmt.Errorf("exit %d: %.1000s", code, strings.TrimSpace(said.String())))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// run starts a program, feeds it, and passes its output on until it ends.
func (m *machine) run(ctx context.Context, argv []string, in io.Reader, out func(stderr bool, data []byte)) (int, error) {
	id, err := m.prepare(ctx, argv, in != nil)
	if err != nil {
		return 0, err
	}
	conn, err := m.driver.api.ExecAttach(ctx, id, client.ExecAttachOptions{})
	if err != nil {
		return 0, m.broken(ctx, err)
	}
	stop := context.AfterFunc(ctx, conn.Close)
	defer stop()
	fed := feed(&conn.HijackedResponse, in)
	err = demultiplex(&view{machine: m, ctx: ctx, exec: id, conn: &conn.HijackedResponse}, out)
	conn.Close()
	if failed := <-fed; failed != nil {
		return 0, failed
	}
	if err != nil {
		return 0, m.broken(ctx, err)
	}
	return m.code(ctx, id)
}

// patience is how long run waits for an engine that cannot be reached: the engine may
// be restarting, and containers can survive that.
const patience = 3 * time.Second

// prepare creates an exec. That starts nothing yet, so it may be repeated.
func (m *machine) prepare(ctx context.Context, argv []string, in bool) (string, error) {
	for deadline := time.Now().Add(patience); ; {
		o := client.ExecCreateOptions{AttachStdin: in, AttachStdout: true, AttachStderr: true, Cmd: argv}
		res, err := m.driver.api.ExecCreate(ctx, m.id, o)
		switch {
		case err == nil:
			return res.ID, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errdefs.IsNotFound(err), errdefs.IsConflict(err):
			return "", m.goneOr(ctx, err)
		case !unreachable(err) || time.Now().After(deadline):
			return "", m.driver.explain(err)
		}
		if err := clock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// feed sends a program its input in the background. The channel gets the reader's own
// error: then the program must not take the part that came for the whole.
func feed(conn *client.HijackedResponse, in io.Reader) <-chan error {
	done := make(chan error, 1)
	if in == nil {
		done <- nil
		return done
	}
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := in.Read(buf)
			_, failed := conn.Conn.Write(buf[:n])
			switch {
			case failed != nil: // the program ended, or the connection broke
				done <- nil
				return
			case errors.Is(err, io.EOF):
				_ = conn.CloseWrite()
				done <- nil
				return
			case err != nil:
				conn.Close()
				done <- err
				return
			}
		}
	}()
	return done
}

// code reads the exit code of a program whose output ended.
func (m *machine) code(ctx context.Context, exec string) (int, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		res, err := m.driver.api.ExecInspect(ctx, exec, client.ExecInspectOptions{})
		switch {
		case err != nil:
			return 0, m.broken(ctx, err)
		case !res.Running:
			return res.ExitCode, nil
		case wait > time.Second: // it runs, and nobody sees what it prints
			return 0, m.broken(ctx, errors.New("the output of a running program ended"))
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return 0, err
		}
	}
}

// goneOr returns sandbox.ErrGone if the container does not run, else err.
func (m *machine) goneOr(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	res, failed := m.driver.api.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
	if errdefs.IsNotFound(failed) || failed == nil && !res.Container.State.Running {
		return fmt.Errorf("its container ended: %w", sandbox.ErrGone)
	}
	return m.driver.explain(err)
}

// broken explains a view that was lost: guest.ErrCut unless the container is gone.
func (m *machine) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return m.goneOr(ctx, fmt.Errorf("%w: %w", guest.ErrCut, err))
}

// view reads the output of one running program.
type view struct {
	machine *machine
	ctx     context.Context //nolint:containedctx // of the one call that reads
	exec    string
	conn    *client.HijackedResponse
	ended   bool // the program had ended when the engine was asked last
}

// Silence after which the engine is asked, and how long it may take to answer.
const (
	silence    = 10 * time.Second
	answerTime = 10 * time.Second
)

// Read reads what comes. After a silence it asks the engine for the program. It fails if
// the engine does not answer, and ends if the program ended: a process that the program
// left behind may hold the output open.
func (v *view) Read(p []byte) (int, error) {
	for {
		_ = v.conn.Conn.SetReadDeadline(time.Now().Add(silence))
		n, err := v.conn.Reader.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			v.ended = false
			return n, err
		}
		ctx, cancel := context.WithTimeout(v.ctx, answerTime)
		res, err := v.machine.driver.api.ExecInspect(ctx, v.exec, client.ExecInspectOptions{})
		cancel()
		switch {
		case err != nil:
			return 0, fmt.Errorf("the engine does not answer: %w", err)
		case !res.Running && v.ended:
			return 0, io.EOF
		}
		v.ended = !res.Running
	}
}

// demultiplex passes on the frames of a stream that carries two: each has a head
// of eight bytes, the stream's number and the length of what follows. Unlike
// stdcopy it tells an end between two frames from an end within one, and holds
// no more than a piece of a frame.
func demultiplex(r io.Reader, out func(stderr bool, data []byte)) error {
	head, buf := make([]byte, 8), make([]byte, 32<<10)
	for {
		if _, err := io.ReadFull(r, head); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		kind := stdcopy.StdType(head[0])
		if kind > stdcopy.Systemerr || head[1]|head[2]|head[3] != 0 {
			return fmt.Errorf("read output: %x is no head of a frame", head)
		}
		for left := int64(binary.BigEndian.Uint32(head[4:])); left > 0; {
			n, err := r.Read(buf[:min(left, int64(len(buf)))])
			if n > 0 && kind == stdcopy.Systemerr {
				return fmt.Errorf("read output: the engine says: %s", buf[:n])
			}
			if n > 0 {
				out(kind == stdcopy.Stderr, buf[:n])
			}
			left -= int64(n)
			if err != nil && left > 0 {
				return fmt.Errorf("read output: it ends within a frame: %w", err)
			}
		}
	}
}
