package e2bsim

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Call names what a request asks for.
type Call string

// The calls: those of the control plane, then those of a sandbox.
const (
	Any         Call = ""
	AnyControl  Call = "any of the control plane"
	AnySandbox  Call = "any of a sandbox"
	CallCreate  Call = "create"
	CallGet     Call = "get"
	CallList    Call = "list"
	CallKill    Call = "kill"
	CallTimeout Call = "timeout"
	CallRefresh Call = "refresh"
	CallConnect Call = "connect"
	CallPause   Call = "pause"
	CallResume  Call = "resume"
	CallFork    Call = "fork"
	CallCapture Call = "snapshot"
	CallStored  Call = "list snapshots"
	CallNetwork Call = "network"
	CallLogs    Call = "logs"
	CallMetrics Call = "metrics"

	CallTemplate  Call = "new template"
	CallTemplates Call = "list templates"
	CallFile      Call = "file of a template"
	CallUpload    Call = "upload for a template"
	CallBuild     Call = "build"
	CallStatus    Call = "build status"
	CallDelete    Call = "delete template"
	CallAlias     Call = "alias or tags of a template"
	CallTags      Call = "change of tags"

	CallStart      Call = "start"  // of a process
	CallAttach     Call = "attach" // to a process
	CallProcesses  Call = "list processes"
	CallSignal     Call = "signal"
	CallInput      Call = "input"
	CallFilesystem Call = "filesystem"
	CallRead       Call = "read file"
	CallWrite      Call = "write file"
	CallCompose    Call = "compose"
	CallHealth     Call = "health"
	CallOther      Call = "other of a sandbox"
)

// control reports whether the call is one of the control plane.
func (c Call) control() bool {
	switch c {
	case CallStart, CallAttach, CallProcesses, CallSignal, CallInput, CallFilesystem, CallRead, CallWrite, CallCompose, CallHealth, CallOther:
		return false
	}
	return true
}

// FaultKind is one way for a call to go wrong.
type FaultKind string

// The ways.
const (
	FaultStatus     FaultKind = "status"      // Status with Message, without effect
	FaultLostStatus FaultKind = "lost status" // the same after the effect
	FaultRate       FaultKind = "rate"        // 429 with Retry-After, without effect
	FaultCapacity   FaultKind = "capacity"    // 429 without: no slot is free
	FaultDrop       FaultKind = "drop"        // connection closed, without effect
	FaultLost       FaultKind = "lost"        // connection closed, after the effect
	FaultSlow       FaultKind = "slow"        // Delay first
	FaultHang       FaultKind = "hang"        // no answer until the client gives up, without effect
	FaultKill       FaultKind = "kill"        // the sandbox dies before the call; with Frames, when so many of a stream are out
	FaultCut        FaultKind = "cut"         // a stream of a process is cut after Frames frames
	FaultStall      FaultKind = "stall"       // it says nothing more after Frames frames, and stays open
	FaultFail       FaultKind = "fail"        // one copy of a fork, or a build, fails with Message
	FaultFull       FaultKind = "full"        // 507, the disk is full
)

// Fault is one thing that goes wrong.
type Fault struct {
	Kind    FaultKind
	On      Call
	Sandbox string // id of the sandbox that is concerned, "" for all
	// Nth is the first matching call that goes wrong, from 1 (0 is 1), and Count how
	// many do (0 is 1, negative is all from then on).
	Nth, Count int
	Status     int
	Message    string
	Slug       string // error_code
	RetryAfter int    // seconds
	Delay      time.Duration
	Frames     int
}

// Injection is a fault in force.
type Injection struct {
	s          *Server
	fault      Fault
	seen, hits int
}

// Inject puts a fault in force. A call that several hit goes wrong in the way of
// the first, and counts for all.
func (s *Server) Inject(f Fault) *Injection {
	in := &Injection{s: s, fault: f}
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

// Remove ends the fault. Streams that stall by it go on stalling.
func (in *Injection) Remove() {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	in.s.faults = slices.DeleteFunc(in.s.faults, func(f *Injection) bool { return f == in })
}

// match counts a call and returns the fault that hits it, if any.
func (s *Server) match(c Call, box string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c]++
	var hit *Fault
	for _, in := range s.faults {
		f := in.fault
		class := f.On == Any || f.On == c || f.On == AnyControl && c.control() || f.On == AnySandbox && !c.control()
		if !class || f.Sandbox != "" && f.Sandbox != box {
			continue
		}
		in.seen++
		first, count := max(f.Nth, 1), f.Count
		if count == 0 {
			count = 1
		}
		if in.seen < first || count > 0 && in.seen >= first+count {
			continue
		}
		if hit == nil {
			in.hits++
			hit = &f
		}
	}
	return hit
}

