//go:build linux

package main

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

const (
	sysPidfdOpen      = 434
	setChildSubreaper = 36
	pollIn            = 1
)

// pollFd is struct pollfd; one with a negative descriptor is passed over.
type pollFd struct {
	fd      int32
	events  int16
	revents int16
}

// poll waits until a descriptor has something to read, or the time is over.
func poll(fds []pollFd, wait time.Duration) {
	t := syscall.NsecToTimespec(wait.Nanoseconds())
	_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)),
		uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

// processHandle is a descriptor that can be read when the process has ended, -1 where
// the kernel has no such thing.
func processHandle(pid int) int {
	fd, _, err := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if err != 0 {
		return -1
	}
	return int(fd)
}

// adoptOrphans makes this process the parent of descendants whose own parents end.
func adoptOrphans() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
}

// ignoreSignals lets every signal pass that can be ignored. The children of this process
// would ignore them, too: it is called when they run, or they call defaultSignals.
func ignoreSignals() {
	for s := syscall.Signal(1); s < 32; s++ {
		switch s {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG: // Go's scheduler uses the last
		default:
			onSignal(s, 1)
		}
	}
}

// defaultSignals undoes what the process that started this one ignores. Of all other
// signals Go takes care.
func defaultSignals() {
	for _, s := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
	} {
		onSignal(s, 0)
	}
}

// onSignal sets a signal's handler: 0 is the kernel's own, 1 is none.
func onSignal(s syscall.Signal, handler uintptr) {
	action := struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}{handler: handler}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
}

// hideMemory keeps other processes of the same user away from this one's memory.
func hideMemory() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0) }

// spareThreads makes Go start the threads that this process will ever need: a blocked
// goroutine that holds its thread makes it start another one.
func spareThreads() {
	ready, over := make(chan bool), make(chan bool)
	go func() {
		runtime.LockOSThread()
		ready <- true
		<-over
		runtime.UnlockOSThread()
	}()
	<-ready
	runtime.Gosched()
	close(over)
}

// closeFd closes a descriptor whose end nobody waits for.
func closeFd(fd int) { _ = syscall.Close(fd) }
