package primesim

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// FaultKind is one way for a call to go wrong.
type FaultKind string

// The ways. A status comes in the body that the service has for it.
const (
	FaultStatus     FaultKind = "status"      // Status, without effect; a 401 of the gateway also ends the token
	FaultLostStatus FaultKind = "lost status" // Status, after the effect
	FaultMissing    FaultKind = "missing"     // the gateway's 502 sandbox_not_found, without effect
	FaultDrop       FaultKind = "drop"        // connection closed, without effect
	FaultLost       FaultKind = "lost"        // connection closed, after the effect
	FaultSlow       FaultKind = "slow"        // Delay first
	FaultHang       FaultKind = "hang"        // no answer until the client gives up, without effect
	FaultCut        FaultKind = "cut"         // a command stream is cut after Frames frames
	FaultCutEnd     FaultKind = "cut end"     // a command stream is cut just before its last event
	FaultStall      FaultKind = "stall"       // a command stream is silent after Frames frames, and stays open
	FaultKill       FaultKind = "kill"        // the sandbox dies of Reason: before the call, or when Frames frames of its stream are out
	FaultFail       FaultKind = "fail"        // a create or checkpoint is accepted, then fails of Reason
)

// Fault is one thing that goes wrong.
type Fault struct {
	Kind FaultKind
	On   Call // [Any] for all
	// Sandbox is the name or id of the sandbox that is concerned, "" for all.
	Sandbox string
	// Nth is the first matching call that goes wrong, from 1 (0 is 1), and Count how
	// many do (0 is 1, negative is all from then on).
	Nth, Count int
	Status     int
	Delay      time.Duration
	Frames     int
	Reason     string // an error type, OOM_KILLED for instance
}

// Injection is a fault in force.
type Injection struct {
	s          *Server
	fault      Fault
	seen, hits int
	off        bool
	ended      chan struct{}
}

// faultState is what Inject and its kind keep.
type faultState struct {
	faults     []*Injection
	down       bool
	latency    time.Duration
	holdEgress bool
}

// Inject puts a fault in force. A call that several hit goes wrong in the way of the
// first, and counts for all.
func (s *Server) Inject(f Fault) *Injection {
	in := &Injection{s: s, fault: f, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, in)
	return in
}

// Hits is how many calls went wrong by it.
func (in *Injection) Hits() int {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	return in.hits
}

// Remove ends the fault; streams that it stalled go on.
func (in *Injection) Remove() {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	if !in.off {
		in.off = true
		close(in.ended)
	}
}

// SetDown makes the service unreachable, or reachable again: every connection is closed.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// SetLatency replaces Options.Latency.
func (s *Server) SetLatency(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = d
}

// SetEgressHeld keeps egress policies from being applied.
func (s *Server) SetEgressHeld(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holdEgress = held
	s.wake()
}

// SetKey makes an API key valid, or revokes it.
func (s *Server) SetKey(key string, valid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[key] = valid
}

// ExpireTokens makes every gateway token that is out invalid.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Kill ends a sandbox by its id, as by an operator (reason "") or by an error of that type.
func (s *Server) Kill(id, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b := s.byID[id]; {
	case b == nil:
	case reason == "":
		s.end(b, StatusTerminated, "", "killed")
	default:
		s.end(b, StatusError, reason, failText(reason, b.req.DockerImage))
	}
}

// FillDisk writes a file into a sandbox until its disk is full; Options.DiskBytes bounds it.
func (s *Server) FillDisk(id string) error {
	s.mu.Lock()
	b := s.byID[id]
	if b == nil || b.machine == nil || s.o.DiskBytes == 0 {
		s.mu.Unlock()
		return fmt.Errorf("fill the disk of %s: it does not run, or its disk is not bounded", id)
	}
	m := b.machine
	s.mu.Unlock()
	f, err := m.OpenFile("/var/tmp/fill", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("fill the disk of %s: %w", id, err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4096, 1} {
		for buf := make([]byte, size); err == nil; _, err = f.Write(buf) {
		}
		err = nil
	}
	return nil
}

// faultFor finds the first fault that hits a call; all that match count it.
func (s *Server) faultFor(c Call, b *box) (hit *Injection) {
	for _, in := range s.faults {
		f := in.fault
		if in.off || !f.On.matches(c) || f.Sandbox != "" && (b == nil || f.Sandbox != b.id && f.Sandbox != b.req.Name) {
			continue
		}
		in.seen++
		first, count := max(f.Nth, 1), f.Count
		if count == 0 {
			count = 1
		}
		if hit != nil || in.seen < first || count > 0 && in.seen >= first+count {
			continue
		}
		in.hits++
		hit = in
	}
	return hit
}

// before does what a fault does instead of the call, and reports whether it did.
func (in *Injection) before(w http.ResponseWriter, r *http.Request, c Call, b *box) bool {
	f := in.fault
	switch f.Kind {
	case FaultDrop:
		abort(r)
	case FaultHang:
		_, _ = io.Copy(io.Discard, r.Body) // only then is the client's leaving noticed
		select {
		case <-r.Context().Done():
		case <-in.ended:
		case <-in.s.stop:
		}
		abort(r)
	case FaultSlow:
		wait(r, f.Delay)
	case FaultStatus:
		if f.Status == http.StatusUnauthorized && c.gateway() {
			in.s.forget(r)
		}
		in.s.refuse(w, c, f.Status, "")
		return true
	case FaultMissing:
		refuseMissing(w, b)
		return true
	case FaultKill:
		if f.Frames == 0 && b != nil {
			in.s.Kill(b.id, f.Reason)
		}
	}
	return false
}

// abort closes the connection of a request without a (whole) answer.
func abort(r *http.Request) {
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<20))
	panic(http.ErrAbortHandler)
}

// wait waits unless the client leaves.
func wait(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}
