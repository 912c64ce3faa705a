package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// execFiles is how many descriptors an exec request has at least.
const execFiles = 6

// exec starts bubblewrap for one command, reports the first process inside as
// soon as it exists (it waits on the block pipe until the owner lets it go),
// and the exit code at the end.
func (s *stage) exec(o *session, id uint64, c *execReq, files []*os.File) {
	// Parent-death signals fire when the thread that forked ends, so this
	// goroutine keeps its thread until the process is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fail := func(err error) {
		closeAll(files...)
		o.reply(reply{ID: id, Kind: kindExited, Err: err.Error()})
	}
	if c == nil || len(files) < execFiles {
		fail(errors.New("incomplete exec request"))
		return
	}
	w := &wrapped{pidfd: -1}
	if err := o.enter(w); err != nil {
		fail(err)
		return
	}
	defer o.leave(w)
	defer w.forget()
	if err := w.start(s.setup.Bwrap, o.marker, c.Argv, files); err != nil {
		fail(err)
		return
	}
	closeAll(files...)
	o.reply(w.wait(id, func(child int, err error) {
		r := reply{ID: id, Kind: kindStarted, Child: child}
		if err == nil {
			err = limitProcess(child, c.Rlimits)
		}
		if err != nil {
			r.Err = err.Error()
		}
		o.reply(r)
	}))
}

// wrapped is one bubblewrap and what runs in it.
type wrapped struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	status *os.File // what bubblewrap says of itself
	pidfd  int      // of the first process inside; -1 until it is known
	killed bool
}

// start starts bubblewrap. The descriptors are those of an exec request, and stay
// the caller's.
func (w *wrapped) start(bwrap, marker string, argv []string, files []*os.File) error {
	r, status, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make status pipe: %w", err)
	}
	defer func() { _ = status.Close() }()
	args := []string{marker, "--args", fmt.Sprint(argsFD), "--"}
	cmd := &exec.Cmd{
		Path: bwrap, Args: append(args, argv...), Env: []string{}, Dir: "/",
		Stdin: files[3], Stdout: files[4], Stderr: files[5],
		ExtraFiles:  append([]*os.File{files[0], files[1], files[2], status}, files[execFiles:]...),
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killed {
		_ = r.Close()
		return errReplaced
	}
	if err := cmd.Start(); err != nil {
		_ = r.Close()
		return fmt.Errorf("start %s: %w", bwrap, err)
	}
	w.cmd, w.status = cmd, r
	return nil
}

// kill ends all of it, as soon as it has started.
func (w *wrapped) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed = true
	if w.pidfd >= 0 {
		_ = signalPidfd(w.pidfd)
	}
	if w.cmd != nil {
		_ = w.cmd.Process.Kill()
		_ = w.status.Close()
	}
}

// wait reports the first process inside when there is one, and returns how
// bubblewrap ended as the last reply of a request.
func (w *wrapped) wait(id uint64, started func(child int, err error)) reply {
	ran := w.follow(started)
	_ = w.status.Close()
	err := w.cmd.Wait()
	r := reply{ID: id, Kind: kindExited, Ran: ran, Code: w.cmd.ProcessState.ExitCode()}
	if st, ok := w.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		r.Code = 128 + int(st.Signal())
	} else if err != nil && w.cmd.ProcessState == nil {
		r.Err = err.Error()
	}
	return r
}

// bury kills what is left of the namespace and waits until it is gone: bubblewrap
// reports the command's end before that.
func (w *wrapped) bury() error {
	w.mu.Lock()
	fd := w.pidfd
	w.mu.Unlock()
	if fd < 0 {
		return nil
	}
	if err := signalPidfd(fd); err != nil {
		return err
	}
	return waitPidfd(context.Background(), fd)
}

// forget closes the descriptor of the first process inside.
func (w *wrapped) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pidfd >= 0 {
		_ = unix.Close(w.pidfd)
		w.pidfd = -1
	}
}

// follow reads bubblewrap's status until it ends and reports whether the
// command itself had been started.
func (w *wrapped) follow(started func(child int, err error)) (ran bool) {
	lines := bufio.NewScanner(w.status)
	for lines.Scan() {
		var st struct {
			Child int  `json:"child-pid"`
			Exit  *int `json:"exit-code"`
		}
		if json.Unmarshal(lines.Bytes(), &st) != nil {
			continue
		}
		if st.Child > 0 {
			started(st.Child, w.know(st.Child))
		}
		if st.Exit != nil {
			ran = true
		}
	}
	return ran
}

// know remembers the first process inside, and kills it if it is too late.
func (w *wrapped) know(child int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fd, err := unix.PidfdOpen(child, 0)
	if err != nil {
		return fmt.Errorf("watch command: %w", err)
	}
	w.pidfd = fd
	if w.killed {
		return signalPidfd(fd)
	}
	return nil
}

// limitProcess puts resource limits on a process of ours that has not started
// its command yet. A limit above the hard one is lowered to it.
func limitProcess(pid int, limits []rlimit) error {
	for _, l := range limits {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, l.Resource, nil, &old); err != nil {
			return fmt.Errorf("read resource limit %d: %w", l.Resource, err)
		}
		v := min(l.Value, old.Max)
		if err := unix.Prlimit(pid, l.Resource, &unix.Rlimit{Cur: v, Max: v}, nil); err != nil {
			return fmt.Errorf("set resource limit %d: %w", l.Resource, err)
		}
	}
	return nil
}
