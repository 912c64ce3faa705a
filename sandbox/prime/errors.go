package prime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/yudai-dev/yudai/sandbox"
)

// refusal is an answer that is no success, of the control plane or the gateway.
type refusal struct {
	from   origin
	status int
	code   string // the gateway's word for it, or the Connect code
	detail string
	after  time.Duration // Retry-After
}

// origin is who refused: what a status means depends on it.
type origin string

const (
	fromControl origin = "control plane"
	fromFiles   origin = "gateway"
	fromStream  origin = "command session"
)

// Error implements error.
func (r *refusal) Error() string {
	text := fmt.Sprintf("HTTP %d", r.status)
	if r.code != "" {
		text += " " + plain(r.code)
	}
	if r.detail != "" {
		text += ": " + plain(r.detail)
	}
	return text
}

// statusOf is the HTTP status of an answer in err, 0 if there was none.
func statusOf(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.status
	}
	return 0
}

// lost says that a request got no answer: it may have been carried out.
type lost struct{ cause error }

// Error implements error.
func (l *lost) Error() string { return "no answer: " + l.cause.Error() }

// Unwrap gives the cause.
func (l *lost) Unwrap() error { return l.cause }

// readRefusal reads an answer that is no success.
func readRefusal(from origin, res *http.Response, body []byte) *refusal {
	r := &refusal{from: from, status: res.StatusCode}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s >= 0 {
		r.after = min(time.Duration(s)*time.Second, time.Minute)
	}
	var known struct {
		Detail  json.RawMessage `json:"detail"`
		Errors  json.RawMessage `json:"errors"`
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"` // a word of Connect, or the status again
	}
	if err := json.Unmarshal(body, &known); err != nil {
		r.detail = string(body) // of a proxy on the way
		return r
	}
	if err := json.Unmarshal(known.Code, &r.code); err != nil {
		r.code = ""
	}
	var word string
	if json.Unmarshal(known.Error, &word) == nil && word != "" {
		r.code = word
	}
	r.detail = known.Message
	for _, raw := range []json.RawMessage{known.Errors, known.Detail} {
		if text := flatten(raw); text != "" {
			r.detail = text
		}
	}
	return r
}

// flatten makes one line of what the service says about a refusal: a string, a
// list of strings, or a list of what is wrong with which parameter.
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
		case json.Unmarshal(item, &text) == nil:
			parts = append(parts, text)
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

// plain makes a foreign text fit for a message: one line of printable text, not too long.
func plain(s string) string {
	const most = 300
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "..."
	}
	return s
}

// transient reports whether the same request may well succeed later, if it may be repeated at all.
func transient(err error) bool {
	var l *lost
	return errors.As(err, &l) || slices.Contains([]int{500, 502, 503, 504, 520, 521, 522, 523, 524}, statusOf(err))
}

// notOffered reports whether the service does not know what it was asked for.
func notOffered(err error) bool {
	return slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, statusOf(err))
}

// explain turns an error of the control plane into one of the contract, with the setting and the fix.
func (c Config) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var r *refusal
	var l *lost
	switch {
	case errors.As(err, &l):
		return fmt.Errorf("%w: Prime does not answer at %s (%sapi_url): %w", sandbox.ErrUnavailable, c.base(), section, err)
	case !errors.As(err, &r):
		return err
	}
	if quota(err) {
		return fmt.Errorf("%w: the account has as many sandboxes as it may have: %w", sandbox.ErrCapacity, err)
	}
	fix := ""
	switch r.status {
	case http.StatusUnauthorized:
		fix = "the key is not accepted: make a new one in the dashboard and put it into " + c.keyPlace()
	case http.StatusPaymentRequired:
		fix = "the account has no credit: add some under Billing in the dashboard, https://app.primeintellect.ai, for the team of " + section + "team_id if one is set"
	case http.StatusForbidden:
		fix = "the key in " + c.keyPlace() + " may not read and write sandboxes, or not those of the team in " + section + "team_id"
	case http.StatusGone:
		fix = "Prime has retired this way of making sandboxes: update yudai"
	case http.StatusTooManyRequests:
		return fmt.Errorf("%w: too many requests: %w", sandbox.ErrCapacity, err)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return c.invalid(r)
	}
	switch {
	case fix != "":
		return fmt.Errorf("%w: %s (%w)", sandbox.ErrSetting, fix, err)
	case r.status >= 300 && r.status < 400, r.status == http.StatusNotFound, r.status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%w: %sapi_url is not the address of the service: %s answers %w", sandbox.ErrSetting, section, c.base(), err)
	}
	return fmt.Errorf("%w: Prime answers %w", sandbox.ErrUnavailable, err)
}

// quota reports whether a refusal is about how many sandboxes there may be.
func quota(err error) bool {
	var r *refusal
	if !errors.As(err, &r) || !slices.Contains([]int{http.StatusPaymentRequired, http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests}, r.status) {
		return false
	}
	text := strings.ToLower(r.detail)
	return slices.ContainsFunc([]string{"quota", "concurren", "limit reached", "maximum number", "too many sandboxes"}, func(s string) bool {
		return strings.Contains(text, s)
	})
}

// invalid names the setting that a refused request came from.
func (c Config) invalid(r *refusal) error {
	text := strings.ToLower(r.detail)
	for _, p := range []struct {
		word, key string
		kind      error
	}{
		{"cpu", "limits.cpus", sandbox.ErrLimit},
		{"memory", "limits.memory_gb", sandbox.ErrLimit},
		{"disk", "limits.disk_gb", sandbox.ErrLimit},
		{"idle_timeout", "idle_time", sandbox.ErrSetting},
		{"timeout", "max_life", sandbox.ErrSetting},
		{"region", "region", sandbox.ErrSetting},
		{"team", "team_id", sandbox.ErrSetting},
		{"image", "image", sandbox.ErrSetting},
	} {
		if strings.Contains(text, p.word) {
			return fmt.Errorf("%w: Prime refuses %s%s: %w", p.kind, section, p.key, r)
		}
	}
	if strings.Contains(text, "allowlist") || strings.Contains(text, "network") {
		return fmt.Errorf("%w: Prime refuses a host that the install may reach: %w", sandbox.ErrSetting, r)
	}
	return fmt.Errorf("%w: Prime refuses the request made of the settings in %s: %w", sandbox.ErrSetting, strings.TrimSuffix(section, "."), r)
}
