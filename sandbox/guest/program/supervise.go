//go:build linux

package main

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// newsFd is the supervisor's end of the pipe of startSupervisor.
const newsFd = 3

// supervise is the life of a command's supervisor. All processes of the command are its
// descendants: it adopts those whose parents ended.
func supervise(r protocol.Request) {
	syscall.CloseOnExec(newsFd)
	defaultSignals()
	j := command(r.ID)
	if err := os.WriteFile(j.file("pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil || !owned(r.Token) {
		os.Exit(1) // whoever attaches finds the number, or this finds a new owner
	}
	adoptOrphans()
	setMark(r.ID)
	spareThreads()
	s := &supervisor{job: j, request: r, began: time.Now()}
	s.write(s.run())
	os.Exit(0)
}

// supervisor runs one command and writes down what it prints and how it ends.
//
// It does everything in one goroutine, so that it needs no new thread later.
type supervisor struct {
	job     job
	request protocol.Request
	began   time.Time

	main    int // the command's first process
	handle  int // a descriptor that tells its end, -1 where the kernel has none
	status  syscall.WaitStatus
	ended   bool
	late    bool
	streams []*stream
}

// run runs the command to its end.
func (s *supervisor) run() protocol.Answer {
	before, _ := strconv.Atoi(readText(oomFile))
	if err := s.start(); err != nil {
		return startAnswer(err)
	}
	s.await()
	s.endRest()
	a := protocol.Answer{Result: protocol.OK, Exited: true, Code: exitCode(s.status)}
	if s.late {
		a.TimedOut, a.Code = true, -1
	}
	if a.Code != 0 {
		if now := oomKills(s.request.OOM); now > before {
			a.OOM = true
			_ = os.WriteFile(oomFile, []byte(strconv.Itoa(now)), 0o600)
		}
	}
	for _, t := range s.streams {
		if t.full {
			a.Result = protocol.DiskFull
		}
	}
	return a
}

// startAnswer is how a command ends that cannot be started.
func startAnswer(err error) protocol.Answer {
	switch err := err.(type) { //nolint:errorlint // our own, never wrapped
	case cannotRun:
		return protocol.Answer{Result: protocol.OK, Exited: true, Code: err.code}
	default:
		if noRoom(err) {
			return protocol.Answer{Result: protocol.DiskFull}
		}
		return protocol.Answer{Result: protocol.Lost, Detail: err.Error()}
	}
}

// start opens the streams and starts the command.
func (s *supervisor) start() error {
	files, err := s.open()
	if err != nil {
		return err
	}
	s.main, err = startProgram(s.job, s.request, files)
	for _, fd := range files {
		closeFd(fd)
	}
	if err, ok := err.(cannotRun); ok { //nolint:errorlint // our own, never wrapped
		s.explain(err)
	}
	if err != nil {
		return err
	}
	ignoreSignals() // not before: a child would ignore them, too
	s.handle = processHandle(s.main)
	return nil
}

// explain shows why a program cannot be run where a shell would.
func (s *supervisor) explain(err cannotRun) {
	if len(s.streams) > 0 {
		s.streams[len(s.streams)-1].keep([]byte("yudai: " + err.why + "\n"))
	}
}

// open makes the files and pipes of the streams, and returns the command's descriptors.
func (s *supervisor) open() ([]int, error) {
	in := "/dev/null"
	if exists(s.job.file("in")) {
		in = s.job.file("in")
	}
	var files []int
	fd, err := syscall.Open(in, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	files = append(files, fd)
	keep := s.request.Keep
	for _, name := range []string{"out", "err"} {
		var fd int
		switch {
		case name == "err" && keep == "one":
			fd, err = syscall.Dup(files[1])
			syscall.CloseOnExec(fd)
		case keep == name || keep == "both" || keep == "one":
			fd, err = s.openStream(name)
		default:
			fd, err = syscall.Open("/dev/null", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, fd)
	}
	return files, nil
}

func (s *supervisor) openStream(name string) (int, error) {
	f, err := os.OpenFile(s.job.file(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return -1, err
	}
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return -1, err
	}
	if err := syscall.SetNonblock(pipe[0], true); err != nil {
		return -1, err
	}
	s.streams = append(s.streams, &stream{pipe: pipe[0], file: f, left: s.request.Max})
	return pipe[1], nil
}

// deadline returns how long the command may go on, and whether there is a limit.
func (s *supervisor) deadline() (time.Duration, bool) {
	if s.request.TimeoutMS <= 0 {
		return 0, false
	}
	return max(0, time.Duration(s.request.TimeoutMS)*time.Millisecond-time.Since(s.began)), true
}

// await returns when the command's first process has ended, or its time is over.
func (s *supervisor) await() {
	for !s.ended && !s.late {
		wait := 200 * time.Millisecond // orphans of ours may have ended meanwhile
		if s.handle < 0 {
			wait = 5 * time.Millisecond
		}
		left, limited := s.deadline()
		if limited {
			wait = min(wait, left)
		}
		s.poll(wait)
		s.reap()
		s.late = limited && left == 0 && !s.ended
	}
}

// poll writes down what comes in that time; it returns when something has happened.
func (s *supervisor) poll(wait time.Duration) {
	var fds []pollFd
	for _, t := range s.streams {
		fds = append(fds, pollFd{fd: int32(t.pipe), events: pollIn}) //nolint:gosec // a descriptor, or -1
	}
	poll(append(fds, pollFd{fd: int32(s.handle), events: pollIn}), wait) //nolint:gosec // the same
	for _, t := range s.streams {
		if t.drain() {
			_, _ = syscall.Write(newsFd, []byte{1})
		}
	}
}

// reap collects processes that ended. It reports false if there are none left at all.
func (s *supervisor) reap() bool {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return false
		case pid == 0:
			return true
		case pid == s.main:
			s.status, s.ended = status, true
		}
	}
}

// endRest ends what the command left behind, and keeps the last of its output.
func (s *supervisor) endRest() {
	if s.late || s.reap() { // most commands leave nothing behind, and no process is looked at
		endTree(func() { s.reap() }, func(all processes) set { return all.ofCommand(s.job).with(all.strays()) }, 10*time.Second)
	}
	for until := time.Now().Add(2 * time.Second); s.writable() && time.Now().Before(until); {
		s.poll(50 * time.Millisecond)
		s.reap()
	}
	if !s.ended && s.late {
		s.status = syscall.WaitStatus(syscall.SIGKILL)
	}
}

// writable reports whether somebody may still write.
func (s *supervisor) writable() bool {
	for _, t := range s.streams {
		if t.pipe >= 0 {
			return true
		}
	}
	return false
}

// write writes down how the command ended. Where there is no room the output makes some.
func (s *supervisor) write(a protocol.Answer) {
	err := os.WriteFile(s.job.file("rc"), []byte(a.String()), 0o600)
	if err != nil {
		for _, t := range s.streams {
			_ = t.file.Truncate(0)
		}
		_ = os.WriteFile(s.job.file("rc"), []byte(a.String()), 0o600)
	}
}

// stream is one of the command's outputs on its way into a file.
type stream struct {
	pipe int // -1 when nobody can write any more
	file *os.File
	left int64 // how many bytes are still kept
	full bool  // the disk is
}

// atOnce is how much is moved before anything else is looked at: a command that never
// stops printing ends by its timeout all the same.
const atOnce = 1 << 20

// drain moves what is there. It reports whether there was anything.
func (t *stream) drain() (moved bool) {
	if t.pipe < 0 {
		return false
	}
	var buf [64 << 10]byte
	for range atOnce / len(buf) {
		n, err := syscall.Read(t.pipe, buf[:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return moved
		case err != nil || n == 0:
			closeFd(t.pipe)
			t.pipe = -1
			return moved
		}
		t.keep(buf[:n])
		moved = true
	}
	return moved
}

// keep writes as much as is kept.
func (t *stream) keep(data []byte) {
	data = data[:min(int64(len(data)), t.left)]
	t.left -= int64(len(data))
	if _, err := t.file.Write(data); err != nil {
		t.full = t.full || noRoom(err)
	}
}

// exitCode is the code that a shell reports.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