// faultKey is the fault that a stream has to act out, in its context.
type faultKey struct{}

func faultOf(ctx context.Context) *Fault {
	f, _ := ctx.Value(faultKey{}).(*Fault)
	return f
}

// disturbed serves a call as its fault, if any, wants it.
func (s *Server) disturbed(c Call, box string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f := s.match(c, box)
		s.mu.Lock()
		latency := s.latency
		s.mu.Unlock()
		if f != nil && f.Kind == FaultSlow {
			latency += f.Delay
		}
		if !wait(r.Context(), latency) {
			panic(http.ErrAbortHandler)
		}
		if f == nil || f.Kind == FaultSlow {
			next(w, r)
			return
		}
		s.act(f, box, next, w, r)
	}
}

// act acts a fault out.
func (s *Server) act(f *Fault, box string, next http.HandlerFunc, w http.ResponseWriter, r *http.Request) {
	switch f.Kind {
	case FaultStatus:
		f.answer(w, f.Status)
	case FaultLostStatus:
		next(newVoid(), r)
		f.answer(w, f.Status)
	case FaultRate:
		h := w.Header()
		h.Set("Retry-After", strconv.Itoa(max(f.RetryAfter, 0)))
		h.Set("RateLimit-Limit", "1")
		h.Set("RateLimit-Remaining", "0")
		h.Set("RateLimit-Reset", strconv.Itoa(max(f.RetryAfter, 0)))
		f.answer(w, http.StatusTooManyRequests)
	case FaultCapacity:
		fail(w, http.StatusTooManyRequests, capacityText(s.o.Plan.Concurrent))
	case FaultFull:
		fail(w, http.StatusInsufficientStorage, "not enough disk space available")
	case FaultDrop:
		panic(http.ErrAbortHandler)
	case FaultLost:
		next(newVoid(), r)
		panic(http.ErrAbortHandler)
	case FaultHang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case FaultKill:
		if f.Frames == 0 {
			s.Kill(box)
		}
		next(w, r.WithContext(context.WithValue(r.Context(), faultKey{}, f)))
	default:
		next(w, r.WithContext(context.WithValue(r.Context(), faultKey{}, f)))
	}
}

func (f *Fault) answer(w http.ResponseWriter, status int) {
	message := f.Message
	if message == "" {
		message = http.StatusText(status)
	}
	failSlug(w, status, message, f.Slug)
}

// wait waits, and returns false if the context ended first.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// void takes an answer that nobody gets.
type void struct{ header http.Header }

func newVoid() void                      { return void{http.Header{}} }
func (v void) Header() http.Header       { return v.header }
func (void) WriteHeader(int)             {}
func (void) Flush()                      {}
func (void) Write(p []byte) (int, error) { return len(p), nil }

// Down shuts both doors, so that connections are refused and open ones are cut, or
// opens them again. The sandboxes live on meanwhile.
func (s *Server) Down(down bool) error {
	for _, d := range []*door{s.api, s.edge} {
		if down {
			d.close()
		} else if err := d.open(); err != nil {
			return fmt.Errorf("open the E2B stub again: %w", err)
		}
	}
	return nil
}

// Revoke makes an API key unknown.
func (s *Server) Revoke(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, key)
}

// SetLatency changes Options.Latency.
func (s *Server) SetLatency(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = d
}

// SilentDeath says whether the streams of sandboxes that die stay open without a
// word, as they may on the service, or are cut, which they are by default.
func (s *Server) SilentDeath(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
}

// Calls returns how often each call was made.
func (s *Server) Calls() map[Call]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// Complaints lists what a client did that harms the real service: a keepalive
// interval below one second crashes the daemon, an interval of zero included.
func (s *Server) Complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.complaints)
}

func (s *Server) complain(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complaints = append(s.complaints, text)
}
