package inside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// Options of a [Box]. Only Name and Token are needed.
type Options struct {
	// Name is the sandbox's, for errors.
	Name string
	// Token of the owner, [a-z0-9]; a new one for every handle.
	Token string
	// User whom commands run as, where [Process.Root] makes a difference: our places
	// are given to it. "" is whoever Run runs as.
	User string
	// Env is added to every command's fixed environment.
	Env map[string]string
	// Path is the PATH of commands; "" is the provider's own.
	Path string
	// Strict: every process of the machine is a command's, but the first one, what
	// Launch started, and those whose environment began with YUDAI_KEEP=1, which then
	// all of Run's have. A process without our marker ends with the command during
	// which it is found.
	Strict bool
	// Launch says that the sandbox was opened with Spec.Launch.
	Launch bool
	// OOM says where the kernel counts what it killed for want of memory: "cgroup" in
	// a container, "vmstat" in a machine with a kernel of its own.
	OOM string
	// Disk measures what was written beyond the base, in bytes, while commands run;
	// beyond DiskLimit the sandbox is dead. nil measures nothing.
	Disk      func(ctx context.Context) (int64, error)
	DiskLimit int64
}

// Box is one sandbox on a machine of a provider: what is common to all of them.
// A driver's own type embeds it and adds Close.
type Box struct {
	remote  Remote
	options Options

	life context.Context // ends with End
	end  context.CancelCauseFunc
	busy sync.WaitGroup

	launching sync.Mutex // held by Launch and Halt
	measured  sync.Once  // starts what measures the disk beside commands

	mu     sync.Mutex
	closed bool
	env    map[string]string
	old    []string // ids of commands whose files can go
	full   error    // set once the disk limit was exceeded
}

func newBox(r Remote, o Options) *Box {
	b := &Box{remote: r, options: o, env: maps.Clone(o.Env)}
	b.life, b.end = context.WithCancelCause(context.Background())
	return b
}

// Open makes our places in a machine that is new, or a copy of another, and takes
// ownership. sandbox.ErrSetting if the machine lacks programs; the error names them.
func Open(ctx context.Context, r Remote, o Options) (*Box, error) {
	b := newBox(r, o)
	p := bash(commonScript+openScript, dir, o.Token, o.User, o.OOM)
	p.Root = true
	out, code, err := b.run(ctx, p)
	switch {
	case err != nil:
		return nil, fmt.Errorf("open sandbox %s: %w", o.Name, err)
	case code == codeLacking:
		return nil, fmt.Errorf("open sandbox %s: it lacks %s: %w", o.Name, strings.Join(strings.Fields(out), ", "), sandbox.ErrSetting)
	case code == 126 || code == 127:
		return nil, fmt.Errorf("open sandbox %s: it lacks bash: %w", o.Name, sandbox.ErrSetting)
	case code == codeNoPlace:
		return nil, fmt.Errorf("open sandbox %s: its user cannot write %s: %w", o.Name, "/workspace", sandbox.ErrSetting)
	case code != 0:
		return nil, fmt.Errorf("open sandbox %s: exit %d: %s", o.Name, code, strings.TrimSpace(out))
	}
	return b, nil
}

// Attach takes a sandbox over whose owner died: no command of the old owner runs,
// or can begin, when it returns. sandbox.ErrGone if the machine was never opened.
func Attach(ctx context.Context, r Remote, o Options) (*Box, error) {
	b := newBox(r, o)
	p := bash(commonScript+takeScript, dir, o.Token, mark(o.Strict), mark(false))
	p.Root = true
	_, code, err := b.run(ctx, p)
	switch {
	case err != nil:
		return nil, fmt.Errorf("attach sandbox %s: %w", o.Name, err)
	case code == 1:
		return nil, fmt.Errorf("attach sandbox %s: nobody opened it: %w", o.Name, sandbox.ErrGone)
	case code != 0:
		return nil, fmt.Errorf("attach sandbox %s: exit %d", o.Name, code)
	}
	if o.User != "" { // the new token is root's file so far
		own := bash(`chown "$1" "$2/owner"`, o.User, dir)
		own.Root = true
		if _, _, err := b.run(ctx, own); err != nil {
			return nil, fmt.Errorf("attach sandbox %s: %w", o.Name, err)
		}
	}
	return b, nil
}

// mark is how scripts are told yes.
func mark(yes bool) string {
	if yes {
		return "1"
	}
	return ""
}

// again is how often one of our own scripts is run whose view was cut. They may be repeated.
const again = 4

// run runs one of our own scripts and returns what it printed on stdout.
func (b *Box) run(ctx context.Context, p Process) (string, int, error) {
	for try := 1; ; try++ {
		var out bytes.Buffer
		code, err := b.remote.Run(ctx, p, func(stderr bool, data []byte) {
			if !stderr && out.Len() < 1<<20 {
				out.Write(data)
			}
		})
		if !errors.Is(err, ErrCut) || try == again || ctx.Err() != nil {
			return out.String(), code, err
		}
		if err := pause(ctx, time.Duration(try)*200*time.Millisecond); err != nil {
			return "", 0, err
		}
	}
}

// pause waits, or returns the cause for which ctx ended.
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

// Name is the sandbox's.
func (b *Box) Name() string { return b.options.Name }

// SetEnv replaces Options.Env for the commands that follow.
func (b *Box) SetEnv(env map[string]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.env = maps.Clone(env)
}

// enter registers a call. The context it returns ends with the caller's, and with the sandbox.
func (b *Box) enter(ctx context.Context) (context.Context, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, fmt.Errorf("sandbox %s is closed: %w", b.options.Name, sandbox.ErrGone)
	}
	if b.full != nil {
		return nil, nil, b.full
	}
	b.busy.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.life, func() { cancel(context.Cause(b.life)) })
	return ctx, func() {
		stop()
		cancel(nil)
		b.busy.Done()
	}, nil
}

// End ends the calls that are under way, without a word to the machine, and
// waits for them; later ones get cause, or sandbox.ErrGone if it is nil. The
// driver's Close calls it and then removes the machine. It may be called twice.
func (b *Box) End(cause error) {
	if cause == nil {
		cause = fmt.Errorf("sandbox %s is closed: %w", b.options.Name, sandbox.ErrGone)
	}
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.end(cause)
	b.busy.Wait()
}

// overflowed returns the error of a disk limit that was exceeded.
func (b *Box) overflowed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full
}

// overflow ends everything because the disk limit was exceeded.
func (b *Box) overflow(err error) {
	b.mu.Lock()
	first := b.full == nil
	if first {
		b.full = err
	}
	b.mu.Unlock()
	if !first {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	p := bash(commonScript+takeScript, dir, b.options.Token, mark(b.options.Strict), mark(true))
	p.Root = true
	_, _, _ = b.run(ctx, p) // the driver's Close removes the machine in any case
	if b.options.Launch {
		_ = b.stop(ctx, "")
	}
}
