//go:build linux

package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// execCommand starts a command unless it was started before, and shows its output from
// where the reader is. It answers when the command has ended.
func execCommand(r protocol.Request) protocol.Answer {
	if !owned(r.Token) {
		return protocol.Answer{Result: protocol.Gone}
	}
	j, news := command(r.ID), -1
	first, err := j.claim()
	if err != nil {
		return inState(err)
	}
	if first {
		for _, id := range r.Old {
			forget(id)
		}
		if news, err = startSupervisor(verbSupervise); err != nil {
			return protocol.Answer{Result: protocol.Lost, Detail: err.Error()}
		}
	}
	v := view{job: j, news: news, seen: [2]int64{r.SeenOut, r.SeenErr}}
	a := v.follow()
	if !owned(r.Token) { // the command may have ended by a new owner's hand
		return protocol.Answer{Result: protocol.Gone}
	}
	return a
}

// forget removes the files of a command that ended.
func forget(id string) {
	for _, name := range names(protocol.StateDir) {
		if strings.HasPrefix(name, id+".") {
			_ = os.Remove(protocol.StateDir + "/" + name)
		}
	}
}

// startSupervisor starts this program once more, with the same request, in a session of
// its own. It returns a descriptor on which the supervisor tells that there is news, and
// which ends with it.
//
// A fork bomb may take every place for a process while the supervisor runs. One
// processor for Go keeps the number of its threads fixed; see spareThreads.
func startSupervisor(verb string) (int, error) {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return -1, err
	}
	defer closeFd(pipe[1])
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer closeFd(null)
	argv := append([]string{os.Args[0], verb}, os.Args[2:]...)
	if marksWork() {
		argv = append(argv, marksItem)
	}
	files := []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(pipe[1])}
	if slices.Contains(argv, "request="+requestItem(requestFd)) {
		files = append(files, requestFd)
	}
	_, err = syscall.ForkExec(self, argv, &syscall.ProcAttr{
		Env: append([]string{oneProcessor}, machineEnv()...), Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	return pipe[0], err
}

// view shows the files with a command's output while they grow.
type view struct {
	job  job
	news int // see startSupervisor; -1 where another call started the command
	seen [2]int64
}

// patience is how long a supervisor may take to begin that another call started.
const patience = 5 * time.Second

func (v *view) follow() protocol.Answer {
	for began := time.Now(); ; v.wait() {
		// In this order: a supervisor that is seen to have ended has written everything,
		// and nothing comes after the end.
		pid := v.job.supervisor()
		running := pid != 0 && supervises(pid)
		ended := v.job.ended()
		v.show()
		switch {
		case ended:
			return v.end(running)
		case pid != 0 && !running, pid == 0 && v.news < 0 && time.Since(began) > patience:
			return v.lost()
		}
	}
}

// end reads how the command ended.
func (v *view) end(running bool) protocol.Answer {
	var text string
	within(patience, func() bool {
		text = readText(v.job.file("rc"))
		return text != "" || !running
	})
	if text == "" { // a file with nothing in it
		return protocol.Answer{Result: protocol.DiskFull}
	}
	a, err := protocol.ParseAnswer(text)
	if err != nil {
		return failed(err.Error())
	}
	return a
}

// lost is the answer where nobody will say how the command ended.
func (v *view) lost() protocol.Answer {
	if exists(v.job.file("pid")) && v.job.supervisor() == 0 {
		return protocol.Answer{Result: protocol.DiskFull} // there was no room to write it
	}
	return protocol.Answer{Result: protocol.Lost, Detail: "its supervisor ended"}
}

// wait returns when there may be news. Where nobody tells them it looks often.
func (v *view) wait() {
	if v.news < 0 {
		time.Sleep(20 * time.Millisecond)
		return
	}
	poll([]pollFd{{fd: int32(v.news), events: pollIn}}, time.Second) //nolint:gosec // a descriptor
	var buf [512]byte
	if n, err := syscall.Read(v.news, buf[:]); n == 0 && err == nil { // the supervisor ended
		closeFd(v.news)
		v.news = -1
	}
}

// show shows what the reader has not seen yet.
func (v *view) show() {
	for i, kind := range []byte{protocol.FrameOut, protocol.FrameErr} {
		f, err := os.Open(v.job.file([]string{"out", "err"}[i]))
		if err != nil {
			continue
		}
		buf := make([]byte, 64<<10)
		for {
			n, err := f.ReadAt(buf, v.seen[i])
			if n > 0 {
				show(kind, buf[:n])
				v.seen[i] += int64(n)
			}
			if err != nil {
				break
			}
		}
		_ = f.Close()
	}
}

// killCommand ends a command, or sees to it that it never starts.
func killCommand(r protocol.Request, meanwhile func()) protocol.Answer {
	j := command(r.ID)
	if first, err := j.claim(); first || err != nil {
		return protocol.Answer{Result: protocol.OK}
	}
	over := within(6*time.Second, func() bool {
		endTree(meanwhile, func(all processes) set { return all.ofCommand(j).with(all.strays()) }, time.Second)
		return j.ended() || j.orphaned()
	})
	if !over {
		return failed("it still runs")
	}
	return protocol.Answer{Result: protocol.OK}
}
