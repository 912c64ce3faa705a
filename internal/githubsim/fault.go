package githubsim

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// FaultKind is one way for a request to go wrong.
type FaultKind string

// The faults GitHub is known for. "Before" means that the request had no
// effect; after a lost answer, a cut or a hang "after" it had.
const (
	FaultPrimary        FaultKind = "primary 403"              // rate limit used up; Retry is the time to the reset
	FaultPrimary429     FaultKind = "primary 429"              // the same, as a 429
	FaultSecondary      FaultKind = "secondary 403"            // secondary limit, known by its documentation address
	FaultSecondaryPlain FaultKind = "secondary 403 no address" // secondary limit that only its text tells
	FaultSecondary429   FaultKind = "secondary 429"
	FaultAbuse          FaultKind = "abuse 403"   // secondary limit in the words of the abuse detection mechanism
	FaultServerError    FaultKind = "5xx before"  // Status, else 502, before the effect
	FaultLostAnswer     FaultKind = "5xx after"   // Status, else 502, after the effect
	FaultCutBefore      FaultKind = "cut before"  // connection closed without effect
	FaultCutAfter       FaultKind = "cut after"   // connection closed after the effect
	FaultHangBefore     FaultKind = "hang before" // no answer until the client gives up; no effect
	FaultHangAfter      FaultKind = "hang after"  // the same, after the effect
	FaultNotFound       FaultKind = "404"         // as for an object that has not spread yet
	FaultUnauthorized   FaultKind = "401"         // bad credentials
	FaultForbidden      FaultKind = "403 rights"  // resource not accessible by integration
)

// Fault is one line of the fault script.
type Fault struct {
	Kind FaultKind
	// Method is the request's method, empty for all; Path a regular expression
	// over its path (with the API prefix), empty for all. Git requests count too.
	Method, Path string
	// Nth is the first matching request that goes wrong, from 1 (0 is 1), and
	// Count how many do (0 is 1, negative is all from then on).
	Nth, Count int
	// Retry is sent as Retry-After, or as the reset of a primary limit (where 0
	// is a minute); 0 sends no Retry-After.
	Retry time.Duration
	// Status replaces 502 for FaultServerError and FaultLostAnswer.
	Status int
}

// Injection is a fault in force.
type Injection struct {
	hub   *Hub
	fault Fault
	path  *regexp.Regexp
	seen  int
	hits  int
	off   bool
}

// Inject puts a fault in force. A request that several faults hit goes wrong in
// the way of the first, and counts for all. A path that is no regular expression panics.
func (h *Hub) Inject(f Fault) *Injection {
	in := &Injection{hub: h, fault: f, path: regexp.MustCompile(f.Path)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, in)
	return in
}

// Hits is how many requests went wrong by it.
func (in *Injection) Hits() int {
	in.hub.mu.Lock()
	defer in.hub.mu.Unlock()
	return in.hits
}

// Remove ends the fault.
func (in *Injection) Remove() {
	in.hub.mu.Lock()
	defer in.hub.mu.Unlock()
	in.off = true
}

// SetLag makes comments, check runs and pull requests invisible in lists until
// d after they were made, as GitHub's replicas do for a moment.
func (h *Hub) SetLag(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lag = d
}

// SetFreshMiss makes the first look at each object created from now on answer 404.
func (h *Hub) SetFreshMiss(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = on
}

// made notes the path of a new object for SetFreshMiss.
func (h *Hub) made(format string, args ...any) {
	if h.missing {
		h.fresh[fmt.Sprintf(format, args...)] = true
	}
}

// faultFor finds the first fault that hits a request; all that match count it.
func (h *Hub) faultFor(r *http.Request) (hit *Injection) {
	for _, in := range h.faults {
		f := in.fault
		if in.off || f.Method != "" && f.Method != r.Method || !in.path.MatchString(r.URL.Path) {
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

// holds reports whether the answer must be kept back until the effect is done.
func (in *Injection) holds() bool {
	switch in.fault.Kind {
	case FaultLostAnswer, FaultCutAfter, FaultHangAfter:
		return true
	}
	return false
}

// before answers a request that goes wrong without effect, and reports whether it did.
func (in *Injection) before(h *Hub, w http.ResponseWriter, r *http.Request) bool {
	switch in.fault.Kind {
	case FaultHangBefore:
		h.hang(r)
	case FaultCutBefore:
		panic(http.ErrAbortHandler)
	}
	out, header, wrong := in.answer(h)
	if wrong {
		h.write(w, r, out, header)
	}
	return wrong
}

// hang keeps the client waiting until it gives up or the hub is closed. The
// body is read first, since a server sees a client leave only after that.
func (h *Hub) hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a client that leaves while sending has left
	for {
		h.mu.Lock()
		closed, changed := h.closed, h.changed
		h.mu.Unlock()
		if closed {
			break
		}
		select {
		case <-changed:
			continue
		case <-r.Context().Done():
		}
		break
	}
	panic(http.ErrAbortHandler)
}

func (in *Injection) answer(h *Hub) (out reply, header http.Header, wrong bool) {
	f := in.fault
	header = http.Header{}
	if f.Retry > 0 {
		header.Set("Retry-After", strconv.Itoa(int((f.Retry+time.Second-1)/time.Second)))
	}
	switch f.Kind {
	case FaultPrimary, FaultPrimary429:
		status := http.StatusForbidden
		if f.Kind == FaultPrimary429 {
			status = http.StatusTooManyRequests
		}
		h.mu.Lock()
		b := budget{limit: h.opts.RateLimit, used: h.opts.RateLimit, reset: h.now().Add(max(f.Retry, 0))}
		if f.Retry == 0 {
			b.reset = b.reset.Add(time.Minute)
		}
		h.mu.Unlock()
		return fail(status, "API rate limit exceeded for installation."), b.header(), true
	case FaultSecondary:
		return secondary(http.StatusForbidden, true), header, true
	case FaultSecondaryPlain:
		return secondary(http.StatusForbidden, false), header, true
	case FaultSecondary429:
		return secondary(http.StatusTooManyRequests, true), header, true
	case FaultAbuse:
		return abuse(), header, true
	case FaultServerError:
		return in.serverError(), header, true
	case FaultNotFound:
		return notFound(), header, true
	case FaultUnauthorized:
		return fail(http.StatusUnauthorized, "Bad credentials"), header, true
	case FaultForbidden:
		return fail(http.StatusForbidden, "Resource not accessible by integration"), header, true
	}
	return reply{}, nil, false
}

func (in *Injection) serverError() reply {
	status := in.fault.Status
	if status == 0 {
		status = http.StatusBadGateway
	}
	return reply{status: status, body: obj{"message": "Server Error"}}
}

// after spoils the answer of a request whose effect is done.
func (in *Injection) after(w http.ResponseWriter, r *http.Request) {
	switch in.fault.Kind {
	case FaultCutAfter:
		panic(http.ErrAbortHandler)
	case FaultHangAfter:
		in.hub.hang(r)
	}
	in.hub.write(w, r, in.serverError(), nil)
}
