package sandboxtest_test

import (
	"context"
	"io"
	"io/fs"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

// broken is a driver that works except where a hook breaks it.
type broken struct {
	inner driver
	open  func(ctx context.Context, d driver, spec sandbox.Spec) (sandbox.Sandbox, error)
	box   func(*brokenBox)

	attach func(ctx context.Context, d driver, name string) (sandbox.Sandbox, error)
	sweep  func(ctx context.Context, d driver, keep func(sandbox.Info) bool) ([]string, error)
	freeze func(ctx context.Context, d driver, sb sandbox.Sandbox) (string, error)
	has    func(string) bool
	check  error

	mu    sync.Mutex
	boxes map[string]sandbox.Sandbox // what was opened, by name
}

// driver is what the inner driver offers.
type driver interface {
	sandbox.Driver
	sandbox.Forker
}

func (b *broken) wrap(sb sandbox.Sandbox, err error) (sandbox.Sandbox, error) {
	if err != nil {
		return nil, err
	}
	if _, done := sb.(*brokenBox); done {
		return sb, nil
	}
	w := &brokenBox{Sandbox: sb}
	if b.box != nil {
		b.box(w)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.boxes == nil {
		b.boxes = make(map[string]sandbox.Sandbox)
	}
	b.boxes[sb.Name()] = w
	return w, nil
}

// known returns a sandbox opened before.
func (b *broken) known(name string) sandbox.Sandbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.boxes[name]
}

func (b *broken) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if b.open != nil {
		return b.wrap(b.open(ctx, b.inner, spec))
	}
	return b.wrap(b.inner.Open(ctx, spec))
}

func (b *broken) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	if b.attach != nil {
		return b.attach(ctx, b.inner, name)
	}
	return b.wrap(b.inner.Attach(ctx, name))
}

func (b *broken) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	if b.sweep != nil {
		return b.sweep(ctx, b.inner, keep)
	}
	return b.inner.Sweep(ctx, keep)
}

func (b *broken) Traits() sandbox.Traits { return b.inner.Traits() }

func (b *broken) Check(ctx context.Context) error {
	if b.check != nil {
		return b.check
	}
	return b.inner.Check(ctx)
}

func (b *broken) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	if w, ok := sb.(*brokenBox); ok {
		sb = w.Sandbox
	}
	if b.freeze != nil {
		return b.freeze(ctx, b.inner, sb)
	}
	return b.inner.Freeze(ctx, sb)
}

func (b *broken) Thaw(ctx context.Context, base string) error { return b.inner.Thaw(ctx, base) }

func (b *broken) HasBase(ctx context.Context, base string) bool {
	if b.has != nil {
		return b.has(base)
	}
	return b.inner.HasBase(ctx, base)
}

// brokenBox is a sandbox with hooks.
type brokenBox struct {
	sandbox.Sandbox
	exec  func(ctx context.Context, c sandbox.Command) (sandbox.Result, error)
	put   func(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error
	get   func(ctx context.Context, p string) (io.ReadCloser, error)
	close func(ctx context.Context) error
	stamp func() (string, error)

	launch   func(ctx context.Context, l sandbox.Launcher, c sandbox.Command) error
	launched func(ctx context.Context, l sandbox.Launcher) (bool, error)
	halt     func(ctx context.Context, l sandbox.Launcher) error
}

func (b *brokenBox) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if b.exec != nil {
		return b.exec(ctx, c)
	}
	return b.Sandbox.Exec(ctx, c)
}

func (b *brokenBox) Put(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error {
	if b.put != nil {
		return b.put(ctx, p, r, mode)
	}
	return b.Sandbox.Put(ctx, p, r, mode)
}

func (b *brokenBox) Get(ctx context.Context, p string) (io.ReadCloser, error) {
	if b.get != nil {
		return b.get(ctx, p)
	}
	return b.Sandbox.Get(ctx, p)
}

func (b *brokenBox) Close(ctx context.Context) error {
	if b.close != nil {
		return b.close(ctx)
	}
	return b.Sandbox.Close(ctx)
}

func (b *brokenBox) Stamp(ctx context.Context) (string, error) {
	if b.stamp != nil {
		return b.stamp()
	}
	return b.Sandbox.(sandbox.Stamper).Stamp(ctx)
}

func (b *brokenBox) launcher() sandbox.Launcher { return b.Sandbox.(sandbox.Launcher) }

func (b *brokenBox) Launch(ctx context.Context, c sandbox.Command) error {
	if b.launch != nil {
		return b.launch(ctx, b.launcher(), c)
	}
	return b.launcher().Launch(ctx, c)
}

func (b *brokenBox) Launched(ctx context.Context) (bool, error) {
	if b.launched != nil {
		return b.launched(ctx, b.launcher())
	}
	return b.launcher().Launched(ctx)
}

func (b *brokenBox) Halt(ctx context.Context) error {
	if b.halt != nil {
		return b.halt(ctx, b.launcher())
	}
	return b.launcher().Halt(ctx)
}
