//go:build linux

package main

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// first is the first process of a container, or of namespaces that have no engine. It
// collects what has lost its parent, keeps the forwarder running, takes calls at a socket
// if it has one, and ends when the container's time is over. Nobody inside can kill it.
//
// It does everything in one goroutine, so that it needs no new thread later.
type first struct {
	request  protocol.Request
	began    time.Time
	children map[int]child // by their process ids

	forwarder int // its process id, 0 if it does not run
	forwarded time.Time
}

// child is a process that the first one started.
type child struct {
	handle int // tells its end; see processHandle
	caller int // connection that waits for its exit code, -1 for none
}

const (
	// tick is how often it looks for processes that have lost their parents.
	tick = time.Second
	// shortTick takes its place where the kernel does not tell that a child ended. A
	// forwarder that ended is started again after it.
	shortTick = 100 * time.Millisecond
)

func initContainer(r protocol.Request) {
	if os.Getenv("GOMAXPROCS") != "1" { // it must need no thread later
		_ = syscall.Exec(self, os.Args, append([]string{oneProcessor}, machineEnv()...))
	}
	ignoreSignals()
	spareThreads()
	if r.Listen > 0 {
		hideMemory()
		syscall.CloseOnExec(int(r.Listen))
		_ = syscall.SetNonblock(int(r.Listen), true)
	}
	f := &first{request: r, began: time.Now(), children: map[int]child{}}
	for r.Life == 0 || time.Since(f.began) < time.Duration(r.Life)*time.Second {
		f.keepForwarding()
		f.wait()
		f.reap()
		f.accept()
	}
	os.Exit(0)
}

// work is what has to go on while a call is served.
func (f *first) work() {
	f.reap()
	f.keepForwarding()
}

// wait returns when there is something to do.
func (f *first) wait() {
	var fds []pollFd
	wait := tick
	if len(f.request.Ways) > 0 && f.forwarder == 0 {
		wait = shortTick
	}
	if f.request.Listen > 0 {
		fds = append(fds, pollFd{fd: int32(f.request.Listen), events: pollIn}) //nolint:gosec // a descriptor
	}
	for _, c := range f.children {
		fds = append(fds, pollFd{fd: int32(c.handle), events: pollIn}) //nolint:gosec // a descriptor, or -1
		if c.handle < 0 {
			wait = shortTick
		}
	}
	poll(append(fds, pollFd{fd: -1}), wait)
}

// reap collects processes that ended, and tells the exit codes.
func (f *first) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		c, known := f.children[pid]
		if !known {
			continue
		}
		delete(f.children, pid)
		closeFd(c.handle)
		if pid == f.forwarder {
			f.forwarder = 0
		}
		tell(c.caller, exitCode(status))
	}
}

// tell answers a call with an exit code.
func tell(caller, code int) {
	if caller >= 0 {
		_, _ = syscall.Write(caller, []byte(strconv.Itoa(code)))
		closeFd(caller)
	}
}

// start starts this program once more.
func (f *first) start(caller int, argv []string, files []uintptr) (int, error) {
	pid, err := syscall.ForkExec(self, append([]string{os.Args[0]}, argv...), &syscall.ProcAttr{Env: machineEnv(), Files: files})
	if err == nil {
		f.children[pid] = child{handle: processHandle(pid), caller: caller}
	}
	return pid, err
}

// keepForwarding starts the forwarder if it does not run. It needs more than one thread.
func (f *first) keepForwarding() {
	if len(f.request.Ways) == 0 || f.forwarder != 0 || time.Since(f.forwarded) < shortTick {
		return
	}
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer closeFd(null)
	f.forwarded = time.Now()
	fd := uintptr(null)
	f.forwarder, _ = f.start(-1, append([]string{verbForward}, os.Args[2:]...), []uintptr{fd, fd, fd})
}

// accept takes the call of who waits at the socket.
func (f *first) accept() {
	if f.request.Listen == 0 {
		return
	}
	conn, _, err := syscall.Accept4(int(f.request.Listen), syscall.SOCK_CLOEXEC)
	if err != nil {
		return
	}
	limit := syscall.Timeval{Sec: 5} // for a caller that was stopped before it spoke
	_ = syscall.SetsockoptTimeval(conn, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit)
	kind, verb, files := receiveCall(conn)
	if !f.answerCall(conn, kind, verb, files) {
		closeFd(conn) // the caller sees that there was no answer
	}
	for _, fd := range files {
		closeFd(fd)
	}
}

// receiveCall reads a call; see protocol.CallStart.
func receiveCall(conn int) (kind byte, verb string, files []int) {
	buf, rights := make([]byte, 64), make([]byte, syscall.CmsgSpace(4*protocol.CallFiles))
	n, rightsLen, _, _, err := syscall.Recvmsg(conn, buf, rights, syscall.MSG_CMSG_CLOEXEC)
	for err == syscall.EINTR { // a child ended; with a time limit the kernel does not go on by itself
		n, rightsLen, _, _, err = syscall.Recvmsg(conn, buf, rights, syscall.MSG_CMSG_CLOEXEC)
	}
	if err != nil || n < 1 {
		return 0, "", nil
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:rightsLen])
	if err != nil || len(messages) != 1 {
		return 0, "", nil
	}
	files, _ = syscall.ParseUnixRights(&messages[0])
	return buf[0], string(buf[1:n]), files
}

// requestFd is where a program that the first process starts finds the items of its request.
const requestFd = 4

// requestItem names such a file.
func requestItem(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// answerCall serves a call, or starts a process that does. It reports false if it cannot.
func (f *first) answerCall(conn int, kind byte, verb string, files []int) bool {
	if len(files) != protocol.CallFiles {
		return false
	}
	if kind == protocol.CallStart {
		_, err := f.start(conn, []string{verb, "request=" + requestItem(requestFd)}, []uintptr{
			uintptr(files[1]), uintptr(files[2]), uintptr(files[3]), ^uintptr(0), uintptr(files[0]),
		})
		return err == nil
	}
	r := protocol.Request{Verb: verb}
	if err := read(&r, []string{"request=" + requestItem(files[0])}); err != nil {
		return false
	}
	text := serve(r, f.work).String()
	if _, err := syscall.Write(files[2], append(protocol.Head(protocol.FrameEnd, len(text)), text...)); err != nil {
		return false
	}
	tell(conn, 0)
	return true
}
