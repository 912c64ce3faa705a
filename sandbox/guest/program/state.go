//go:build linux

package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// The state directory holds, for a command with the id N:
//
//	N.on   whoever makes it starts the command; nobody else does
//	N.pid  the process id of its supervisor
//	N.in   its input
//	N.req  the rest of a long request
//	N.sh   a text too long for an argument
//	N.out  what it printed, N.err too
//	N.rc   how it ended
//
// and for all of them: owner, the owner's token; oom, how many processes the kernel had
// killed when that was last looked at; launched, the directory with the same files of
// what was launched.

const (
	ownerFile   = protocol.StateDir + "/owner"
	oomFile     = protocol.StateDir + "/oom"
	launchedDir = protocol.StateDir + "/launched"
)

// job is a command, or a launched program, by its files.
type job struct {
	id     string
	prefix string
}

func command(id string) job   { return job{id, protocol.StateDir + "/" + id} }
func outliving(id string) job { return job{id, launchedDir + "/" + id} }

func (j job) file(kind string) string { return j.prefix + "." + kind }

// claim makes the file that decides who starts the job. It reports false where it was
// there already.
func (j job) claim() (bool, error) {
	f, err := os.OpenFile(j.file("on"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// supervisor is the process id of the job's supervisor, 0 if it has not said it yet.
func (j job) supervisor() int {
	pid, _ := strconv.Atoi(strings.TrimSpace(readText(j.file("pid"))))
	return pid
}

// supervised reports whether the job's supervisor lives.
func (j job) supervised() bool {
	pid := j.supervisor()
	return pid != 0 && supervises(pid)
}

// orphaned reports whether the job had a supervisor that does not live any more.
func (j job) orphaned() bool {
	pid := j.supervisor()
	return pid != 0 && !supervises(pid)
}

// supervises reports whether a process is still a supervisor: its number may have become
// another's.
func supervises(pid int) bool { return living(pid) && ours(pid) }

// ended reports whether it is written down how the job ended.
func (j job) ended() bool { return exists(j.file("rc")) }

// owned reports whether the sandbox is the owner's who has this token.
func owned(token string) bool {
	return token != "" && strings.TrimSpace(readText(ownerFile)) == token
}

// noRoom reports whether an error says that the disk is full.
func noRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// inState is the answer to an error about a file of the state directory.
func inState(err error) protocol.Answer {
	if noRoom(err) {
		return protocol.Answer{Result: protocol.DiskFull}
	}
	return failed(err.Error())
}

func readText(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(data)
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// names lists a directory.
func names(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, _ := f.Readdirnames(-1)
	return all
}

// splitZero splits a text whose parts end with a zero byte.
func splitZero(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
}

// within calls done until it reports true or the time is over.
func within(limit time.Duration, done func() bool) bool {
	for until := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		if done() {
			return true
		}
		if time.Now().After(until) {
			return false
		}
	}
}

// oomKills is how many processes the kernel has killed for want of memory.
func oomKills(counter string) int {
	files := []string{"/proc/vmstat"}
	switch counter {
	case "cgroup":
		files = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}
	case "vmstat":
	default:
		return 0
	}
	for _, file := range files {
		for _, line := range strings.Split(readText(file), "\n") {
			if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
				n, _ := strconv.Atoi(count)
				return n
			}
		}
	}
	return 0
}
