package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
)

// machine runs programs in one container.
type machine struct {
	driver *Driver
	id     string
}

var _ inside.Remote = (*machine)(nil)

// Run starts a program in the container. Commands have no administrator there.
func (m *machine) Run(ctx context.Context, p inside.Process, out func(stderr bool, data []byte)) (int, error) {
	return m.run(ctx, p.Argv, nil, out)
}

// Upload feeds a file to a program that writes it.
func (m *machine) Upload(ctx context.Context, path string, r io.Reader) error {
	var said bytes.Buffer
	code, err := m.run(ctx, []string{"/bin/bash", "-c", `cat >"$1"`, "yudai", path}, r, func(_ bool, data []byte) {
		if said.Len() < 1000 {
			said.Write(data)
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("upload %s: %w", path, err)
	case code != 0:
		return fmt.Errorf("upload %s: exit %d: %s", path, code, strings.TrimSpace(said.String()))
	}
	return nil
}

// Download reads a file from a program that prints it.
func (m *machine) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	go func() {
		var said bytes.Buffer
		code, err := m.run(ctx, []string{"/bin/cat", "--", path}, nil, func(stderr bool, data []byte) {
			switch {
			case !stderr:
				_, _ = w.Write(data) // fails when the reader was closed
			case said.Len() < 1000:
				said.Write(data)
			}
		})
		if err == nil && code != 0 {
			err = fmt.Errorf("exit %d: %s", code, strings.TrimSpace(said.String()))
		}
		if err != nil {
			err = fmt.Errorf("download %s: %w", path, err)
		}
		_ = w.CloseWithError(err)
	}()
	return &download{PipeReader: r, cancel: cancel}, nil
}

// download is an open file of the container.
type download struct {
	*io.PipeReader
	cancel func()
}

// Close ends the program that prints the file.
func (d *download) Close() error {
	d.cancel()
	return d.PipeReader.Close()
}

// run starts a program, feeds it, and passes its output on until it ends.
func (m *machine) run(ctx context.Context, argv []string, in io.Reader, out func(stderr bool, data []byte)) (int, error) {
	id, err := m.begin(ctx, argv, in != nil)
	if err != nil {
		return 0, err
	}
	conn, err := m.driver.api.ExecAttach(ctx, id, client.ExecAttachOptions{})
	if err != nil {
		return 0, m.broken(ctx, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, conn.Close)
	defer stop()
	fed := feed(&conn.HijackedResponse, in)
	v := &view{machine: m, exec: id, conn: &conn.HijackedResponse, out: out}
	err = v.follow(ctx)
	conn.Close()
	if failed := <-fed; failed != nil {
		return 0, failed
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err != nil {
		return 0, m.broken(ctx, err)
	}
	code, err := m.code(ctx, id)
	if err != nil || v.held == nil {
		return code, err
	}
	if code == 126 || code == 127 { // nothing was started
		return 0, m.broken(ctx, fmt.Errorf("start a program: %s", strings.TrimSpace(string(v.held))))
	}
	out(false, v.held)
	return code, nil
}

// patience is how long an engine that cannot be reached is waited for: it may
// just be started again, and containers survive that where it is set up so.
const patience = 3 * time.Second

// begin prepares a program; nothing is started yet, so it may be done again.
func (m *machine) begin(ctx context.Context, argv []string, in bool) (string, error) {
	deadline := time.Now().Add(patience)
	for {
		res, err := m.driver.api.ExecCreate(ctx, m.id, client.ExecCreateOptions{
			AttachStdin: in, AttachStdout: true, AttachStderr: true, Cmd: argv, Env: []string{"YUDAI_KEEP=1"},
		})
		switch {
		case err == nil:
			return res.ID, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errdefs.IsNotFound(err), errdefs.IsConflict(err):
			return "", m.gone(ctx, err)
		case !unreachable(err) || time.Now().After(deadline):
			return "", m.driver.explain(err)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// feed sends a program its input in the background. The channel gets the reader's own error.
func feed(conn *client.HijackedResponse, in io.Reader) <-chan error {
	done := make(chan error, 1)
	if in == nil {
		done <- nil
		return done
	}
	go func() {
		var own error
		_, err := io.Copy(conn.Conn, readerFunc(func(p []byte) (int, error) {
			n, err := in.Read(p)
			if err != nil && !errors.Is(err, io.EOF) {
				own = err
			}
			return n, err
		}))
		if own != nil {
			conn.Close() // the program must not take what came for all of it
		} else if err == nil {
			_ = conn.CloseWrite()
		}
		done <- own
	}()
	return done
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// code reads the exit code of a program whose output ended.
func (m *machine) code(ctx context.Context, exec string) (int, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		res, err := m.driver.api.ExecInspect(ctx, exec, client.ExecInspectOptions{})
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err != nil:
			return 0, m.broken(ctx, err)
		case !res.Running && res.ExitCode == killed:
			return killed, m.alive(ctx)
		case !res.Running:
			return res.ExitCode, nil
		case wait > time.Second: // it runs, and nobody sees what it prints
			return 0, m.broken(ctx, errors.New("the output of a running program ended"))
		}
		if err := pause(ctx, wait); err != nil {
			return 0, err
		}
	}
}

// killed is the exit code of a program that was killed.
const killed = 137

// alive returns nil if the container runs: a program that was killed may have been
// by the end of its container, of which the engine does not know at once.
func (m *machine) alive(ctx context.Context) error {
	id, err := m.begin(ctx, []string{"/bin/bash", "-c", "exit 1"}, false)
	if err != nil {
		return err
	}
	conn, err := m.driver.api.ExecAttach(ctx, id, client.ExecAttachOptions{})
	if err == nil {
		_, err = io.Copy(io.Discard, conn.Reader)
		conn.Close()
	}
	var res client.ExecInspectResult
	if err == nil {
		res, err = m.driver.api.ExecInspect(ctx, id, client.ExecInspectOptions{})
	}
	if err != nil || res.ExitCode != 1 {
		return m.broken(ctx, errors.Join(errors.New("the container seems to end"), err))
	}
	return nil
}

// gone returns sandbox.ErrGone if the container does not run, else err.
func (m *machine) gone(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	res, failed := m.driver.api.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
	switch {
	case errdefs.IsNotFound(failed), failed == nil && !res.Container.State.Running:
		return fmt.Errorf("its container ended: %w", sandbox.ErrGone)
	case err != nil:
		return m.driver.explain(err)
	}
	return nil
}

// broken explains a view that was lost: inside.ErrCut unless the container is gone.
func (m *machine) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if gone := m.gone(ctx, nil); gone != nil {
		return gone
	}
	return fmt.Errorf("%w: %w", inside.ErrCut, err)
}

// view is the output of one running program.
type view struct {
	machine *machine
	exec    string
	conn    *client.HijackedResponse
	out     func(stderr bool, data []byte)

	held    []byte       // the first that came, while it may be the engine's own words
	news    atomic.Int64 // counts what came
	passing atomic.Bool  // somebody reads what came
}

// Silence after which the engine is asked, and how long it may take to answer.
const (
	silence    = 10 * time.Second
	answerTime = 10 * time.Second
)

// errSilent says that an engine does not answer although the connection stands.
var errSilent = errors.New("the engine does not answer")

// follow passes the output on until it ends, or until the engine went silent.
func (v *view) follow(ctx context.Context) error {
	done, watched := make(chan struct{}), make(chan error, 1)
	go func() { watched <- v.watch(ctx, done) }()
	err := demultiplex(v.conn.Reader, v.pass)
	close(done)
	switch silent := <-watched; {
	case errors.Is(silent, errEnded):
		return nil
	case silent != nil:
		return silent
	}
	return err
}

// refusal begins what the engine prints, as if the program had, when it cannot start it.
const refusal = "OCI runtime exec failed"

// pass passes one piece on.
func (v *view) pass(stderr bool, data []byte) {
	v.passing.Store(true)
	defer v.passing.Store(false)
	if v.news.Add(1) == 1 && !stderr && bytes.HasPrefix(data, []byte(refusal)) {
		v.held = bytes.Clone(data)
		return
	}
	if v.held != nil {
		v.out(false, v.held)
		v.held = nil
	}
	v.out(stderr, data)
}

// errEnded says that a program ended whose output did not.
var errEnded = errors.New("the program ended")

// watch asks after a program that says nothing, and closes the connection if the
// engine does not answer, or the program ended: a process that it left behind may
// hold its output open.
func (v *view) watch(ctx context.Context, done <-chan struct{}) error {
	tick := time.NewTicker(silence)
	defer tick.Stop()
	last, over := v.news.Load(), false
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		if now := v.news.Load(); now != last || v.passing.Load() {
			last, over = now, false
			continue
		}
		asking, cancel := context.WithTimeout(ctx, answerTime)
		res, err := v.machine.driver.api.ExecInspect(asking, v.exec, client.ExecInspectOptions{})
		cancel()
		switch {
		case err != nil:
			v.conn.Close()
			return fmt.Errorf("%w: %w", errSilent, err)
		case !res.Running && over:
			v.conn.Close()
			return errEnded
		}
		over = !res.Running
	}
}
