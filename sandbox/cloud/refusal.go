package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/yudai-dev/yudai/sandbox"
)

// Refusal is an answer that is no success.
type Refusal struct {
	Origin  string // who answered: what a status means depends on it
	Call    string // "POST /sandboxes"
	Status  int
	Code    string // the service's word for it, or the code of Connect
	Message string
	After   time.Duration // Retry-After; 0 if it was not sent
	// Unchanged: the answer promises that nothing was changed.
	Unchanged bool
}

// Error implements error.
func (r *Refusal) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", r.Status, Plain(r.Code)))
	if r.Call != "" {
		text = r.Call + ": " + text
	}
	if r.Message != "" {
		text += ": " + Plain(r.Message)
	}
	return text
}

// Says reports whether the message has one of these words in it.
func (r *Refusal) Says(words ...string) bool {
	text := strings.ToLower(r.Message)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// Lost says that a request got no answer: it may have been carried out.
type Lost struct{ Cause error }

// Error implements error.
func (l *Lost) Error() string { return "no answer: " + l.Cause.Error() }

// Unwrap gives the cause.
func (l *Lost) Unwrap() error { return l.Cause }

// doubtful is the error of a request whose earlier try got no answer: that one may
// have been carried out whatever this one was told.
type doubtful struct{ cause error }

// Doubt makes an error one that [Undone] refuses, for those who repeat a request themselves.
func Doubt(err error) error { return &doubtful{err} }

// Error implements error.
func (d *doubtful) Error() string { return d.cause.Error() }

// Unwrap gives the cause.
func (d *doubtful) Unwrap() error { return d.cause }

// StatusOf is the HTTP status of an answer in err, 0 if there was none.
func StatusOf(err error) int {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status
	}
	return 0
}

// HasStatus reports whether err is an answer with one of these statuses.
func HasStatus(err error, any ...int) bool { return slices.Contains(any, StatusOf(err)) }

// IsMissing reports whether the service says that there is no such thing.
func IsMissing(err error) bool { return HasStatus(err, http.StatusNotFound, http.StatusGone) }

// NotOffered reports whether the service does not know what it was asked for.
func NotOffered(err error) bool {
	return HasStatus(err, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented)
}

// Transient reports whether the same request may well succeed later, if it may be repeated at all.
func Transient(err error) bool {
	var l *Lost
	return errors.As(err, &l) || StatusOf(err) >= http.StatusInternalServerError && StatusOf(err) != http.StatusNotImplemented
}

// Explain turns an error of a control plane into one of the contract's. fix knows what
// a refusal means for the settings of a service; nil leaves that open.
func Explain(err error, service, address string, fix func(*Refusal) (text string, kind error)) error {
	var r *Refusal
	var l *Lost
	switch {
	case err == nil || errors.Is(err, context.Canceled) || sandbox.Explained(err):
	case errors.As(err, &l):
		return fmt.Errorf("%w: %s does not answer at %s: %w", sandbox.ErrUnavailable, service, address, err)
	case errors.As(err, &r):
		if text, kind := fix(r); kind != nil {
			return fmt.Errorf("%w: %s (%w)", kind, text, err)
		}
		if r.Status >= http.StatusInternalServerError {
			return fmt.Errorf("%w: %s answers %w", sandbox.ErrUnavailable, service, err)
		}
	}
	return err
}

// Unsent reports whether a request certainly did not reach the service.
func Unsent(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &name) || errors.As(err, &op) && op.Op == "dial"
}

// Undone reports whether a request, in all its tries, certainly changed nothing.
func Undone(err error) bool {
	var d *doubtful
	var r *Refusal
	if errors.As(err, &d) {
		return false
	}
	return Unsent(err) || errors.As(err, &r) &&
		(r.Unchanged || r.Status < http.StatusInternalServerError && r.Status != http.StatusRequestTimeout && r.Status != http.StatusConflict)
}

// Missed is the error of a request without an answer: the context's own if it
// ended. Addresses are left out, since signed ones are secrets.
func Missed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &Lost{err}
}

// readRefusal reads an answer that is no success. The body may be anything: the
// service, its framework and the proxies before it each have their way to say no.
// The secret in it is left out.
func readRefusal(origin string, res *http.Response, secret string) *Refusal {
	r := &Refusal{Origin: origin, Status: res.StatusCode}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s >= 0 {
		r.After = max(time.Duration(min(s, 1<<30))*time.Second, time.Millisecond)
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // half a reason is one, too
	var known struct {
		Detail    json.RawMessage `json:"detail"`
		Errors    json.RawMessage `json:"errors"`
		Error     json.RawMessage `json:"error"`
		Message   string          `json:"message"`
		Code      json.RawMessage `json:"code"` // a word, or the status again
		ErrorCode string          `json:"error_code"`
	}
	if json.Unmarshal(body, &known) != nil {
		r.Message = redact(string(body), secret) // of a proxy on the way
		return r
	}
	r.Code = redact(cmp.Or(known.ErrorCode, word(known.Error), word(known.Code)), secret)
	r.Message = redact(cmp.Or(flatten(known.Detail), flatten(known.Errors), known.Message), secret)
	return r
}

// word is a string, "" for anything else.
func word(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

// flatten makes one text of a string, a list of strings, or a list of what is wrong
// with which parameter.
func flatten(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return string(raw)
	}
	var parts []string
	for _, item := range list {
		var problem struct {
			Param   string          `json:"param"`
			Details string          `json:"details"`
			Loc     json.RawMessage `json:"loc"`
			Msg     string          `json:"msg"`
		}
		switch {
		case word(item) != "":
			parts = append(parts, word(item))
		case json.Unmarshal(item, &problem) == nil && problem.Param != "":
			parts = append(parts, problem.Param+": "+problem.Details)
		case problem.Msg != "":
			parts = append(parts, string(problem.Loc)+": "+problem.Msg)
		default:
			parts = append(parts, string(item))
		}
	}
	return strings.Join(parts, "; ")
}

// redact takes a secret out of a text.
func redact(text, secret string) string {
	if secret == "" {
		return text
	}
	return strings.ReplaceAll(text, secret, "[redacted]")
}

// Plain makes a foreign text fit for a message: one line of printable text, not too long.
func Plain(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	runes := slices.DeleteFunc([]rune(s), func(r rune) bool { return !unicode.IsPrint(r) })
	if len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return string(runes)
}
