package dockerd

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// program is a running process of ours.
type program struct {
	*exec.Cmd
	ended chan struct{}
}

// run starts a program whose output is appended to a log.
func run(log, name string, args ...string) (*program, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer func() { _ = out.Close() }()
	p := &program{Cmd: exec.Command(name, args...), ended: make(chan struct{})} //nolint:noctx // it outlives the call
	p.Stdout, p.Stderr = out, out
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a signal of the terminal is not for it
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	go func() {
		defer close(p.ended)
		_ = p.Wait()
	}()
	return p, nil
}

// end sends a signal and waits; what does not listen is killed.
func (p *program) end(s syscall.Signal) {
	_ = p.Process.Signal(syscall.SIGCONT)
	_ = p.Process.Signal(s)
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.Process.Kill()
		<-p.ended
	}
}
