package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// Error is a failed model call. Its text holds no key and nothing of the request.
type Error struct {
	// HTTPStatus is the status of the provider's answer; 0 where there was none, or none
	// that tells of an error.
	HTTPStatus int
	// Said is the provider's own error, without our key and our account's names; empty
	// where it said nothing, or nothing that concerns who asked.
	Said Said

	status string
	public string
	retry  bool
	gaveUp bool // we did, while the provider worked
	after  time.Duration
}

var _ agent.ModelError = (*Error)(nil)

// Error is the status and the public sentence.
func (e *Error) Error() string { return e.status + ": " + e.public }

// ExitStatus is the name under which the run ends.
func (e *Error) ExitStatus() string { return e.status }

// Public is a short sentence for people.
func (e *Error) Public() string { return e.public }

// RetryAfter is how long the provider asked to wait; 0 if it did not say.
func (e *Error) RetryAfter() time.Duration { return e.after }

// NotReady is the error of a call whose model [Set.Upstream] did not give.
func NotReady(err error) *Error {
	status := agent.StatusAuthentication
	if errors.Is(err, ErrUnknown) {
		status = agent.StatusNotFound
	}
	return &Error{status: status, public: err.Error()}
}

// NotPassed is the error of a call that was not made because of what was asked; code is
// the HTTP status of its refusal.
func NotPassed(name string, code int, text string) *Error {
	return &Error{status: agent.StatusOf(code), public: "model " + name + ": " + text}
}

// errAttempt is the cause with which one attempt runs out of time.
var errAttempt = errors.New("attempt timed out")

// classify turns what an SDK returned into an Error. res is the response, if
// there was one; its body can be read again when its status is an error.
func (c *client) classify(ctx context.Context, res *http.Response, err error) *Error {
	known, ok := errors.AsType[*Error](err)
	switch {
	case ok:
		return known
	case errors.Is(context.Cause(ctx), errAttempt): // not every deadline: a connection that is never made has one, too
		e := c.fail(agent.StatusTimeout, true, "the provider did not answer within %s", c.entry.Timeout)
		e.gaveUp = true
		return e
	case res == nil:
		return c.fail(agent.StatusConnection, true,
			"the provider cannot be reached (%s); check base_url and the network", c.clean(connection(err)))
	case res.StatusCode >= 400:
		return c.refused(res)
	case res.StatusCode >= 300:
		return c.fail(agent.StatusBadRequest, false, "the server redirects (HTTP %d); set base_url to where it really is", res.StatusCode)
	case tooLong(err):
		return c.fail(agent.StatusBadResponse, false, "the answer has more than %d MiB; check base_url and provider", maxBody>>20)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return c.fail(agent.StatusConnection, true, "the provider's answer broke off")
	}
	return c.fail(agent.StatusBadResponse, false, "the answer is not what the API documents (HTTP %d, %s); check base_url and provider",
		res.StatusCode, c.clean(res.Header.Get("Content-Type")))
}

func (c *client) fail(status string, retry bool, format string, args ...any) *Error {
	return &Error{status: status, retry: retry, public: "model " + c.entry.Name + ": " + fmt.Sprintf(format, args...)}
}

// refused is an answer with an error status.
func (c *client) refused(res *http.Response) *Error {
	said := errorBody(res)
	e := c.refusal(res.StatusCode, cmp.Or(said.Code, said.Type), said.Message)
	if e.retry {
		e.after = retryAfter(res.Header, time.Now())
	}
	if e.HTTPStatus = res.StatusCode; !e.Ours() {
		e.Said = Said{c.scrub(said.Type), c.scrub(said.Code), c.scrub(said.Param), c.scrub(said.Message)}
	}
	return e
}

// Ours says that the error is about our account at the provider: nothing that who asked
// could do better.
func (e *Error) Ours() bool {
	switch e.HTTPStatus {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return true
	}
	return e.status == agent.StatusRateLimit && !e.retry
}

