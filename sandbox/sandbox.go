// Package sandbox is the contract between yudai and whatever gives it isolated
// machines: bubblewrap on this host, a container engine, a microVM service.
//
// A [Driver] opens sandboxes, attaches to the living one of a dead owner, and
// sweeps leftovers. A [Sandbox] runs commands, takes files in and hands files
// out, and closes. What only some drivers can do is a small interface of its
// own that a driver or sandbox may satisfy: [Forker], [Egress], [Stamper],
// [Refuser], [Placed], [Launcher], [Restarter]; [As] finds those of a sandbox. What a driver cannot promise is declared in its [Traits];
// no caller branches on a name.
//
// The promises below are checked by package sandboxtest, which every driver passes.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Paths every driver offers inside a sandbox. They are part of the prepared
// base, so a fork sees what the base had there.
const (
	// RepoDir is the work tree of the repository, writable, the default Dir of a command.
	RepoDir = "/workspace/repo"
	// HomeDir is HOME of every command, writable, and holds the package caches.
	HomeDir = "/workspace/home"
	// KeepDir is for yudai's own files (the pristine git directory), writable.
	KeepDir = "/workspace/keep"
	// VenvDir is where a Python repository's install makes its environment.
	VenvDir = HomeDir + "/venv"
)

// ToolPath lists where an install leaves programs: for Command.Path of whatever
// works with the repository, and never of yudai's own commands.
func ToolPath() []string { return []string{VenvDir + "/bin", HomeDir + "/.local/bin"} }

// Errors that drivers return, wrapped with the action and the name.
var (
	// ErrUnavailable says that the driver cannot work on this machine or that its
	// provider does not answer; the text names the cause and the fix. Another
	// driver may do, and so may this one later.
	ErrUnavailable = errors.New("sandbox driver unavailable")
	// ErrCapacity says that the provider has no room now: too many sandboxes at
	// once, or too many requests for longer than the driver waits. Another driver may do.
	ErrCapacity = errors.New("sandbox provider has no room")
	// ErrSetting says that the provider refused what the settings say: the key, the
	// template or image, a limit of the plan, or an image that lacks bash or git. The
	// text names the setting and the fix; trying again changes nothing.
	ErrSetting = errors.New("sandbox setting refused")
	// ErrGone says that the sandbox (or base) does not exist any more.
	ErrGone = errors.New("sandbox gone")
	// ErrLimit says that a limit of the spec or of the provider was refused.
	ErrLimit = errors.New("sandbox limit")
	// ErrPath says that a path given to Put or Get leaves the sandbox.
	ErrPath = errors.New("path escapes the sandbox")
	// ErrDisk says that the sandbox used more disk than its limit; it is dead.
	ErrDisk = errors.New("sandbox disk limit exceeded")
)

// Driver is one way to get sandboxes. All methods may be called concurrently.
type Driver interface {
	// Open makes a fresh sandbox, empty or from spec.From, and returns when
	// commands can run in it. A failed Open leaves nothing behind. A name that
	// is in use is an error.
	Open(ctx context.Context, spec Spec) (Sandbox, error)
	// Attach returns the living sandbox of that name, whose owner died, with
	// its files as the last finished command left them. ErrGone if there is none.
	// Commands of the dead owner no longer run when Attach returns.
	Attach(ctx context.Context, name string) (Sandbox, error)
	// Sweep closes every sandbox and removes every base of this deployment for
	// which keep returns false, and returns their names. It lists first and asks
	// keep afterwards, so that what is opened meanwhile survives.
	Sweep(ctx context.Context, keep func(Info) bool) ([]string, error)
	// Traits says what this driver can and cannot promise on this machine.
	Traits() Traits
	// Check runs a real sandbox and returns nil, or what is wrong and what to
	// do about it (ErrUnavailable).
	Check(ctx context.Context) error
}

// Forker is what a Driver may also be: one prepared sandbox becomes many.
type Forker interface {
	// Freeze turns sb into a read-only base called sb.Name() and closes sb: from
	// then on Spec.From with that name opens independent copies. It is idempotent
	// for a base that is already frozen. Bases are removed by Sweep and by Thaw.
	// A provider that turns out not to offer it answers errors.ErrUnsupported, and sb
	// lives on: then every sandbox is prepared by itself.
	Freeze(ctx context.Context, sb Sandbox) (base string, err error)
	// Thaw removes a base; sandboxes opened from it must be closed before.
	// Removing a missing base is no error.
	Thaw(ctx context.Context, base string) error
	// HasBase reports whether the frozen base exists and is usable.
	HasBase(ctx context.Context, base string) bool
}

