// Package program runs the real program with a configuration, for campaigns that judge it from outside.
package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ExitLeaseLost is the program's code for a lease that was lost: start it again.
const ExitLeaseLost = 75

// Process is the program under test.
type Process struct {
	cmd    *exec.Cmd
	Log    Log           // what it said
	Done   chan struct{} // closed when it has ended
	Ended  time.Time     // valid after Done
	Killed bool          // by Kill
	Armed  bool          // it has a failpoint
}

// Start runs the program with its configuration and environment.
func Start(program, config string, env []string, armed bool) (*Process, error) {
	p := &Process{cmd: exec.Command(program, "serve", "--config", config), Done: make(chan struct{}), Armed: armed} //nolint:noctx // it is ended by signals, that is the point
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = &p.Log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the program: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // its state says how it ended
		p.Ended = time.Now()
		close(p.Done)
	}()
	return p, nil
}

// Running says that it has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.Done:
		return false
	default:
		return true
	}
}

// Signal sends one; a process that has ended takes none.
func (p *Process) Signal(s syscall.Signal) {
	if p.Running() {
		_ = p.cmd.Process.Signal(s)
	}
}

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	p.Killed = true
	p.Signal(syscall.SIGKILL)
	<-p.Done
}

// Crashed says that SIGKILL ended it, a failpoint's or ours.
func (p *Process) Crashed() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Code is the exit code, -1 after a signal.
func (p *Process) Code() int { return p.cmd.ProcessState.ExitCode() }

// Stopped says that the process as a whole stands still (SIGSTOP).
func (p *Process) Stopped() bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte(") "))
	return len(rest) > 0 && rest[0] == 'T'
}

// MostMemory is how much the process ever had in memory, in MiB.
func (p *Process) MostMemory() (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of the program: %w", err)
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kib := 0
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0, fmt.Errorf("read the memory of the program: %w", err)
	}
	return kib >> 10, nil
}

var listening = regexp.MustCompile(`listens on (http://\S+)`)

// Address is where the program listens, "" as long as it does not.
func (p *Process) Address() string {
	if found := listening.FindStringSubmatch(p.Log.String()); found != nil {
		return found[1]
	}
	return ""
}

// Last is the end of what the program said.
func (p *Process) Last() string {
	lines := strings.Split(strings.TrimSpace(p.Log.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// Log is a process's standard error, read while it is written.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write keeps p.
func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String is all that was written.
func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
