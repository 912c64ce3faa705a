package fakesandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// Sandbox is one fake sandbox.
type Sandbox struct {
	driver *Driver
	info   sandbox.Info
	life   context.Context
	stop   context.CancelCauseFunc
	busy   sync.WaitGroup

	machine *machine
	state   sync.Mutex
	closed  bool
	// network is what it may reach; state guards it.
	network sandbox.Network
}

// Compile-time proof that the contract is satisfied.
var (
	_ sandbox.Driver  = (*Driver)(nil)
	_ sandbox.Forker  = (*Driver)(nil)
	_ sandbox.Sandbox = (*Sandbox)(nil)
	_ sandbox.Stamper = (*Sandbox)(nil)
	_ sandbox.Egress  = (*Sandbox)(nil)
	_ sandbox.Placed  = (*Sandbox)(nil)

	_ sandbox.Launcher = (*Sandbox)(nil)
)

func newSandbox(d *Driver, info sandbox.Info, m *machine) *Sandbox {
	s := &Sandbox{driver: d, info: info, machine: m}
	s.life, s.stop = context.WithCancelCause(context.Background())
	return s
}

// Name is Spec.Name.
func (s *Sandbox) Name() string { return s.info.Name }

// enter registers an operation.
func (s *Sandbox) enter(op Op) (func(), error) {
	s.driver.mu.Lock()
	err := s.driver.begin(op, s.info.Name)
	s.driver.mu.Unlock()
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%s in sandbox %s: %w", op, s.info.Name, sandbox.ErrGone)
	}
	s.busy.Add(1)
	return s.busy.Done, nil
}

// end ends all commands and reports whether the sandbox was open.
func (s *Sandbox) end() bool {
	open := s.die()
	s.busy.Wait()
	return open
}

// die is end without waiting for the commands.
func (s *Sandbox) die() bool {
	s.state.Lock()
	defer s.state.Unlock()
	open := !s.closed
	s.closed = true
	s.stop(fmt.Errorf("sandbox %s closed: %w", s.info.Name, sandbox.ErrGone))
	return open
}

// Exec asks the driver's function, applies the output limit and the timeout,
// and turns the end of the context into an error.
func (s *Sandbox) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if (len(c.Argv) == 0) == (c.Shell == "") {
		return sandbox.Result{}, errors.New("a command needs either Argv or Shell")
	}
	leave, err := s.enter(OpExec)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()
	errTimeout := errors.New("timeout")
	if c.Timeout > 0 {
		defer time.AfterFunc(c.Timeout, func() { cancel(errTimeout) }).Stop()
	}
	s.machine.mu.Lock()
	defer s.machine.mu.Unlock()
	left := c.MaxOutput
	if left == 0 {
		left = 10 << 20
	}
	limit := &limiter{left: left}
	begin := time.Now()
	res, err := s.driver.answer(ctx, Call{
		Sandbox: s.info.Name, Labels: s.info.Labels, Command: c, Network: s.reach(), Files: s.machine.files,
		Stdout: limit.on(c.Stdout), Stderr: limit.on(c.Stderr),
	})
	res.Duration, res.Truncated = time.Since(begin), res.Truncated || limit.cut
	cause := context.Cause(ctx)
	if cause == nil { // it may not have been told yet
		cause = context.Cause(s.life)
	}
	switch {
	case errors.Is(cause, errTimeout):
		return sandbox.Result{ExitCode: -1, TimedOut: true, Truncated: res.Truncated, Duration: res.Duration}, nil
	case cause != nil:
		return res, fmt.Errorf("exec in sandbox %s: %w", s.info.Name, cause)
	case err != nil:
		return res, fmt.Errorf("exec in sandbox %s: %w", s.info.Name, err)
	}
	return res, nil
}

// limiter caps both streams together.
type limiter struct {
	mu   sync.Mutex
	left int64
	cut  bool
}

func (l *limiter) on(w io.Writer) io.Writer { return capped{l, w} }