// Sandbox is one isolated machine. Exec, Put and Get may be called
// concurrently; Close ends them all.
type Sandbox interface {
	// Name is Spec.Name.
	Name() string
	// Exec runs one command and waits for it. A command that ran and failed is
	// a Result with its code, not an error; an error means that it could not be
	// run or that the sandbox died. When the context ends or the timeout passes,
	// the whole process tree is killed before Exec returns.
	Exec(ctx context.Context, c Command) (Result, error)
	// Put writes a file, creating parent directories. The path is absolute,
	// inside the /workspace or /tmp of the sandbox; ErrPath otherwise.
	Put(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error
	// Get opens a regular file for reading. fs.ErrNotExist if there is none,
	// ErrPath for anything that is not a regular file inside the sandbox.
	Get(ctx context.Context, path string) (io.ReadCloser, error)
	// Close kills what runs and removes the sandbox. Safe to call twice, and
	// with a context that is already cancelled.
	Close(ctx context.Context) error
}

// As finds what a sandbox may also be ([Egress], [Stamper], [Refuser], [Placed],
// [Launcher], [Restarter]). Of a sandbox with a method Unwrap it looks at what is inside, too.
func As[T any](sb Sandbox) (T, bool) {
	for {
		if found, ok := sb.(T); ok {
			return found, true
		}
		wrapper, ok := sb.(interface{ Unwrap() Sandbox })
		if !ok {
			var none T
			return none, false
		}
		sb = wrapper.Unwrap()
	}
}

// Egress is what a Sandbox may also be: what it may reach can change while it lives.
type Egress interface {
	// Restrict replaces the network of the Spec and returns when the new one holds
	// for new connections. After an error the sandbox must not be used any more. One
	// whose network cannot change answers errors.ErrUnsupported.
	Restrict(ctx context.Context, n Network) error
}

// Placed is what a Sandbox may also be: it tells where it is and what it costs.
type Placed interface {
	Place() Place
}

// Place is where a sandbox is.
type Place struct {
	Driver string // Traits.Name of the driver that opened it
	ID     string // the provider's own id of it, "" if there is none
	// HourlyUSD is what it costs while it is open, in US dollars for an hour; 0 is nothing.
	HourlyUSD float64
}

// Stamper is what a Sandbox may also be: it tells cheaply whether the work tree
// may have changed between two commands.
type Stamper interface {
	// Stamp returns a value that differs from an earlier one if any file under
	// RepoDir was created, changed or removed in between. It may differ without
	// a change of content; equal stamps mean an untouched tree.
	Stamp(ctx context.Context) (string, error)
}

// Launcher is what a Sandbox may also be (Traits.Launch): it runs one program that
// outlives its owner. Only in sandboxes opened with Spec.Launch.
type Launcher interface {
	// Launch starts a command in the background and returns when it runs. Its input is
	// empty and its output discarded: it writes to files. It ends by itself, by its
	// Timeout, by Halt and with the sandbox, and not by other commands' ends, the
	// death of its owner, or Attach: the new owner finds it running. Where
	// Spec.Network has a socket the program and what it starts reach it all the time.
	// A second Launch while one runs is an error.
	Launch(ctx context.Context, c Command) error
	// Launched reports whether anything that Launch started still runs.
	Launched(ctx context.Context) (bool, error)
	// Halt kills all of it and returns when it is gone. Halting nothing is no error.
	Halt(ctx context.Context) error
}

// Restarter is what a Sandbox may also be: it ends everything that runs inside, whoever
// started it and however it hides, and goes on with the same files.
type Restarter interface {
	// Restart returns when nothing of what ran is left and commands can run again. After
	// an error it may be asked once more; else the sandbox must not be used any more.
	Restart(ctx context.Context) error
}

// Refuser is what a Sandbox may also be: it tells what its network refused, so
// that a failed download can be explained.
type Refuser interface {
	// Refused lists the hosts that commands asked for and that Network.Allow
	// does not name, or that lead to a closed address; each once.
	Refused() []string
}

// Spec says what sandbox to open. The zero value of a limit means the driver's default.
type Spec struct {
	// Name is unique in the deployment, [a-z0-9-], at most 80 bytes.
	Name string
	// From is a base made by Freeze; empty for an empty sandbox.
	From string
	// Labels travel with the sandbox and come back in Info: "solve", "run", "phase".
	Labels  map[string]string
	Limits  Limits
	Network Network
	// Launch says that the sandbox's owner will use [Launcher].
	Launch bool
	// TTL is the longest life that a provider enforces by itself; 0 for none.
	TTL time.Duration
}

// Limits of one sandbox.
type Limits struct {
	Memory    int64   // bytes, of all processes together
	CPUs      float64 // cores
	Processes int     // processes and threads
	Disk      int64   // bytes written beyond the base
}

// Network is what a sandbox may reach. The zero value is nothing at all,
// loopback inside the sandbox excepted.
type Network struct {
	// Allow lists host names (exact, or "*.example.org") reachable by HTTP(S):
	// directly where the provider filters, else (Traits.Proxy) through a proxy that
	// the driver announces in the usual variables (HTTPS_PROXY and its lower-case and
	// HTTP forms). Private, link-local and metadata addresses stay closed whatever a
	// name resolves to.
	Allow []string
	// Socket is an absolute directory on this machine in which a unix socket named
	// [SocketName] listens; commands reach it by plain TCP at [SocketAddress]. The
	// socket may be closed and made anew while the sandbox lives. "" is none; only
	// where Traits.Socket says so.
	Socket string
}

// Network.Socket on both sides: its name in the directory, mode 0666, and the address
// inside the sandbox.
const (
	SocketName    = "sock"
	SocketAddress = "127.0.0.1:4141"
)

// Info describes a sandbox or base that exists.
type Info struct {
	Name    string
	Labels  map[string]string
	Base    bool // a frozen base
	Created time.Time
}

// Command is one command: either Argv or Shell is set.
type Command struct {
	Argv  []string
	Shell string // run by bash -c
	// Env is added to the sandbox's small fixed environment (PATH, HOME, LANG,
	// TERM=dumb, USER); nothing of the host's environment is ever inherited.
	Env map[string]string
	// Path are directories in which programs are looked for first, before the
	// sandbox's own PATH; they need not exist.
	Path []string
	Dir  string // default RepoDir
	// Stdin is fed to the command; nil is an empty input.
	Stdin io.Reader
	// Stdout and Stderr receive the output live, nil discards it; they may be
	// the same writer, which then receives both in order. A writer that blocks
	// or fails never blocks the command for ever: its output is dropped.
	Stdout, Stderr io.Writer
	// MaxOutput is how many bytes of both streams together are passed on; what
	// comes after is discarded and Result.Truncated set. 0 is DefaultMaxOutput, 10 MiB.
	MaxOutput int64
	// Timeout kills the process tree; 0 is none (the context's deadline holds).
	Timeout time.Duration
}

// DefaultMaxOutput is Command.MaxOutput where that is 0.
const DefaultMaxOutput = 10 << 20

// Check refuses commands that cannot mean anything.
func (c Command) Check() error {
	switch {
	case (len(c.Argv) == 0) == (c.Shell == ""):
		return errors.New("a command needs either Argv or Shell")
	case c.Dir != "" && !path.IsAbs(c.Dir):
		return fmt.Errorf("directory %q is not absolute", c.Dir)
	}
	for k := range c.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			return fmt.Errorf("bad name of a variable: %q", k)
		}
	}
	for _, a := range append([]string{c.Shell}, c.Argv...) {
		if strings.Contains(a, "\x00") {
			return errors.New("a command contains a zero byte")
		}
	}
	return nil
}

