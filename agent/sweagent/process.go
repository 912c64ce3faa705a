package sweagent

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/output"
)

// keptOutput is how much of what the program printed last is kept.
const keptOutput = 32 << 10

// process is the program on this machine.
type process struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	err    error         // after done: how; nil is exit status 0
	tail   output.Tail
}

// startProcess starts the program, in a process group of its own, which dies with us.
func startProcess(argv, env []string, dir string) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cancel: cancel, done: make(chan struct{}), tail: output.Tail{Most: keptOutput}}
	c := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the operator's command
	c.Env, c.Dir, c.Stdout, c.Stderr = env, dir, &p.tail, &p.tail
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	go func() {
		defer close(p.done)
		// The kernel kills the program when the thread ends that started it: ours stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if p.err = c.Run(); c.Process != nil {
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what it left behind; mostly nothing
		}
	}()
	return p
}

// stop ends the program and its group, and returns when it has ended.
func (p *process) stop() {
	p.cancel()
	<-p.done
}