// Wrong says that the model is set up wrongly, or its account is empty: no other try and no other request gets an answer.
func (e *Error) Wrong() bool {
	wrong := []string{agent.StatusAuthentication, agent.StatusPermission, agent.StatusNotFound}
	return slices.Contains(wrong, e.status) || e.Ours() || e.Said.Code == "model_not_found"
}

// refusal explains an error status, with the provider's code and message.
func (c *client) refusal(n int, code, message string) *Error {
	text := cmp.Or(c.clean(message), "no reason given")
	switch status := agent.StatusOf(n); {
	case status == agent.StatusAuthentication: // the provider's text may repeat the key
		return c.fail(status, false, "the key was refused (HTTP %d); check %s", n, c.entry.keySource())
	case status == agent.StatusPermission:
		return c.fail(status, false, "the provider does not allow it (HTTP %d): %s", n, text)
	case status == agent.StatusNotFound:
		return c.fail(status, false, "the provider does not know it (HTTP %d): %s; check model and base_url", n, text)
	case status == agent.StatusTimeout:
		return c.fail(status, true, "the provider gave up (HTTP %d): %s", n, text)
	case status == agent.StatusRateLimit && code == "insufficient_quota": // waiting fills no account
		return c.fail(status, false, "the account has no credit left (HTTP 429): %s", text)
	case status == agent.StatusRateLimit:
		return c.fail(status, true, "the provider limits our rate (HTTP 429): %s", text)
	case status == agent.StatusContext, contextFull(code, message):
		return c.fail(agent.StatusContext, false, "the conversation has become too long for the model (HTTP %d)", n)
	case n >= http.StatusInternalServerError:
		return c.fail(status, true, "the provider failed (HTTP %d): %s", n, text)
	default:
		return c.fail(status, false, "the provider refused the request (HTTP %d): %s", n, text)
	}
}

// Said is what a provider's error says, in the words that both APIs have.
type Said struct{ Type, Code, Param, Message string }

// errorBody reads an error answer: {"error": {"code" or "type", "message"}} of both
// providers, {"error": "text"} of small servers.
func errorBody(res *http.Response) Said {
	data, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return Said{}
	}
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(data, &body) != nil {
		return Said{}
	}
	var inner struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Param   any    `json:"param"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body.Error, &inner) == nil {
		said := Said{Type: inner.Type, Message: inner.Message}
		said.Code, _ = inner.Code.(string)
		said.Param, _ = inner.Param.(string)
		return said
	}
	var text string
	if json.Unmarshal(body.Error, &text) == nil {
		return Said{Message: text}
	}
	return Said{Message: body.Message}
}

// contextFull recognises a full context window: OpenAI's code, Anthropic's,
// vLLM's, llama.cpp's and Ollama's words.
func contextFull(code, message string) bool {
	words := []string{"maximum context length", "context window", "prompt is too long", "context length", "available context size"}
	return code == "context_length_exceeded" ||
		slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(message), w) })
}

// retryAfter reads retry-after-ms, then Retry-After in seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// connection is the cause of a connection error without the URL.
func connection(err error) string {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return err.Error()
}

// keyLike finds what looks like a key, whole or masked.
func keyLike() *regexp.Regexp { return regexp.MustCompile(`\bsk-[\w*.-]{4,}`) }

// accountLike finds the names of an organisation and a project, which OpenAI puts into
// its texts.
func accountLike() *regexp.Regexp { return regexp.MustCompile(`\b(?:org-|proj_)[A-Za-z0-9]{8,}`) }

// scrub takes our key, what looks like one, and our account's names out of foreign text.
func (c *client) scrub(text string) string {
	if len(c.key) > 3 {
		text = strings.ReplaceAll(text, c.key, "[key]")
	}
	text = keyLike().ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "[key]")
	return accountLike().ReplaceAllString(text, "[account]")
}

// clean makes foreign text fit for people: one line, short, without the key.
func (c *client) clean(text string) string { return agent.OneLine(c.scrub(text)) }
