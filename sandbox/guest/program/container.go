//go:build linux

package main

import (
	"os"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// initContainer is the first process of a container. It collects what has lost its
// parent, keeps the forwarder running, and ends when the container's time is over. Nobody in
// the container can kill it.
func initContainer(r protocol.Request) {
	if os.Getenv("GOMAXPROCS") != "1" { // it must need no thread later
		_ = syscall.Exec(self, os.Args, append([]string{oneProcessor}, machineEnv()...))
	}
	ignoreSignals()
	forwarder := 0
	for began := time.Now(); r.Life == 0 || time.Since(began) < time.Duration(r.Life)*time.Second; time.Sleep(100 * time.Millisecond) {
		reapAny()
		if len(r.Ways) > 0 && (forwarder == 0 || !living(forwarder)) {
			forwarder = startForwarder()
		}
	}
	os.Exit(0)
}

// startForwarder starts this program once more, to forward. It needs more than one thread.
func startForwarder() int {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer closeFd(null)
	fd := uintptr(null)
	argv := append([]string{os.Args[0], verbForward}, os.Args[2:]...)
	pid, err := syscall.ForkExec(self, argv, &syscall.ProcAttr{Env: machineEnv(), Files: []uintptr{fd, fd, fd}})
	if err != nil {
		return 0
	}
	return pid
}
