package guest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// Put writes a file in one step: readers see the old content or the new. A link
// at the place is replaced, not followed.
func (h *Handle) Put(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error {
	if err := sandbox.CheckPath(p); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	ctx, leave, err := h.use(ctx)
	if err != nil {
		return fmt.Errorf("put %s: %w", p, err)
	}
	defer leave()
	c := h.request(protocol.VerbPut)
	c.File = protocol.StateDir + "/" + strings.ToLower(rand.Text()) + ".put"
	c.Target, c.Mode = path.Clean(p), fmt.Sprintf("%04o", mode.Perm())
	if err = h.remote.Upload(ctx, c.File, r); err == nil {
		err = inFile(h.call(ctx, c))
	}
	if err != nil {
		h.remove(c.File)
		return fmt.Errorf("put %s: %w", p, err)
	}
	return nil
}

// inFile is the error of an answer about a file.
func inFile(a protocol.Answer, err error) error {
	switch {
	case err == nil && a.Result == protocol.BadPath:
		return sandbox.ErrPath
	case err == nil && a.Result == protocol.Missing:
		return fs.ErrNotExist
	}
	return refused(a, err)
}

// remove removes half a file, best effort: the sandbox's end does the rest.
func (h *Handle) remove(file string) {
	ctx, cancel := context.WithTimeout(h.life, killTime)
	defer cancel()
	c := h.request(protocol.VerbRemove)
	c.File = file
	_, _ = h.call(ctx, c)
}

// Get opens a regular file. The reader must be closed; it ends with the context
// and with the sandbox.
func (h *Handle) Get(ctx context.Context, p string) (io.ReadCloser, error) {
	if err := sandbox.CheckPath(p); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	ctx, leave, err := h.use(ctx)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", p, err)
	}
	r, err := h.download(ctx, p)
	if err != nil {
		leave()
		return nil, fmt.Errorf("get %s: %w", p, err)
	}
	f := &file{from: r, leave: leave}
	f.stop = context.AfterFunc(ctx, func() { f.close(context.Cause(ctx)) })
	return f, nil
}

func (h *Handle) download(ctx context.Context, p string) (io.ReadCloser, error) {
	c := h.request(protocol.VerbFind)
	c.File = path.Clean(p)
	a, err := h.call(ctx, c)
	if err := inFile(a, err); err != nil {
		return nil, err
	}
	return h.remote.Download(ctx, a.Detail)
}

// file is an open download.
type file struct {
	from  io.ReadCloser
	leave func()
	stop  func() bool
	once  sync.Once
	err   error // of closing it

	mu    sync.Mutex
	cause error // why it was closed, if not by its reader
}

// Read reads on. It tells why the file was closed under its reader.
func (f *file) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && f.cause != nil {
		err = f.cause
	}
	return n, err
}

// Close ends the download.
func (f *file) Close() error {
	f.stop()
	f.close(nil)
	return f.err
}

// close ends the download once. A reader that nobody reads or closes must not hold the
// sandbox's end up.
func (f *file) close(cause error) {
	f.once.Do(func() {
		f.mu.Lock()
		f.cause = cause
		f.mu.Unlock()
		f.err = f.from.Close()
		f.leave()
	})
}
