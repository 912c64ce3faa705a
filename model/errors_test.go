package model_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// good is a complete answer of a provider.
func good(provider string) string {
	if provider == model.Anthropic {
		return message
	}
	return chat
}

// failed is an error body in the provider's documented shape.
func failed(provider, code, text string) string {
	if provider == model.Anthropic {
		return `{"type":"error","error":{"type":"` + code + `","message":"` + text + `"},"request_id":"req_1"}`
	}
	return `{"error":{"message":"` + text + `","type":"invalid_request_error","param":null,"code":"` + code + `"}}`
}

func eachProvider(t *testing.T, test func(t *testing.T, provider string)) {
	t.Helper()
	for _, p := range []string{model.OpenAI, model.Anthropic} {
		t.Run(p, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, provider string) {
		for _, c := range []struct {
			name, code, text string
			status           int
			exit, want       string
			calls            int
		}{
			{"wrong key", "authentication_error", "Incorrect API key provided: " + secret, 401, agent.StatusAuthentication, "check THE_KEY", 1},
			{"bad request", "invalid_request_error", "Unsupported value: temperature, key " + secret, 400, agent.StatusBadRequest, "temperature, key [key]", 1},
			{"masked key", "invalid_request_error", "bad sk-test*********cdef here", 400, agent.StatusBadRequest, "bad [key] here", 1},
			{"payment", "billing_error", "pay", 402, agent.StatusPermission, "pay", 1},
			{"forbidden", "permission_error", "no access", 403, agent.StatusPermission, "no access", 1},
			{"not found", "not_found_error", "model: the-model", 404, agent.StatusNotFound, "check model and base_url", 1},
			{"context by code", "context_length_exceeded", "too many tokens", 400, agent.StatusContext, "too long", 1},
			{"context by words", "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", 400, agent.StatusContext, "too long", 1},
			{"context by vllm's words", "400", "This model's maximum context length is 8192 tokens", 400, agent.StatusContext, "too long", 1},
			{"too large", "request_too_large", "big", 413, agent.StatusContext, "too long", 1},
			{"unprocessable", "x", "shape", 422, agent.StatusUnprocessable, "shape", 1},
			{"quota", "insufficient_quota", "You exceeded your current quota", 429, agent.StatusRateLimit, "no credit", 1},
			{"rate limit", "rate_limit_error", "slow down", 429, agent.StatusRateLimit, "slow down", 3},
			{"request timeout", "timeout_error", "late", 408, agent.StatusTimeout, "HTTP 408", 3},
			{"internal", "api_error", "oops", 500, agent.StatusInternal, "oops", 3},
			{"unavailable", "x", "down", 503, agent.StatusUnavailable, "down", 3},
			{"overloaded", "overloaded_error", "Overloaded", 529, agent.StatusUnavailable, "Overloaded", 3},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				u := serve(t, answer{status: c.status, body: failed(provider, c.code, c.text)})
				_, err := open(t, provider, u, nil, solve.Experiment{}).Query(t.Context(), history())
				wantError(t, err, c.exit, c.want)
				if u.calls() != c.calls {
					t.Errorf("%d calls, want %d", u.calls(), c.calls)
				}
			})
		}
	})
}

