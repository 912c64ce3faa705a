package main

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

// exitLeaseLost is the program's code for a lease that was lost: start it again.
const exitLeaseLost = 75

// process is the program under test.
type process struct {
	cmd    *exec.Cmd
	log    logBuffer
	done   chan struct{} // closed when it has ended
	ended  time.Time     // valid after done
	killed bool          // by us
	armed  bool          // it has a failpoint
}

// start runs the program with its configuration and environment.
func start(program, config string, env []string, armed bool) (*process, error) {
	p := &process{cmd: exec.Command(program, "serve", "--config", config), done: make(chan struct{}), armed: armed} //nolint:noctx // it is ended by signals, that is the point
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the program: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // its state says how it ended
		p.ended = time.Now()
		close(p.done)
	}()
	return p, nil
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends one; a process that has ended takes none.
func (p *process) signal(s syscall.Signal) {
	if p.running() {
		_ = p.cmd.Process.Signal(s)
	}
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	p.killed = true
	p.signal(syscall.SIGKILL)
	<-p.done
}

// crashed says that SIGKILL ended it, a failpoint's or ours.
func (p *process) crashed() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// code is the exit code, -1 after a signal.
func (p *process) code() int { return p.cmd.ProcessState.ExitCode() }

// stopped says that the process as a whole stands still (SIGSTOP).
func (p *process) stopped() bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte(") "))
	return len(rest) > 0 && rest[0] == 'T'
}

var listening = regexp.MustCompile(`listens on (http://\S+)`)

// address is where the program listens, "" as long as it does not.
func (p *process) address() string {
	if found := listening.FindStringSubmatch(p.log.String()); found != nil {
		return found[1]
	}
	return ""
}

// last is the end of what the program said.
func (p *process) last() string {
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// logBuffer is a process's standard error, read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write keeps p.
func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String is all that was written.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
