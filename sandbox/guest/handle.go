package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// Options of a [Handle]. Only Name and Token are needed.
type Options struct {
	// Name is the sandbox's, for errors.
	Name string
	// Token of the owner, [a-z0-9]; a new one for every handle.
	Token string
	// User whom commands run as, where [Process.Root] makes a difference: our directories
	// are given to it. "" is whoever Run runs as.
	User string
	// Env is added to every command's fixed environment.
	Env map[string]string
	// Path is the PATH of commands; "" is the provider's own.
	Path string
	// Program is the path of our program where the driver has put it into the machine.
	// Where it is "" the program is uploaded if need be, and its sum is checked.
	Program string
	// Ways are what the container's first process forwards; see [protocol.Request].
	Ways []string
	// Launch says that the sandbox was opened with Spec.Launch.
	Launch bool
	// OOM says where the kernel counts what it killed for want of memory: "cgroup" in
	// a container, "vmstat" in a machine with a kernel of its own.
	OOM string
	// Disk measures what was written beyond the base, in bytes, while commands run;
	// beyond DiskLimit the sandbox is dead. nil measures nothing.
	// An error that wraps sandbox.ErrDisk means the same.
	Disk      func(ctx context.Context) (int64, error)
	DiskLimit int64
	// DiskEvery is how often it is measured, 0 for every half of a second.
	DiskEvery time.Duration
}

// Handle is an owner's hold of one sandbox. A driver's own type holds it and adds Close.
type Handle struct {
	remote  Remote
	options Options
	program string // path of our program inside

	life context.Context // ends with End
	end  context.CancelCauseFunc
	busy sync.WaitGroup

	launching sync.Mutex // held by Launch and Halt
	measured  sync.Once  // starts what measures the disk beside commands

	mu     sync.Mutex
	closed bool
	old    []string // ids of commands whose files can be removed
	full   error    // set once the disk limit was exceeded
}

// Open makes our directories in a machine that is new, or a copy of another, and takes
// ownership. sandbox.ErrSetting if the machine lacks programs; the error names them.
func Open(ctx context.Context, r Remote, o Options) (*Handle, error) {
	h, err := begin(ctx, r, o, protocol.VerbOpen)
	if err != nil {
		return nil, fmt.Errorf("open sandbox %s: %w", o.Name, err)
	}
	return h, nil
}

// Attach takes a sandbox over whose owner died: no command of the old owner runs,
// or can begin, when it returns. sandbox.ErrGone if the machine was never opened.
func Attach(ctx context.Context, r Remote, o Options) (*Handle, error) {
	h, err := begin(ctx, r, o, protocol.VerbAttach)
	if err != nil {
		return nil, fmt.Errorf("attach sandbox %s: %w", o.Name, err)
	}
	return h, nil
}

func begin(ctx context.Context, r Remote, o Options, verb string) (*Handle, error) {
	h := &Handle{remote: r, options: o, program: o.Program}
	h.life, h.end = context.WithCancelCause(context.Background())
	c := h.request(verb)
	c.root, c.User, c.OOM, c.Ways = true, o.User, o.OOM, o.Ways
	if o.Path != "" {
		c.Env = []string{"PATH=" + o.Path}
	}
	if o.Program == "" {
		return h, h.install(ctx, c)
	}
	return h, refused(h.call(ctx, c))
}

// request is a call of the owner's.
func (h *Handle) request(verb string) call {
	return call{Request: protocol.Request{Verb: verb, Token: h.options.Token}}
}

// Name is the sandbox's.
func (h *Handle) Name() string { return h.options.Name }

// use registers a call; none is made in a sandbox that used up its disk.
func (h *Handle) use(ctx context.Context) (context.Context, func(), error) {
	if full := h.diskFull(); full != nil {
		return nil, nil, full
	}
	return h.register(ctx)
}

// register makes End wait. The context it returns ends with the caller's, and with the
// sandbox. The function must be called at the end.
func (h *Handle) register(ctx context.Context) (context.Context, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, fmt.Errorf("sandbox %s is closed: %w", h.options.Name, sandbox.ErrGone)
	}
	h.busy.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.life, func() { cancel(context.Cause(h.life)) })
	return ctx, func() {
		stop()
		cancel(nil)
		h.busy.Done()
	}, nil
}

// End ends the calls that are under way, without a word to the machine, and
// waits for them; later ones get cause, or sandbox.ErrGone if it is nil. The
// driver's Close calls it and then removes the machine. It may be called twice.
func (h *Handle) End(cause error) {
	if cause == nil {
		cause = fmt.Errorf("sandbox %s is closed: %w", h.options.Name, sandbox.ErrGone)
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end(cause)
	h.busy.Wait()
}

// diskFull returns the error of a disk limit that was exceeded.
func (h *Handle) diskFull() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.full
}

// exceeded ends everything because the disk limit was exceeded.
func (h *Handle) exceeded(err error) {
	h.mu.Lock()
	first := h.full == nil
	if first {
		h.full = err
	}
	h.mu.Unlock()
	if !first {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	c := h.request(protocol.VerbAttach)
	c.root, c.OnlyOwner = true, true
	_, _ = h.call(ctx, c) // the driver's Close removes the machine in any case
	if h.options.Launch {
		_ = h.halt(ctx, "")
	}
}

// measure looks at the disk until the context ends, or the limit is exceeded.
func (h *Handle) measure(ctx context.Context, cancel context.CancelCauseFunc) {
	for h.options.Disk != nil && clock.Sleep(ctx, cmp.Or(h.options.DiskEvery, measureEvery)) == nil {
		if full := h.CheckDisk(ctx); full != nil {
			cancel(full)
			return
		}
	}
}

// CheckDisk measures the disk. Beyond the limit it ends everything and returns an error.
func (h *Handle) CheckDisk(ctx context.Context) error {
	used, full := h.options.Disk(ctx)
	if full == nil && used > h.options.DiskLimit {
		full = fmt.Errorf("sandbox %s holds %d MiB of at most %d: %w", h.options.Name, used>>20, h.options.DiskLimit>>20, sandbox.ErrDisk)
	}
	if !errors.Is(full, sandbox.ErrDisk) {
		return nil // a measurement that failed says nothing
	}
	h.exceeded(full)
	return full
}

// unlessGone is an error, or nil where the sandbox is another owner's.
func unlessGone(err error) error {
	if errors.Is(err, sandbox.ErrGone) {
		return nil
	}
	return err
}