func wantError(t *testing.T, err error, exit, want string) {
	t.Helper()
	var me agent.ModelError
	if !errors.As(err, &me) {
		t.Fatalf("err = %v, want %s", err, exit)
	}
	if me.ExitStatus() != exit || !strings.Contains(me.Public(), want) || !strings.HasPrefix(me.Public(), "model m: ") {
		t.Errorf("%s: %q, want %s with %q", me.ExitStatus(), me.Public(), exit, want)
	}
	for _, text := range []string{err.Error(), me.Public()} {
		if strings.Contains(text, "0123456789") || strings.Contains(text, "sk-") {
			t.Errorf("a key is in %q", text)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, provider string) {
		for _, c := range []struct {
			name       string
			answer     answer
			exit, want string
			calls      int
		}{
			{"invalid JSON", answer{body: `{"id": oops}`}, agent.StatusBadResponse, "check base_url", 1},
			{"a web page", answer{body: "<html>", header: map[string]string{"Content-Type": "text/html"}}, agent.StatusBadResponse, "text/html", 1},
			{"another JSON", answer{body: `{"status": "ok"}`}, agent.StatusBadResponse, "check base_url", 1},
			{"empty choices", answer{body: `{"id":"1","object":"chat.completion","choices":[]}`}, agent.StatusBadResponse, "check base_url", 1},
			{"null", answer{body: `null`}, agent.StatusBadResponse, "check base_url", 1},
			{"breaks off", answer{body: good(provider)[:100], cut: true}, agent.StatusConnection, "broke off", 3},
			{"never ends", answer{body: strings.Repeat(" ", 1<<20), flood: true}, agent.StatusBadResponse, "more than 16 MiB", 1},
			{"an error page", answer{status: 502, body: "<html>bad gateway", header: map[string]string{"Content-Type": "text/html"}}, agent.StatusUnavailable, "HTTP 502", 3},
			{"a plain 404", answer{status: 404, body: "404 page not found", header: map[string]string{"Content-Type": "text/plain"}}, agent.StatusNotFound, "base_url", 1},
			{"an error as text", answer{status: 400, body: `{"error":"model not loaded"}`}, agent.StatusBadRequest, "model not loaded", 1},
			{"a redirect", answer{status: 307, header: map[string]string{"Location": "http://127.0.0.1:1/elsewhere"}}, agent.StatusBadRequest, "redirects", 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				u := serve(t, c.answer)
				_, err := open(t, provider, u, nil, solve.Experiment{}).Query(t.Context(), history())
				wantError(t, err, c.exit, c.want)
				if u.calls() != c.calls {
					t.Errorf("%d calls, want %d", u.calls(), c.calls)
				}
			})
		}
	})
}

func TestRetriesUntilItWorks(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, provider string) {
		u := serve(t, answer{status: 529, body: failed(provider, "overloaded_error", "x")}, answer{status: 500, body: "?"}, answer{body: good(provider)})
		var logged bytes.Buffer
		var told []string
		ctx := agent.WithRetries(zerolog.New(&logged).WithContext(t.Context()), func(text string) { told = append(told, text) })
		got, err := open(t, provider, u, nil, solve.Experiment{}).Query(ctx, history())
		if len(told) != 2 || !strings.HasPrefix(told[0], "model m: the provider failed (HTTP 529): x; try 1 of 3 failed, the next is in ") {
			t.Errorf("told %q", told)
		}
		if err != nil || got.Message.Content != "Now." || u.calls() != 3 || got.Usage.Calls != 1 {
			t.Errorf("%+v, %v after %d calls", got, err, u.calls())
		}
		if n := strings.Count(logged.String(), "model call failed, will be tried again"); n != 2 || strings.Contains(logged.String(), "retry after") {
			t.Errorf("log: %s", logged.String())
		}
		first, last := u.bodies[0], u.bodies[2]
		if first != last {
			t.Error("the retried request differs")
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, provider string) {
		u := serve(t, answer{status: 429, header: map[string]string{"Retry-After": "0.3"}}, answer{body: good(provider)})
		start := time.Now()
		if _, err := open(t, provider, u, nil, solve.Experiment{}).Query(t.Context(), history()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 300*time.Millisecond {
			t.Errorf("came back after %s", d)
		}
		// Who asks for an hour is not waited for.
		u = serve(t, answer{status: 429, header: map[string]string{"Retry-After": "3600"}, body: failed(provider, "x", "later")})
		_, err := open(t, provider, u, nil, solve.Experiment{}).Query(t.Context(), history())
		wantError(t, err, agent.StatusRateLimit, "later")
		var me *model.Error
		if !errors.As(err, &me) || me.RetryAfter() != time.Hour || u.calls() != 1 {
			t.Errorf("%v after %d calls", err, u.calls())
		}
	})
}

