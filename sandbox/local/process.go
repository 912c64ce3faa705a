package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// selfPrefix starts the names of directories that this process is making.
func selfPrefix() string {
	return fmt.Sprintf("%d-%s-", os.Getpid(), startTime(os.Getpid()))
}

// makerLives reports whether the process that named a directory still runs.
func makerLives(name string) bool {
	parts := strings.SplitN(name, "-", 3)
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	return err == nil && parts[1] != "" && startTime(pid) == parts[1]
}

// startTime is when a process started, in ticks since boot (proc(5), field 22
// of stat): with the pid it names one process for ever. Empty if there is none.
func startTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field is in parentheses and may hold anything.
	rest := data[bytes.LastIndexByte(data, ')')+1:]
	fields := strings.Fields(string(rest))
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}

// killMarked kills every process started for one sandbox by whatever owner, and returns
// when they are gone; found reports whether there was any. The first process inside is one of them, and the kernel ends all
// others of its namespace before it counts as dead.
//
// They are found by their first argument: no file of pids to keep true across
// crashes, and no pid to be confused with another process's.
//
// All are held before the first is killed: the death of one brings that of others,
// and a process that is about to end has no arguments any more, while what runs in
// its namespace still does.
func killMarked(ctx context.Context, marker string) (found bool, err error) {
	for {
		held, err := holdMarked(marker)
		if err == nil {
			err = killAll(ctx, held)
		}
		for _, fd := range held {
			_ = unix.Close(fd)
		}
		if err != nil || len(held) == 0 {
			return found, err
		}
		found = true
	}
}

// killAll kills processes through descriptors, which cannot come to mean other
// processes, and waits for their end.
func killAll(ctx context.Context, held map[int]int) error {
	for pid, fd := range held {
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("kill leftover process %d: %w", pid, err)
		}
	}
	for pid, fd := range held {
		if err := waitPidfd(ctx, fd); err != nil {
			return fmt.Errorf("wait for leftover process %d: %w", pid, err)
		}
	}
	return nil
}

// holdMarked opens the processes that carry a marker.
func holdMarked(marker string) (map[int]int, error) {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	held := make(map[int]int)
	for _, p := range procs {
		pid, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		switch {
		case errors.Is(err, unix.ESRCH):
		case err != nil:
			return held, fmt.Errorf("open leftover process %d: %w", pid, err)
		case !carries(pid, marker):
			_ = unix.Close(fd)
		default:
			held[pid] = fd
		}
	}
	return held, nil
}

// carries reports whether a living process has the marker: a bubblewrap has it as its
// argv[0], a helper next to that, the first process inside and its forwarder as their name.
func carries(pid int, marker string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	program, args, _ := strings.Cut(string(line), "\x00")
	switch {
	case program == helperArg || program == formerHelperArg:
		return strings.HasPrefix(args, marker)
	case strings.HasPrefix(program, protocol.ProgramDir+"/"):
		return strings.Contains(args, "\x00name="+marker)
	}
	return strings.HasPrefix(program, marker)
}

// formerHelperArg is helperArg of yudai before its guest program ran here.
const formerHelperArg = "__yudai-sandbox-stage"

// killTimeout is how long the kernel may take to end killed processes.
const killTimeout = 20 * time.Second

// waitPidfd waits until a killed process is gone. It gives up after
// killTimeout: a process stuck in the kernel cannot be waited for.
func waitPidfd(ctx context.Context, fd int) error {
	end := time.Now().Add(killTimeout)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50) //nolint:gosec // a descriptor
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for process: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(end) {
			return errors.New("process does not end")
		}
	}
}
