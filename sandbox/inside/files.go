package inside

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
)

// Put writes a file in one step: readers see the old content or the new. A link
// at the place is replaced, not followed.
func (b *Box) Put(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error {
	if err := sandbox.CheckPath(p); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return fmt.Errorf("put %s: %w", p, err)
	}
	defer leave()
	at := dir + "/" + strings.ToLower(rand.Text()) + ".put"
	if err := b.remote.Upload(ctx, at, r); err != nil {
		b.drop(at)
		return fmt.Errorf("put %s: %w", p, err)
	}
	said, code, err := b.run(ctx, bash(putScript, at, path.Clean(p), fmt.Sprintf("%04o", mode.Perm())))
	if err == nil && code != 0 {
		b.drop(at)
	}
	switch {
	case err != nil:
		return fmt.Errorf("put %s: %w", p, err)
	case code == codePath:
		return fmt.Errorf("put %q: %w", p, sandbox.ErrPath)
	case code == codeFull:
		return fmt.Errorf("put %s: %w", p, sandbox.ErrDisk)
	case code != 0:
		return fmt.Errorf("put %s: exit %d: %s", p, code, strings.TrimSpace(said))
	}
	return nil
}

// drop removes half a file, best effort: the sandbox's end does the rest.
func (b *Box) drop(at string) {
	ctx, cancel := context.WithTimeout(b.life, killTime)
	defer cancel()
	_, _, _ = b.run(ctx, bash(`rm -f -- "$1"`, at))
}

// Get opens a regular file. The reader must be closed; it ends with the context
// and with the sandbox.
func (b *Box) Get(ctx context.Context, p string) (io.ReadCloser, error) {
	if err := sandbox.CheckPath(p); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", p, err)
	}
	r, err := b.open(ctx, p)
	if err != nil {
		leave()
		return nil, fmt.Errorf("get %s: %w", p, err)
	}
	f := &file{ReadCloser: r, leave: leave}
	f.stop = context.AfterFunc(ctx, func() { _ = r.Close() })
	return f, nil
}

func (b *Box) open(ctx context.Context, p string) (io.ReadCloser, error) {
	at, code, err := b.run(ctx, bash(getScript, path.Clean(p)))
	switch {
	case err != nil:
		return nil, err
	case code == codeMissing:
		return nil, fs.ErrNotExist
	case code == codePath:
		return nil, sandbox.ErrPath
	case code != 0 || at == "":
		return nil, fmt.Errorf("exit %d", code)
	}
	return b.remote.Download(ctx, strings.TrimSuffix(at, "."))
}

// file is an open download.
type file struct {
	io.ReadCloser
	leave func()
	stop  func() bool
	once  sync.Once
	err   error
}

// Close ends the download.
func (f *file) Close() error {
	f.once.Do(func() {
		f.stop()
		f.err = f.ReadCloser.Close()
		f.leave()
	})
	return f.err
}
