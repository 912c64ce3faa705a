package local

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// execFiles is how many descriptors an exec request has at least.
const execFiles = 6

// exec starts bubblewrap for one command, reports the first process inside as
// soon as it exists (it waits on the block pipe until the owner lets it go),
// and the exit code at the end.
func (s *stage) exec(id uint64, c *execReq, files []*os.File) {
	// Parent-death signals fire when the thread that forked ends, so this
	// goroutine keeps its thread until the process is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fail := func(err error) {
		closeAll(files...)
		s.reply(reply{ID: id, Kind: kindExited, Err: err.Error()})
	}
	if c == nil || len(files) < execFiles {
		fail(errors.New("incomplete exec request"))
		return
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		fail(fmt.Errorf("make status pipe: %w", err))
		return
	}
	args := []string{s.setup.Marker, "--args", fmt.Sprint(argsFD), "--"}
	cmd := &exec.Cmd{
		Path: s.setup.Bwrap, Args: append(args, c.Argv...), Env: []string{}, Dir: "/",
		Stdin: files[3], Stdout: files[4], Stderr: files[5],
		ExtraFiles:  append([]*os.File{files[0], files[1], files[2], statusW}, files[execFiles:]...),
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	err = cmd.Start()
	_ = statusW.Close()
	if err != nil {
		_ = statusR.Close()
		fail(fmt.Errorf("start %s: %w", s.setup.Bwrap, err))
		return
	}
	closeAll(files...)
	ran := s.follow(id, c, statusR)
	_ = statusR.Close()
	err = cmd.Wait()
	r := reply{ID: id, Kind: kindExited, Ran: ran, Code: cmd.ProcessState.ExitCode()}
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		r.Code = 128 + int(st.Signal())
	} else if err != nil && cmd.ProcessState == nil {
		r.Err = err.Error()
	}
	s.reply(r)
}

// follow reads bubblewrap's status until it ends and reports whether the
// command itself had been started.
func (s *stage) follow(id uint64, c *execReq, status *os.File) (ran bool) {
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		var st struct {
			Child int  `json:"child-pid"`
			Exit  *int `json:"exit-code"`
		}
		if json.Unmarshal(lines.Bytes(), &st) != nil {
			continue
		}
		if st.Child > 0 {
			r := reply{ID: id, Kind: kindStarted, Child: st.Child}
			if err := limitProcess(st.Child, c.Rlimits); err != nil {
				r.Err = err.Error()
			}
			s.reply(r)
		}
		if st.Exit != nil {
			ran = true
		}
	}
	return ran
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
