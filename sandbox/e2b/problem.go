package e2b

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// problem is an answer that says no, of the control plane or of what stands
// before a sandbox.
type problem struct {
	what    string // the action, for people: "create sandbox"
	status  int
	code    string // error_code of the control plane, or code of the daemon; may be empty
	message string // for people; empty where the body was not JSON
	// wait is what Retry-After asks for; 0 if it was not sent.
	wait time.Duration
}

// Error says what was asked and what came back.
func (p *problem) Error() string {
	text := fmt.Sprintf("%s: status %d", p.what, p.status)
	if p.code != "" {
		text += " " + p.code
	}
	if p.message != "" {
		text += ": " + p.message
	}
	return text
}

const (
	maxBody    = 8 << 20 // of an answer with JSON
	maxMessage = 300
)

// readProblem makes the error of a bad answer. The body may be anything: a proxy
// answers with pages. What is secret in it is left out.
func readProblem(what string, resp *http.Response, secrets ...string) *problem {
	p := &problem{what: what, status: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s >= 0 {
		p.wait = max(time.Duration(s)*time.Second, time.Millisecond)
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what was read before an error is enough to tell
	var body struct {
		Code      json.RawMessage `json:"code"` // a number, or a word
		Message   string          `json:"message"`
		ErrorCode string          `json:"error_code"`
	}
	if json.Unmarshal(data, &body) != nil {
		p.message = ""
		if len(data) > 0 && data[0] != '<' && resp.Header.Get("Content-Type") != "text/html" {
			p.message = oneLine(string(data))
		}
		p.message = redact(p.message, secrets...)
		return p
	}
	p.code = body.ErrorCode
	var word string
	if p.code == "" && json.Unmarshal(body.Code, &word) == nil {
		p.code = word
	}
	p.code, p.message = redact(oneLine(p.code), secrets...), redact(oneLine(body.Message), secrets...)
	return p
}

// oneLine shortens a text of others for a message.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + " ..."
	}
	return text
}

// redact takes secrets out of a text.
func redact(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	return text
}

// bare takes the address out of an error of net/http: signed addresses are secrets.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// status is the status of a bad answer, 0 for any other error.
func status(err error) int {
	var p *problem
	if errors.As(err, &p) {
		return p.status
	}
	return 0
}

// full reports the 429 of a team whose slots are all in use: waiting a second
// does not help, something must end.
func (p *problem) full() bool { return p.status == http.StatusTooManyRequests && p.wait == 0 }

// untouched reports an answer that promises that nothing was changed.
func (p *problem) untouched() bool {
	return p.status == http.StatusServiceUnavailable || (p.status == http.StatusGatewayTimeout && p.code == "sandbox_placement_timeout")
}

// explain turns an error of the control plane into one of the contract's, with
// the setting to change.
func (c Config) explain(err error) error {
	var p *problem
	if !errors.As(err, &p) {
		return fmt.Errorf("%w: no answer from %s: %w", sandbox.ErrUnavailable, c.apiBase(), err)
	}
	switch {
	case p.status == http.StatusUnauthorized:
		return fmt.Errorf("%w: the key of E2B was refused: %s (%w)", sandbox.ErrSetting, c.keyFix(), err)
	case p.status == http.StatusForbidden:
		return fmt.Errorf("%w: the team of this key may not do that: %s, or choose what it may use (%w)", sandbox.ErrSetting, c.keyFix(), err)
	case p.status == http.StatusTooManyRequests && p.full():
		return fmt.Errorf("%w: as many sandboxes as the plan allows are running: end some, or lower solver.caps (%w)", sandbox.ErrCapacity, err)
	case p.status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: too many requests for longer than a minute (%w)", sandbox.ErrCapacity, err)
	case p.status == http.StatusServiceUnavailable && p.code == "sandbox_capacity_unavailable":
		return fmt.Errorf("%w: %w", sandbox.ErrCapacity, err)
	case p.status >= 500:
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	default:
		return err
	}
}

// explainCreate is explain for the call that makes a sandbox of the template.
func (c Config) explainCreate(err error) error {
	var p *problem
	if !errors.As(err, &p) {
		return c.explain(err)
	}
	text := strings.ToLower(p.message)
	switch {
	case p.status == http.StatusNotFound, p.status == http.StatusForbidden && strings.Contains(text, "template"),
		p.status == http.StatusBadRequest && strings.Contains(text, "template"):
		return fmt.Errorf("%w: there is no template %q for this key: build it with `yudai sandbox build e2b`, or set sandbox.e2b.template (%w)",
			sandbox.ErrSetting, c.Template, err)
	case p.status == http.StatusBadRequest && (strings.Contains(text, "timeout") || strings.Contains(text, "instance length") || strings.Contains(text, "hours")):
		return fmt.Errorf("%w: the plan does not allow so long a session: lower sandbox.e2b.lease (%s) (%w)", sandbox.ErrSetting, c.Lease, err)
	case p.status == http.StatusBadRequest:
		return fmt.Errorf("%w: the service refuses the section sandbox.e2b (%w)", sandbox.ErrSetting, err)
	default:
		return c.explain(err)
	}
}