// A key of any shape is taken out of what a server echoes, and a refused key's
// error does not quote the server at all.
func TestEchoedKeys(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, provider string) {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte("hunter2hunter2"), 0o600); err != nil {
			t.Fatal(err)
		}
		for status, want := range map[int]string{400: "got [key]!", 401: "check api_key_file " + path} {
			u := serve(t, answer{status: status, body: failed(provider, "x", "got hunter2hunter2!")})
			m := open(t, provider, u, func(e *model.Entry) { e.APIKeyFile = path }, solve.Experiment{})
			_, err := m.Query(t.Context(), history())
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%d: %v, want %q", status, err, want)
			}
		}
	})
}

func TestRetryAfterForms(t *testing.T) {
	t.Parallel()
	in := time.Now().Add(2 * time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	for _, c := range []struct {
		header, value string
		min, max      time.Duration
	}{
		{"Retry-After-Ms", "700000", 700 * time.Second, 700 * time.Second},
		{"Retry-After", "700", 700 * time.Second, 700 * time.Second},
		{"Retry-After", in, 119 * time.Minute, 2 * time.Hour},
	} {
		u := serve(t, answer{status: 503, header: map[string]string{c.header: c.value}})
		_, err := open(t, model.OpenAI, u, nil, solve.Experiment{}).Query(t.Context(), history())
		var me *model.Error
		if !errors.As(err, &me) || me.RetryAfter() < c.min || me.RetryAfter() > c.max {
			t.Errorf("%s: %s: %v", c.header, c.value, me.RetryAfter())
		}
	}
	for _, value := range []string{"soon", "-5", "Mon, 02 Jan 2006 15:04:05 GMT", "1e99", "NaN"} { // no wait: the usual backoff
		u := serve(t, answer{status: 503, header: map[string]string{"Retry-After": value}}, answer{body: chat})
		if _, err := open(t, model.OpenAI, u, nil, solve.Experiment{}).Query(t.Context(), history()); err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestHangingUpstream(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, provider string) {
		u := serve(t, answer{hang: true})
		m := open(t, provider, u, func(e *model.Entry) { e.Timeout = 500 * time.Millisecond }, solve.Experiment{})
		_, err := m.Query(t.Context(), history())
		wantError(t, err, agent.StatusTimeout, "did not answer within 500ms")
		if u.calls() != 3 {
			t.Errorf("%d calls", u.calls())
		}
	})
}

func TestUnreachableUpstream(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, provider string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + l.Addr().String()
		l.Close()
		u := serve(t, answer{})
		_, err = open(t, provider, u, func(e *model.Entry) { e.BaseURL = url }, solve.Experiment{}).Query(t.Context(), history())
		wantError(t, err, agent.StatusConnection, "cannot be reached")
	})
}

// A cancelled call ends at once, also while it waits for its next attempt, and
// gives back the cause.
func TestCancel(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, provider string) {
		for _, a := range []answer{{hang: true}, {status: 429, header: map[string]string{"Retry-After": "60"}}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			a.seen = func() { time.AfterFunc(50*time.Millisecond, func() { cancel(agent.ErrCancelled) }) }
			u := serve(t, a)
			start := time.Now()
			_, err := open(t, provider, u, nil, solve.Experiment{}).Query(ctx, history())
			if !errors.Is(err, agent.ErrCancelled) || time.Since(start) > 3*time.Second || u.calls() != 1 {
				t.Errorf("%v after %s, %d calls", err, time.Since(start), u.calls())
			}
		}
	})
}

func TestLongForeignTextIsCut(t *testing.T) {
	t.Parallel()
	u := serve(t, answer{status: 400, body: failed(model.OpenAI, "x", `line\nline `+strings.Repeat("é", 1000))})
	_, err := open(t, model.OpenAI, u, nil, solve.Experiment{}).Query(t.Context(), history())
	wantError(t, err, agent.StatusBadRequest, "line line éé")
	if n := len(err.Error()); n > 450 {
		t.Errorf("%d bytes", n)
	}
}
