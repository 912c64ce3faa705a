package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// firstProcess reaches the first process inside a sandbox's namespaces, which is our guest
// program: it starts the program again for each request, with descriptors that we pass.
type firstProcess struct {
	dir  string          // with the socket of calls
	left <-chan struct{} // closed when the helper, and all inside with it, is not ours any more
}

var _ guest.Remote = (*firstProcess)(nil)

// endTimeout is how long the helper may take to end after the first process inside.
const endTimeout = 2 * time.Second

// Run makes one request. What needs the administrator elsewhere is served by the first
// process itself: it works when no process can be started any more.
func (f *firstProcess) Run(ctx context.Context, p guest.Process, out func(stderr bool, data []byte)) (int, error) {
	kind := byte(protocol.CallStart)
	if p.Root {
		kind = protocol.CallServe
	}
	c, err := f.call(ctx, kind, p.Argv[1], p.Argv[2:], nil)
	if err != nil {
		return 0, err
	}
	defer c.close()
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.out.Read(buf)
		if n > 0 {
			out(false, buf[:n])
		}
		if err != nil {
			break
		}
	}
	code, err := c.exitCode(ctx)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if said := c.errors(); said != "" {
		out(true, []byte(said))
	}
	return code, err
}

// Upload copies the reader to a program that writes it down.
func (f *firstProcess) Upload(ctx context.Context, path string, r io.Reader) error {
	in, feed, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("upload %s: %w", path, err)
	}
	c, err := f.call(ctx, protocol.CallStart, protocol.VerbWrite, []string{"file=" + path}, in)
	_ = in.Close()
	if err != nil {
		_ = feed.Close()
		return fmt.Errorf("upload %s: %w", path, err)
	}
	defer c.close()
	defer func() { _ = feed.Close() }()
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	broken := make(chan error, 1)
	go func() {
		own := &ownError{from: r}
		_, _ = io.Copy(struct{ io.Writer }{feed}, own)
		broken <- own.err
		_ = feed.Close()
	}()
	err = c.wait(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("upload %s: %w", path, err)
	}
	if err := <-broken; err != nil {
		return fmt.Errorf("upload %s: %w", path, err)
	}
	return nil
}

// ownError remembers a reader's error, to tell it from the writer's.
type ownError struct {
	from io.Reader
	err  error
}

func (o *ownError) Read(p []byte) (int, error) {
	n, err := o.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		o.err = err
	}
	return n, err
}

// Download reads what a program prints.
func (f *firstProcess) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	c, err := f.call(ctx, protocol.CallStart, protocol.VerbRead, []string{"file=" + path}, nil)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", path, err)
	}
	return &download{c, sync.OnceValue(func() error { return cmp.Or(c.wait(ctx), io.EOF) })}, nil
}

// download is an open file.
type download struct {
	call *call
	end  func() error // what is read after the last byte
}

// Read reads on. The file was not read to its end where the program failed.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.call.out.Read(p)
	if errors.Is(err, io.EOF) {
		err = d.end()
	}
	return n, err
}

// Close ends the program, which cannot write any more.
func (d *download) Close() error {
	d.call.close()
	return nil
}

// call is one call to the first process on its way.
type call struct {
	from   *firstProcess
	conn   io.ReadCloser
	out    *os.File // what the program prints
	stderr *os.File // a memory file
}

// call makes a call. A nil input is empty.
func (f *firstProcess) call(ctx context.Context, kind byte, verb string, items []string, in *os.File) (_ *call, err error) {
	var mine []*os.File
	open := func(file *os.File, e error) *os.File {
		mine = append(mine, file)
		err = errors.Join(err, e)
		return file
	}
	out, w, e := os.Pipe()
	open(w, e)
	request := open(memFile("request", []byte(strings.Join(items, "\x00")+"\x00")))
	stderr, e := memFile("stderr", nil)
	err = errors.Join(err, e)
	if in == nil {
		in = open(os.Open(os.DevNull))
	}
	defer func() {
		closeAll(mine...)
		if err != nil {
			closeAll(out, stderr)
		}
	}()
	if err != nil {
		return nil, err
	}
	conn, err := dialIn(f.dir, callsSocket)
	if err == nil {
		if err = sendPacket(conn, append([]byte{kind}, verb...), request, in, w, stderr); err != nil {
			_ = conn.Close()
		}
	}
	if err != nil {
		return nil, f.cut(ctx, err)
	}
	return &call{from: f, conn: conn, out: out, stderr: stderr}, nil
}

// close leaves the program to itself.
func (c *call) close() {
	_ = c.conn.Close()
	closeAll(c.out, c.stderr)
}

// wait returns when the program has ended, with an error if it failed.
func (c *call) wait(ctx context.Context) error {
	code, err := c.exitCode(ctx)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit %d: %s", code, strings.TrimSpace(c.errors()))
	}
	return err
}

func (c *call) exitCode(ctx context.Context) (int, error) {
	buf := make([]byte, 16)
	n, err := c.conn.Read(buf)
	if err == nil {
		var code int
		if code, err = strconv.Atoi(string(buf[:n])); err == nil {
			return code, nil
		}
	}
	return 0, c.from.cut(ctx, err)
}

// errors is the beginning of what the program wrote to its standard error.
func (c *call) errors() string {
	text, _ := io.ReadAll(io.NewSectionReader(c.stderr, 0, tailSize))
	return string(text)
}

// cut is the error of a call that nobody answered: errHelper when all inside is gone. It does
// not wait for that where the caller has left.
func (f *firstProcess) cut(ctx context.Context, err error) error {
	late := time.NewTimer(endTimeout)
	defer late.Stop()
	select {
	case <-f.left:
		return fmt.Errorf("%w: %w", errHelper, err)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late.C:
		return fmt.Errorf("%w: %w", guest.ErrCut, err)
	}
}
