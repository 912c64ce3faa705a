package sweagent

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// keptOutput is how much of what the program printed last is kept.
const keptOutput = 32 << 10

// process is the program on this machine.
type process struct {
	done chan struct{} // closed when it has ended
	err  error         // after done: how; nil is exit status 0
	tail tail

	mu  sync.Mutex
	pid int // of its group; 0 before the start and after the end
	off bool
}

// startProcess starts the program, in a process group of its own, which dies with us.
func startProcess(argv, env []string, dir string) *process {
	p := &process{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		// The kernel kills the program when the thread ends that started it: ours stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		p.err = p.run(argv, env, dir)
	}()
	return p
}

func (p *process) run(argv, env []string, dir string) error {
	c := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // the operator's command; kill ends it
	c.Env, c.Dir, c.Stdout, c.Stderr = env, dir, &p.tail, &p.tail
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.WaitDelay = time.Second
	p.mu.Lock()
	if p.off {
		p.mu.Unlock()
		return nil
	}
	err := c.Start()
	if err == nil {
		p.pid = c.Process.Pid
	}
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("start SWE-agent: %w", err)
	}
	err = c.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // what it left behind; mostly nothing
	p.pid = 0
	return err
}

// kill ends the program and its group, and returns when it has ended.
func (p *process) kill() {
	p.mu.Lock()
	p.off = true
	if p.pid != 0 {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL) // it may have ended just now
	}
	p.mu.Unlock()
	<-p.done
}

// tail keeps the last part of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	if over := len(t.data) - keptOutput; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
