package fakesandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// machine is what all handles of one sandbox share: it outlives its owners.
type machine struct {
	mu       sync.Mutex // held while a command runs or a file is touched
	files    Files
	launches bool // Spec.Launch

	state   sync.Mutex
	running *program // the last one, nil before the first
}

// program is one launched program.
type program struct {
	stop context.CancelFunc
	done chan struct{}
}

// halt tells the program to end and returns it; nil if there never was one.
func (m *machine) halt() *program {
	m.state.Lock()
	defer m.state.Unlock()
	if m.running != nil {
		m.running.stop()
	}
	return m.running
}

// wait waits for the end of the program.
func (p *program) wait() {
	if p != nil {
		<-p.done
	}
}

// runs reports whether the program runs.
func (p *program) runs() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// able enters an operation of a launcher.
func (s *Sandbox) able(op Op) (func(), error) {
	if !s.driver.Traits().Launch {
		return nil, fmt.Errorf("%s in sandbox %s: %w", op, s.info.Name, errors.ErrUnsupported)
	}
	return s.enter(op)
}

// Launch starts what SetProgram installed, with the command, in the background.
func (s *Sandbox) Launch(ctx context.Context, c sandbox.Command) error {
	if err := errors.Join(c.Check(), ctx.Err()); err != nil {
		return fmt.Errorf("launch in sandbox %s: %w", s.info.Name, err)
	}
	leave, err := s.able(OpLaunch)
	if err != nil {
		return err
	}
	defer leave()
	m := s.machine
	m.state.Lock()
	defer m.state.Unlock()
	switch {
	case !m.launches:
		return fmt.Errorf("launch in sandbox %s: it was opened without Spec.Launch", s.info.Name)
	case m.running.runs():
		return fmt.Errorf("launch in sandbox %s: a launched program runs already", s.info.Name)
	}
	m.running = s.start(c)
	return nil
}

// start runs a program until it ends or is ended.
func (s *Sandbox) start(c sandbox.Command) *program {
	c.Stdin, c.Stdout, c.Stderr = nil, nil, nil
	ctx, stop := context.WithCancel(context.Background())
	if c.Timeout > 0 {
		timer := time.AfterFunc(c.Timeout, stop)
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	s.driver.mu.Lock()
	run := s.driver.program
	s.driver.mu.Unlock()
	if run == nil {
		run = forEver
	}
	p := &program{stop: stop, done: make(chan struct{})}
	call := Call{
		Sandbox: s.info.Name, Labels: s.info.Labels, Command: c, Network: s.reach(), Edit: s.machine.edit,
		Stdout: io.Discard, Stderr: io.Discard,
	}
	go func() {
		defer close(p.done)
		defer stop()
		_, _ = run(ctx, call)
	}()
	return p
}

// forEver is a program that runs until it is ended.
func forEver(ctx context.Context, _ Call) (sandbox.Result, error) {
	<-ctx.Done()
	return sandbox.Result{ExitCode: -1}, nil
}

// edit gives the files to a function, alone.
func (m *machine) edit(f func(Files)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.files)
}

// Launched reports whether the launched program runs.
func (s *Sandbox) Launched(context.Context) (bool, error) {
	leave, err := s.able(OpLaunched)
	if err != nil {
		return false, err
	}
	defer leave()
	s.machine.state.Lock()
	defer s.machine.state.Unlock()
	return s.machine.running.runs(), nil
}

// Halt ends the launched program and waits for it.
func (s *Sandbox) Halt(ctx context.Context) error {
	leave, err := s.able(OpHalt)
	if err != nil {
		return err
	}
	defer leave()
	p := s.machine.halt()
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("halt in sandbox %s: %w", s.info.Name, ctx.Err())
	case <-time.After(haltPatience):
		return fmt.Errorf("halt in sandbox %s: the program does not end", s.info.Name)
	}
}

// haltPatience is how long a program of a test may take to end.
const haltPatience = time.Minute
