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

// Download reads a file from a program that prints it.
func (m *machine) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	go func() {
		var said bytes.Buffer
		code, err := m.run(ctx, []string{"/bin/cat", "--", path}, nil, func(stderr bool, data []byte) {
			if stderr {
				said.Write(data)
			} else {
				_, _ = w.Write(data) // fails when the reader was closed
			}
		})
		_ = w.CloseWithError(m.transferred(ctx, "download "+path, code, err, &said))
	}()
	return &download{PipeReader: r, cancel: cancel}, nil
}

// transferred is the error of a transfer by a program that ended with this code.
func (m *machine) transferred(ctx context.Context, what string, code int, err error, said *bytes.Buffer) error {
	if err == nil && code != 0 {
		err = m.gone(ctx, fmt.Errorf("exit %d: %.1000s", code, strings.TrimSpace(said.String())))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
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
	id, err := m.prepare(ctx, argv, in != nil)
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
	if err != nil {
		return 0, m.broken(ctx, err)
	}
	return m.code(ctx, id)
}

// patience is how long an engine that cannot be reached is waited for: it may
// just be started again, and containers survive that where it is set up so.
const patience = 3 * time.Second

// prepare prepares a program; nothing is started yet, so it may be done again.
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
			return "", m.gone(ctx, err)
		case !unreachable(err) || time.Now().After(deadline):
			return "", m.driver.explain(err)
		}
		if err := guest.Pause(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
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
		own := &ownError{r: in}
		_, err := io.Copy(conn.Conn, own)
		if own.err != nil {
			conn.Close() // the program must not take what came for all of it
		} else if err == nil {
			_ = conn.CloseWrite()
		}
		done <- own.err
	}()
	return done
}

// ownError remembers a reader's error, to tell it from the writer's.
type ownError struct {
	r   io.Reader
	err error
}

func (o *ownError) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		o.err = err
	}
	return n, err
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
		if err := guest.Pause(ctx, wait); err != nil {
			return 0, err
		}
	}
}

// gone returns sandbox.ErrGone if the container does not run, else err.
func (m *machine) gone(ctx context.Context, err error) error {
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
	if gone := m.gone(ctx, nil); gone != nil {
		return gone
	}
	return fmt.Errorf("%w: %w", guest.ErrCut, err)
}

// view is the output of one running program.
type view struct {
	machine *machine
	exec    string
	conn    *client.HijackedResponse
	out     func(stderr bool, data []byte)

	news    atomic.Int64 // counts what came
	passing atomic.Bool  // somebody reads what came
}

// Silence after which the engine is asked, and how long it may take to answer.
const (
	silence    = 10 * time.Second
	answerTime = 10 * time.Second
)

// follow passes the output on until it ends, or until the engine went silent.
func (v *view) follow(ctx context.Context) error {
	done, watched := make(chan struct{}), make(chan error, 1)
	go func() { watched <- v.watch(ctx, done) }()
	err := demultiplex(v.conn.Reader, func(stderr bool, data []byte) {
		v.passing.Store(true)
		v.news.Add(1)
		v.out(stderr, data)
		v.passing.Store(false)
	})
	close(done)
	switch silent := <-watched; {
	case errors.Is(silent, errEnded):
		return nil
	case silent != nil:
		return silent
	}
	return err
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
		if err != nil || !res.Running && over {
			v.conn.Close()
		}
		switch {
		case err != nil:
			return fmt.Errorf("the engine does not answer: %w", err)
		case !res.Running && over:
			return errEnded
		}
		over = !res.Running
	}
}