type capped struct {
	limit *limiter
	to    io.Writer
}

// Write passes on what the limit leaves.
func (c capped) Write(p []byte) (int, error) {
	c.limit.mu.Lock()
	defer c.limit.mu.Unlock()
	if c.to == nil {
		return len(p), nil
	}
	give := p[:min(int64(len(p)), c.limit.left)]
	c.limit.left -= int64(len(give))
	c.limit.cut = c.limit.cut || len(give) < len(p)
	if len(give) > 0 {
		_, _ = c.to.Write(give)
	}
	return len(p), nil
}

// Put stores a file.
func (s *Sandbox) Put(_ context.Context, p string, r io.Reader, _ fs.FileMode) error {
	clean, err := checkPath(p)
	if err != nil {
		return fmt.Errorf("put: %w", err)
	}
	leave, err := s.enter(OpPut)
	if err != nil {
		return err
	}
	defer leave()
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("put %s: %w", p, err)
	}
	s.machine.mu.Lock()
	defer s.machine.mu.Unlock()
	if len(s.machine.files.below(clean)) > 0 {
		return fmt.Errorf("put %s: %w", p, sandbox.ErrPath)
	}
	s.machine.files[clean] = string(data)
	return nil
}

// Get reads a file.
func (s *Sandbox) Get(_ context.Context, p string) (io.ReadCloser, error) {
	clean, err := checkPath(p)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	leave, err := s.enter(OpGet)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.machine.mu.Lock()
	defer s.machine.mu.Unlock()
	text, ok := s.machine.files[clean]
	switch {
	case ok:
		return reader(text), nil
	case len(s.machine.files.below(clean)) > 0:
		return nil, fmt.Errorf("get %s: %w", p, sandbox.ErrPath)
	}
	return nil, fmt.Errorf("get %s: %w", p, fs.ErrNotExist)
}

// Stamp is a digest of the work tree.
func (s *Sandbox) Stamp(context.Context) (string, error) {
	leave, err := s.enter("stamp")
	if err != nil {
		return "", err
	}
	defer leave()
	s.machine.mu.Lock()
	defer s.machine.mu.Unlock()
	sum := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(s.machine.files)) {
		if len(p) > len(sandbox.RepoDir) && p[:len(sandbox.RepoDir)+1] == sandbox.RepoDir+"/" {
			fmt.Fprintf(sum, "%q %q\n", p, s.machine.files[p])
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16]), nil
}

// reach is what the sandbox may reach now.
func (s *Sandbox) reach() sandbox.Network {
	s.state.Lock()
	defer s.state.Unlock()
	return s.network
}

// Restrict changes what the sandbox may reach; errors.ErrUnsupported without the trait.
func (s *Sandbox) Restrict(_ context.Context, n sandbox.Network) error {
	if !s.driver.Traits().Egress {
		return fmt.Errorf("restrict sandbox %s: %w", s.info.Name, errors.ErrUnsupported)
	}
	leave, err := s.enter(OpRestrict)
	if err != nil {
		return err
	}
	defer leave()
	s.state.Lock()
	defer s.state.Unlock()
	s.network = n
	return nil
}

// Place names the driver and what SetHourly says.
func (s *Sandbox) Place() sandbox.Place {
	s.driver.mu.Lock()
	defer s.driver.mu.Unlock()
	return sandbox.Place{Driver: s.driver.traits.Name, ID: "fake-" + s.info.Name, HourlyUSD: s.driver.hourly}
}

// Close removes the sandbox.
func (s *Sandbox) Close(context.Context) error {
	s.driver.mu.Lock()
	err := s.driver.begin(OpClose, s.info.Name)
	s.driver.mu.Unlock()
	if err != nil {
		return err
	}
	s.end()
	s.driver.mu.Lock()
	own := s.driver.boxes[s.info.Name] == s
	if own {
		delete(s.driver.boxes, s.info.Name)
	}
	s.driver.mu.Unlock()
	if own {
		s.machine.halt().wait()
	}
	return nil
}
