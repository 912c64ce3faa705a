//go:build linux

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// startPatience is how long a launched program may take to begin.
const startPatience = 12 * time.Second

// launch starts a program that outlives its owner, unless it was started before.
func launch(r protocol.Request) protocol.Answer {
	if !owned(r.Token) {
		return protocol.Answer{Result: protocol.Gone}
	}
	if err := os.MkdirAll(launchedDir, 0o700); err != nil {
		return inState(err)
	}
	j := outliving(r.ID)
	first, err := j.claim()
	if err != nil {
		return inState(err)
	}
	if first {
		if len(allProcesses().ofLaunched()) > 0 {
			_ = os.WriteFile(j.file("other"), nil, 0o600)
			return protocol.Answer{Result: protocol.Busy}
		}
		forgetOthers(j)
		if _, err := startSupervisor(verbOutlive); err != nil {
			return protocol.Answer{Result: protocol.Lost, Detail: err.Error()}
		}
	}
	within(startPatience, func() bool {
		return exists(j.file("up")) || exists(j.file("other")) || j.orphaned()
	})
	switch {
	case exists(j.file("up")):
		return protocol.Answer{Result: protocol.OK}
	case exists(j.file("other")):
		return protocol.Answer{Result: protocol.Busy}
	}
	return protocol.Answer{Result: protocol.Lost, Detail: "its supervisor ended"}
}

// forgetOthers removes the files of what was launched before.
func forgetOthers(j job) {
	for _, name := range names(launchedDir) {
		if !strings.HasPrefix(name, j.id+".") {
			_ = os.Remove(launchedDir + "/" + name)
		}
	}
}

// outlive is the life of a launched program's supervisor. It ends with the last of the
// program's descendants, all of which it adopts.
func outlive(r protocol.Request) {
	syscall.CloseOnExec(newsFd)
	defaultSignals()
	j := outliving(r.ID)
	if err := os.WriteFile(j.file("pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil || !owned(r.Token) {
		os.Exit(1)
	}
	adoptOrphans()
	setMark(strconv.Itoa(launchedMark))
	spareThreads()
	if os.WriteFile(j.file("up"), nil, 0o600) != nil {
		os.Exit(1)
	}
	pid, err := startProgram(j, r, []int{0, 1, 2})
	if err != nil {
		os.Exit(1)
	}
	ignoreSignals()
	awaitLaunched(pid, time.Duration(r.TimeoutMS)*time.Millisecond)
	os.Exit(0)
}

// awaitLaunched returns when a launched program and all it left behind have ended. It ends
// them when the time is over, 0 for none.
func awaitLaunched(pid int, limit time.Duration) {
	began := time.Now()
	for handle := processHandle(pid); reapAny(); {
		wait := time.Second
		if handle < 0 { // nothing tells the end of what the program left behind
			wait = 50 * time.Millisecond
		}
		if limit > 0 {
			left := limit - time.Since(began)
			if left <= 0 {
				endTree(func() { reapAny() }, func(all processes) set {
					return all.below(os.Getpid()).with(all.marked(func(m uint64) bool { return m == launchedMark }))
				}, 30*time.Second)
				return
			}
			wait = min(wait, left)
		}
		fds := []pollFd{{fd: int32(handle), events: pollIn}} //nolint:gosec // a descriptor, or -1
		if poll(fds, wait); fds[0].revents != 0 {
			closeFd(handle)
			handle = -1
		}
	}
}

// reapAny collects the children that ended. It reports false if there are none left.
func reapAny() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil && err != syscall.EINTR {
			return false
		}
		if pid == 0 {
			return true
		}
	}
}

// launched answers busy if anything that was launched runs.
func launched(r protocol.Request) protocol.Answer {
	switch {
	case !owned(r.Token):
		return protocol.Answer{Result: protocol.Gone}
	case len(allProcesses().ofLaunched()) > 0:
		return protocol.Answer{Result: protocol.Busy}
	}
	return protocol.Answer{Result: protocol.OK}
}

// halt ends what was launched. With an id it is for a launch that went wrong, and ends
// only that one, which then never begins.
func halt(r protocol.Request, meanwhile func()) protocol.Answer {
	if !owned(r.Token) {
		return protocol.Answer{Result: protocol.Gone}
	}
	if r.ID != "" {
		j := outliving(r.ID)
		if first, err := j.claim(); first || err != nil {
			return protocol.Answer{Result: protocol.OK}
		}
		within(6*time.Second, func() bool {
			meanwhile()
			return exists(j.file("up")) || exists(j.file("other")) || j.orphaned()
		})
		if exists(j.file("other")) {
			return protocol.Answer{Result: protocol.OK}
		}
	}
	endTree(meanwhile, processes.ofLaunched, endTime)
	if len(allProcesses().ofLaunched()) > 0 {
		return failed("it still runs")
	}
	return protocol.Answer{Result: protocol.OK}
}
