package primesim

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/yudai-dev/yudai/test/machine"
)

// Statuses of a sandbox. The last three are final.
const (
	StatusPending      = "PENDING"
	StatusProvisioning = "PROVISIONING"
	StatusRunning      = "RUNNING"
	StatusError        = "ERROR"
	StatusTerminated   = "TERMINATED"
	StatusTimeout      = "TIMEOUT"
)

// box is one sandbox, from its create on; it stays known after its end.
type box struct {
	id, user, job string
	req           createRequest
	image         *image // nil for one that does not exist
	from          *checkpoint
	tip           *checkpoint // the last checkpoint taken of it

	status             string
	errorType, message string
	failType           string // how the boot is to fail, "" if it succeeds
	build              string // the image build that it waits for
	created, updated   time.Time
	started, ended     time.Time
	ready              time.Time // when the next status before RUNNING is due
	reach              time.Time // when the gateway knows it
	used               time.Time // last use through the gateway
	deleted            bool
	starts             int

	egress   egress
	machine  *machine.Machine
	booted   bool
	sessions map[string]*session // by session_uuid, or "pid N" without one
	gone     chan struct{}       // closed with its end
}

// image is an image and when its machine image is there, the zero time while nobody used it.
type image struct {
	Image
	built time.Time
	build string
}

// over reports whether the sandbox has ended.
func (b *box) over() bool {
	return b.status == StatusError || b.status == StatusTerminated || b.status == StatusTimeout
}

// running counts the commands that have not ended.
func (b *box) running() int {
	n := 0
	for _, c := range b.sessions {
		if !c.over() {
			n++
		}
	}
	return n
}

// step brings a sandbox to what the clock says, and returns when it wants to be
// asked again; the zero time is never.
func (s *Server) step(b *box, now time.Time) time.Time {
	for !b.over() {
		switch b.status {
		case StatusPending:
			if now.Before(b.ready) {
				return b.ready
			}
			b.build = ""
			if b.failType != "" {
				s.end(b, StatusError, b.failType, failText(b.failType, b.req.DockerImage))
				return time.Time{}
			}
			b.status, b.ready, b.updated = StatusProvisioning, now.Add(s.o.Provision), now
			s.work.Go(func() { s.boot(b) })
		case StatusProvisioning:
			if !b.booted {
				return time.Time{} // the boot kicks
			}
			if now.Before(b.ready) {
				return b.ready
			}
			b.status, b.started, b.updated, b.used = StatusRunning, now, now, now
			b.reach, b.egress.due = now.Add(s.o.Reach), now.Add(s.o.Apply)
		default:
			return s.alive(b, now)
		}
	}
	return time.Time{}
}

func failText(errorType, image string) string {
	if errorType == "IMAGE_PULL_FAILED" {
		return fmt.Sprintf("image %q could not be pulled", image)
	}
	return "the sandbox failed: " + errorType
}

// alive looks after a running sandbox: its deadlines and its egress policy.
func (s *Server) alive(b *box, now time.Time) time.Time {
	next := time.Time{}
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if b.running() > 0 {
		b.used = now
	}
	if m := b.req.TimeoutMinutes; m > 0 {
		deadline := b.started.Add(time.Duration(m) * time.Minute)
		if !now.Before(deadline) {
			s.end(b, StatusTimeout, "TIMEOUT", "the sandbox reached its timeout")
			return time.Time{}
		}
		sooner(deadline)
	}
	if m := b.req.IdleTimeoutMinutes; m != nil {
		deadline := b.used.Add(time.Duration(*m) * time.Minute)
		if !now.Before(deadline) {
			s.end(b, StatusTerminated, "", "idle timeout")
			return time.Time{}
		}
		sooner(deadline)
	}
	if e := &b.egress; !s.holdEgress && e.applied < e.generation {
		if !now.Before(e.due) {
			e.applied, e.inForce.allow, e.inForce.deny = e.generation, e.allow, e.deny
		} else {
			sooner(e.due)
		}
	}
	return next
}

// boot starts the machine of a sandbox.
func (s *Server) boot(b *box) {
	o := machine.Options{
		Dir: filepath.Join(s.dir, b.id), DiskBytes: s.o.DiskBytes, Hide: b.image.Hide, Hostname: b.id,
		Hosts: s.o.Hosts, Allowed: func() []string { return s.allowed(b) },
	}
	if b.from != nil {
		o.From = b.from.dir
	}
	m, err := machine.Start(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.from != nil {
		b.from.uses--
		s.discard(b.from)
	}
	switch {
	case err != nil && !b.over():
		s.end(b, StatusError, "RUNTIME_ERROR", err.Error())
	case err == nil && b.over():
		s.work.Go(func() { _ = m.Close() })
	case err == nil:
		b.machine, b.booted = m, true
		s.wake()
	}
}

// end ends a sandbox for good.
func (s *Server) end(b *box, status, errorType, message string) {
	if b.over() {
		return
	}
	now := s.now()
	b.status, b.errorType, b.message, b.ended, b.updated = status, errorType, message, now, now
	close(b.gone)
	if m := b.machine; m != nil {
		b.machine = nil
		s.work.Go(func() { _ = m.Close() })
	}
}