// Result of a command that ran.
type Result struct {
	ExitCode  int  // 128+n for signal n, as a shell reports it
	TimedOut  bool // killed by Command.Timeout; ExitCode is -1
	OOM       bool // the memory limit killed a process of it
	Truncated bool // output beyond MaxOutput was discarded
	Duration  time.Duration
}

// Traits are a driver's promises and weak points, read by the suite, the
// solver's planning and docs/drivers.md.
type Traits struct {
	Name      string
	Isolation string // one line for people
	Fork      bool   // satisfies Forker
	ForkHow   string // "overlay", "copy", "snapshot", ...
	Network   bool   // the allow-list works; without it only "off" does
	Proxy     bool   // the allow-list is a proxy announced in the usual variables
	Egress    bool   // its sandboxes satisfy Egress
	Socket    bool   // Network.Socket works; without it what listens here is reached by a public name
	Launch    bool   // its sandboxes satisfy Launcher
	// Machine: each sandbox is a virtual machine of its own, in which being root or
	// having capabilities harms nobody else.
	Machine bool
	Attach  bool // Attach can succeed after the owner died
	// CoarseTimes: files of a fork have the times of the base's in whole seconds.
	CoarseTimes bool
	// BackgroundDies: a process that a command leaves behind ends with the command.
	BackgroundDies bool
	MemoryLimit    bool
	CPULimit       bool
	ProcessLimit   bool
	DiskLimit      bool
	// MemoryKey is the key of config.yml with the memory of a sandbox, for messages.
	MemoryKey string
	// Limits, Start and Cost are one line each for people: what bounds a sandbox and who
	// enforces it, how long one takes to start, what it costs for an hour.
	Limits, Start, Cost string
	// Notes are warnings for doctor and the log ("no cgroup delegation: ...").
	Notes []string
}

// Launching is the sandbox's ability to launch a program. The error wraps
// errors.ErrUnsupported where it has none.
func Launching(sb Sandbox) (Launcher, error) {
	if l, ok := As[Launcher](sb); ok {
		return l, nil
	}
	return nil, fmt.Errorf("launch in sandbox %s: %w", sb.Name(), errors.ErrUnsupported)
}

// Captured is a command that ran, with what it printed.
type Captured struct {
	Result
	Stdout, Stderr []byte
}

// Capture runs a command and returns its two streams.
func Capture(ctx context.Context, sb Sandbox, c Command) (Captured, error) {
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	res, err := sb.Exec(ctx, c)
	return Captured{res, stdout.Bytes(), stderr.Bytes()}, err
}

// Output runs a command and returns stdout and stderr merged, in order.
func Output(ctx context.Context, sb Sandbox, c Command) (string, Result, error) {
	var buf bytes.Buffer
	c.Stdout, c.Stderr = &buf, &buf
	res, err := sb.Exec(ctx, c)
	return buf.String(), res, err
}
