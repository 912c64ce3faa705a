//go:build linux

package main

import (
	"os"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// initContainer is the first process of a container. It collects what has lost its
// parent, keeps a helper running, and ends when the container's time is over. Nobody in
// the container can kill it.
func initContainer(r protocol.Request) {
	if os.Getenv("GOMAXPROCS") != "1" { // it must need no thread later
		_ = syscall.Exec(self, os.Args, append([]string{oneProcessor}, machineEnv()...))
	}
	ignoreSignals()
	helper := 0
	for began := time.Now(); r.Life == 0 || time.Since(began) < time.Duration(r.Life)*time.Second; time.Sleep(100 * time.Millisecond) {
		reapAny()
		if len(r.Argv) > 0 && (helper == 0 || !living(helper)) {
			helper = startHelper(r.Argv)
		}
	}
	os.Exit(0)
}

func startHelper(argv []string) int {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(null)
	fd := uintptr(null)
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: machineEnv(), Files: []uintptr{fd, fd, fd}})
	if err != nil {
		return 0
	}
	return pid
}
