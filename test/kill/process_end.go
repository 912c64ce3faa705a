package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/test/program"
)

// killByTime kills or stops at a time, not at a place.
func (e *episode) killByTime() {
	if p := e.point; p.spec.Name == moment && !e.reached && !e.started.IsZero() &&
		time.Since(e.started) >= time.Duration(p.spec.Nth)*time.Millisecond {
		e.reached = true
		if p.spec.Action == failpoint.Stop {
			e.proc.Signal(syscall.SIGSTOP)
		} else {
			e.proc.Kill()
		}
	}
	if !e.secondAt.IsZero() && time.Now().After(e.secondAt) {
		e.secondAt = time.Time{}
		e.proc.Kill()
	}
}

// noteExit notes how the program ended when nobody asked it to.
func (e *episode) noteExit() {
	p := e.proc
	switch {
	case p.Killed, p.Crashed():
	case p.Code() == program.ExitLeaseLost: // also for want of processor time
	default:
		e.wrong("the program ended by itself, code %d: %s", p.Code(), p.Last())
	}
	e.crashes++
	if p.Armed {
		e.reached = true
	}
	e.checkLateWrites(p)
	e.continued = time.Time{}
}

// checkLateWrites finds visible writes by a process that had lost its lease. Writes are
// made one at a time: one may have been on its way when the process was stopped,
// unless it was stopped before the call, and no other may follow.
func (e *episode) checkLateWrites(p *program.Process) {
	if e.continued.IsZero() {
		return
	}
	var late []string
	for _, r := range e.hub.History() {
		write := r.Kind == "request" && r.Status < 300 && !strings.Contains(r.Path, "/access_tokens") && !strings.Contains(r.Path, "/installation/token")
		object := strings.HasSuffix(r.Path, "/git/blobs") || strings.HasSuffix(r.Path, "/git/trees") || strings.HasSuffix(r.Path, "/git/commits")
		if write && !object && !strings.HasSuffix(r.Path, "/git-upload-pack") && r.Time.After(e.continued) && r.Time.Before(p.Ended) {
			late = append(late, r.Method+" "+r.Path)
		}
	}
	allowed := 1
	if name := e.point.spec.Name; strings.HasPrefix(name, "store.claim-effect.") || strings.HasPrefix(name, "store.send-effect.") {
		allowed = 0
	}
	if len(late) > allowed {
		e.doubled = append(e.doubled, fmt.Sprintf("a process whose lease was over wrote to GitHub: %s", strings.Join(late, ", ")))
	}
}

// resume continues a process that a point stopped, after longer than its lease.
func (e *episode) resume(armed bool) {
	if !armed && e.point.spec.Name != moment || !e.proc.Stopped() {
		return
	}
	e.reached = true
	pause(context.Background(), e.pace.stall)
	e.crashes++                 // a call that was under way may be made again
	if e.proc.Address() != "" { // before it listens it has no lease to lose
		e.continued = time.Now()
	}
	e.proc.Signal(syscall.SIGCONT)
}
