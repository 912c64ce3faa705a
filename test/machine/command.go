package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rootKeeps are the rights that root has inside: over files and processes of the
// machine, none over the kernel or its devices.
const rootKeeps = "+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+setfcap,+net_bind_service,+sys_chroot,+sys_ptrace,+sys_resource,+sys_nice"

// entry is the first program inside: it tells its pid where that is asked for,
// goes to the directory and becomes the command.
const entry = `[ -z "$1" ] || { echo $$ >&"$1"; eval "exec $1>&-"; }
cd -- "$2" || exit 126
shift 2
exec "$@"`

// Command returns a command that runs inside as Root or User when it is started,
// with no environment but env, in the directory dir ("/" if empty). The caller
// may set Stdin, Stdout and Stderr. When ctx ends the command itself is killed, not
// what it started. A program that does not exist is exit code 127.
func (m *Machine) Command(ctx context.Context, user string, env []string, dir string, argv ...string) *exec.Cmd {
	return m.command(ctx, user, env, dir, "", argv)
}

// command is Command, with the number of a descriptor to tell the pid on, if any.
func (m *Machine) command(ctx context.Context, user string, env []string, dir, fd string, argv []string) *exec.Cmd {
	if dir == "" {
		dir = "/"
	}
	// By open files and not by the first process's number, which another process of
	// the host may have got meanwhile.
	var args []string
	for i, option := range []string{"--mount", "--pid", "--net", "--ipc", "--uts"} {
		args = append(args, fmt.Sprintf("%s=/proc/%d/fd/%d", option, os.Getpid(), m.spaces[i].Fd()))
	}
	args = append(args, "--", "setpriv")
	if user == Root {
		args = append(args, "--reuid=0", "--regid=0", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all,"+rootKeeps)
	} else {
		args = append(args, "--reuid=1000", "--regid=1000", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs")
	}
	args = append(append(args, "env", "-i", "-C", "/"), env...)
	args = append(append(args, "/bin/sh", "-c", entry, "sh", fd, dir), argv...)
	c := exec.CommandContext(ctx, "nsenter", args...)
	c.Env, c.Dir = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "/"
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if m.stopped.Load() {
		c.Err = ErrStopped
	}
	c.Cancel = func() error { return killChild(c.Process.Pid) }
	return c
}

// killChild kills the process inside, whose end nsenter then reports as its own.
func killChild(nsenter int) error {
	child, err := childOf(nsenter)
	if err != nil {
		return err
	}
	if child == 0 { // it is about to be started, or has ended
		child = nsenter
	}
	return unix.Kill(child, unix.SIGKILL)
}

// childOf returns the only child of a process, 0 if there is none.
func childOf(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, fmt.Errorf("find the process inside: %w", err)
	}
	fields := strings.Fields(string(data))
	if len(fields) == 0 {
		return 0, nil
	}
	return strconv.Atoi(fields[0])
}

// Process is a command that was started with Spawn.
type Process struct {
	PID int // as processes inside see it

	mu     sync.Mutex
	handle int // a pidfd, -1 for none
}

// Job says what Spawn starts; the fields are those of Command and of exec.Cmd.
type Job struct {
	User   string
	Env    []string
	Dir    string
	Argv   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Terminal, a slave of Machine.Terminal, is the controlling terminal, and stdin,
	// stdout and stderr unless they are given.
	Terminal *os.File
}

// Spawn starts a command as Command returns it, and returns when it has a pid inside.
// The caller waits for the command and then releases the process.
func (m *Machine) Spawn(ctx context.Context, j Job) (*exec.Cmd, *Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	argv := j.Argv
	if j.Terminal != nil {
		argv = append([]string{"setsid", "--ctty"}, argv...)
	}
	c := m.command(ctx, j.User, j.Env, j.Dir, "3", argv)
	c.ExtraFiles = []*os.File{w}
	c.Stdin, c.Stdout, c.Stderr = j.Stdin, j.Stdout, j.Stderr
	if j.Terminal != nil {
		c.Stdin, c.Stdout, c.Stderr = j.Terminal, j.Terminal, j.Terminal
	}
	if err := c.Start(); err != nil {
		w.Close()
		return nil, nil, fmt.Errorf("start a command in a machine: %w", err)
	}
	w.Close()
	p, err := readPID(r, c.Process.Pid)
	if err != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		return nil, nil, err
	}
	return c, p, nil
}

// readPID reads the pid that the entry tells, and takes a handle of the process.
func readPID(r *os.File, nsenter int) (*Process, error) {
	if err := r.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return nil, err
	}
	line := make([]byte, 32)
	n, err := r.Read(line)
	if err != nil {
		return nil, fmt.Errorf("start a command in a machine: no process inside: %w", err)
	}
	p := &Process{handle: -1}
	if p.PID, err = strconv.Atoi(string(bytes.TrimSpace(line[:n]))); err != nil {
		return nil, fmt.Errorf("start a command in a machine: read its pid: %w", err)
	}
	if child, err := childOf(nsenter); err == nil && child != 0 {
		if fd, err := unix.PidfdOpen(child, 0); err == nil {
			p.handle = fd
		}
	}
	return p, nil
}

// Signal signals the process itself, not what it started. os.ErrProcessDone says
// that it has ended.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle < 0 {
		return os.ErrProcessDone
	}
	err := unix.PidfdSendSignal(p.handle, s, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// Release gives the handle back, after the command was waited for.
func (p *Process) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle >= 0 {
		_ = unix.Close(p.handle)
		p.handle = -1
	}
}
