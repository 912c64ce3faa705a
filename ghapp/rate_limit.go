package ghapp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// firstBackoff follows a limit that names no time; it doubles up to longestBackoff
	// while GitHub keeps refusing.
	firstBackoff   = time.Minute
	longestBackoff = time.Hour
	// maxLimitBody is how much of a refusal is read to see whether it is a limit.
	maxLimitBody = 64 << 10
)

// LimitError says that GitHub refuses requests for a while: primary or secondary
// rate limit, 403 or 429. The request was not carried out. Packages that may not
// import this one ask for its methods.
type LimitError struct {
	at      time.Time
	after   time.Duration
	message string
}

// Error says until when.
func (e *LimitError) Error() string {
	return fmt.Sprintf("rate limited until %s: %s", e.at.UTC().Format(time.RFC3339), e.message)
}

// RetryAt is the earliest time at which a call may succeed.
func (e *LimitError) RetryAt() time.Time { return e.at }

// RetryAfter is the pause GitHub asked for, counted from its answer.
func (e *LimitError) RetryAfter() time.Duration { return e.after }

// limitBackoff is the rate-limit backoff of one installation. During a limit, calls
// fail without a request: GitHub bans integrations that go on.
type limitBackoff struct {
	now func() time.Time

	mu      sync.Mutex
	until   time.Time
	unnamed int // limits in a row that named no time
	message string
	left    int  // requests of the hour that the newest answer said are left
	told    bool // an answer has said so
}

// current returns the limit that holds now, or nil.
func (b *limitBackoff) current() *LimitError {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if !now.Before(b.until) {
		return nil
	}
	return &LimitError{at: b.until, after: b.until.Sub(now), message: b.message}
}

// pausedUntil is when the limit ends; a past time means none.
func (b *limitBackoff) pausedUntil() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until
}

// start notes a limit and returns its error. GitHub's rule is: Retry-After if sent,
// else the reset time if nothing remains, else a minute, then doubling.
// https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
func (b *limitBackoff) start(h http.Header, message string) *LimitError {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	at, named := namedTime(h, now)
	if named {
		b.unnamed = 0
	} else {
		at = now.Add(min(firstBackoff<<min(b.unnamed, 10), longestBackoff))
		b.unnamed++
	}
	if at.After(b.until) {
		b.until, b.message = at, message
	}
	return &LimitError{at: at, after: at.Sub(now), message: message}
}

// noteRemaining notes how many requests GitHub says are left.
func (b *limitBackoff) noteRemaining(h http.Header) {
	n, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if err != nil {
		return
	}
	b.mu.Lock()
	b.left, b.told = n, true
	b.mu.Unlock()
}

// remaining is how many requests are left; told is false if no answer has said so.
func (b *limitBackoff) remaining() (left int, told bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left, b.told
}

// reset notes an answer that was no limit.
func (b *limitBackoff) reset() {
	b.mu.Lock()
	b.unnamed = 0
	b.mu.Unlock()
}

func namedTime(h http.Header, now time.Time) (time.Time, bool) {
	soonest := now.Add(time.Second)
	if v := h.Get("Retry-After"); v != "" {
		if n, err := strconv.Atoi(v); err == nil {
			return later(soonest, now.Add(time.Duration(n)*time.Second)), true
		}
		if at, err := http.ParseTime(v); err == nil {
			return later(soonest, at), true
		}
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		if n, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			return later(soonest, time.Unix(n+1, 0)), true
		}
	}
	return time.Time{}, false
}

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// limitTransport is the innermost transport, which sees token requests too. It turns
// limits into [LimitError]. It refuses other hosts, because the layers above add the
// token wherever they are redirected to.
type limitTransport struct {
	next    http.RoundTripper
	backoff *limitBackoff
	hosts   []string
}

// RoundTrip makes one request.
func (t *limitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !slices.ContainsFunc(t.hosts, func(h string) bool { return strings.EqualFold(h, req.URL.Host) }) {
		closeBody(req.Body)
		return nil, fmt.Errorf("refuse to send a token to %s", req.URL.Host)
	}
	if err := t.backoff.current(); err != nil {
		closeBody(req.Body)
		return nil, err
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	t.backoff.noteRemaining(resp.Header)
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusTooManyRequests {
		t.backoff.reset()
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLimitBody))
	closeBody(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read refusal: %w", err)
	}
	message := messageOf(body)
	if isLimit(resp, string(body)) {
		return nil, t.backoff.start(resp.Header, message)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// isLimit knows the forms of a limit: any 429, and a 403 that says so in a header or a text.
func isLimit(resp *http.Response, body string) bool {
	if resp.StatusCode == http.StatusTooManyRequests {
		return true
	}
	if resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-RateLimit-Remaining") == "0" {
		return true
	}
	return containsAny(body, "rate limit", "rate-limits", "abuse detection")
}

// messageOf takes GitHub's own sentence out of an error answer.
func messageOf(body []byte) string {
	var answer struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Message == "" {
		return "no message"
	}
	return Redact(answer.Message)
}

func closeBody(c io.Closer) {
	if c != nil {
		_ = c.Close() // nothing was promised about it
	}
}
