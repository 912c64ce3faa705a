package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// said is an error body of the API's provider.
func errorBody(api, kind, text string) string {
	if api == agent.APIMessages {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + text + `"},"request_id":"req_1"}`
	}
	return `{"error":{"message":"` + text + `","type":"` + kind + `","param":"p","code":"c"}}`
}

// What a provider says about a request reaches the agent in the API's shape; what it says
// about our account does not.
func TestErrorsOfProviders(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for _, c := range []struct {
			name, kind, text string
			status, calls    int
			want             int
			message          string
			exit, trouble    string
		}{
			{"bad request", "invalid_request_error", "no such thing, key " + key, 400, 1, 400, "no such thing, key [key]", agent.StatusBadRequest, "no such thing"},
			{"too long", "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", 400, 1, 400, "prompt is too long: 210000 tokens > 200000 maximum", agent.StatusContext, "too long"},
			{"our key", "authentication_error", "Incorrect API key provided: " + key, 401, 1, 401, "Who runs yudai is told", agent.StatusAuthentication, "check THE_KEY"},
			{"our account", "permission_error", "organization org-Abcdefgh12345 may not", 403, 1, 401, "Who runs yudai is told", agent.StatusPermission, "organization [account] may not"},
			{"our money", "billing_error", "pay", 402, 1, 401, "Who runs yudai is told", agent.StatusPermission, "pay"},
			{"unknown model", "not_found_error", "model: the-model", 404, 1, 404, "model: the-model", agent.StatusNotFound, "check model and base_url"},
			{"rate limit", "rate_limit_error", "limit of org-Abcdefgh12345 reached", 429, 3, 429, "limit of [account] reached", agent.StatusRateLimit, "limits our rate"},
			{"overloaded", "overloaded_error", "Overloaded", 529, 3, 529, "Overloaded", agent.StatusUnavailable, "Overloaded"},
			{"internal", "api_error", "oops", 500, 3, 500, "oops", agent.StatusInternal, "oops"},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, provider, nil, failed(c.status, errorBody(api, c.kind, c.text)))
				got := w.ask(path(api), `{"stream":true}`)
				kind, message := got.wrong(t, api)
				if got.status != c.want || !strings.Contains(message, c.message) || c.want == c.status && kind != c.kind && c.status != 401 {
					t.Errorf("%d %s: %q, want %d with %q", got.status, kind, message, c.want, c.message)
				}
				if got.head.Get("X-Should-Retry") != "false" {
					t.Error("the client may try all of it again")
				}
				if w.up.calls() != c.calls {
					t.Errorf("%d attempts, want %d", w.up.calls(), c.calls)
				}
				call := w.books.wait(t, 1)
				if call.Usage != (solve.Usage{}) || call.Estimated || call.Status != c.want {
					t.Errorf("booked %+v", call)
				}
				var me agent.ModelError
				if !errors.As(w.session.LastError(), &me) || me.ExitStatus() != c.exit || !strings.Contains(me.Public(), c.trouble) {
					t.Errorf("trouble %v, want %s with %q", w.session.LastError(), c.exit, c.trouble)
				}
				w.clean(got.body, fmt.Sprint(w.session.LastError(), call.Err))
			})
		}
	})
}

func TestQuotaIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, nil, failed(429, `{"error":{"message":"quota","type":"insufficient_quota","code":"insufficient_quota"}}`))
	got := w.ask(path(agent.APIChat), `{}`)
	if _, message := got.wrong(t, agent.APIChat); got.status != 401 || !strings.Contains(message, "stop") || w.up.calls() != 1 {
		t.Errorf("%+v after %d calls", got, w.up.calls())
	}
}

// A passing fault is tried again before the client hears of it, and trouble goes with it.
func TestPassingFaults(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		w := newWorld(t, provider, nil, answer{status: 529, parts: []string{`{}`}, header: map[string]string{"Retry-After-Ms": "2"}}, answer{cut: true, header: map[string]string{"Content-Length": "9"}}, plain(whole(api)))
		if got := w.ask(path(api), `{"a":1}`); got.status != 200 || got.body != whole(api) {
			t.Errorf("%+v", got)
		}
		if call := w.books.wait(t, 1); call.Usage != paid() || w.up.calls() != 3 || w.session.LastError() != nil {
			t.Errorf("%+v after %d calls, trouble %v", call, w.up.calls(), w.session.LastError())
		}
		for i, body := range w.up.bodies {
			if string(body) != string(w.up.bodies[0]) {
				t.Errorf("attempt %d sent %q", i, body)
			}
		}
	})
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for _, c := range []struct {
			name   string
			answer answer
			ask    string
			status int
			paid   bool
			exit   string
		}{
			{"invalid JSON", plain(`{"id": oops}`), `{}`, 502, true, agent.StatusBadResponse},
			{"cut JSON", plain(whole(api)[:90]), `{}`, 502, true, agent.StatusBadResponse},
			{"breaks off", answer{parts: []string{whole(api)[:90]}, cut: true}, `{}`, 502, true, agent.StatusConnection},
			{"another JSON", plain(`{"status":"ok"}`), `{}`, 502, false, agent.StatusBadResponse},
			{"no object", plain(`[]`), `{}`, 502, false, agent.StatusBadResponse},
			{"a page", answer{kind: "text/html", parts: []string{"<html>" + key}}, `{}`, 502, false, agent.StatusBadResponse},
			{"a page for a stream", answer{kind: "text/html", parts: []string{"<html>"}}, `{"stream":true}`, 502, false, agent.StatusBadResponse},
			{"a stream nobody wanted", stream(events(api)...), `{}`, 502, false, agent.StatusBadResponse},
			{"empty", plain(""), `{}`, 502, false, agent.StatusBadResponse},
			{"a stream of nonsense", stream("data: {oops}\n\n"), `{"stream":true}`, 502, false, agent.StatusBadResponse},
			{"an empty stream", stream(": hi\n\n"), `{"stream":true}`, 0, false, agent.StatusConnection},
			{"a redirect", answer{status: 302, header: map[string]string{"Location": "/elsewhere"}}, `{}`, 502, false, agent.StatusBadRequest},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, provider, nil, c.answer)
				got := w.ask(path(api), c.ask)
				if c.status != 0 {
					got.wrong(t, api)
				} else if !strings.Contains(got.body, "error") {
					t.Errorf("no error in %q", got.body)
				}
				if c.status != 0 && got.status != c.status {
					t.Errorf("%d %s", got.status, got.body)
				}
				call := w.books.wait(t, 1)
				if (call.Usage.Calls == 1) != c.paid || call.Estimated != c.paid || (call.Usage.Cost > 0) != c.paid {
					t.Errorf("booked %+v", call)
				}
				var me agent.ModelError
				if !errors.As(w.session.LastError(), &me) || me.ExitStatus() != c.exit {
					t.Errorf("trouble %v, want %s", w.session.LastError(), c.exit)
				}
				if w.up.calls() != 1 {
					t.Errorf("%d calls", w.up.calls())
				}
				w.clean(got.body, fmt.Sprint(w.session.LastError()))
			})
		}
	})
}

// A stream that is cut, falls silent or turns into nonsense ends with an error of its API,
// and what came of it is paid.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		begin := map[string][]string{agent.APIChat: {chatDelta}, agent.APIResponses: {replyDelta}, agent.APIMessages: {claudStart, claudBlock, claudDelta}}[api]
		for name, a := range map[string]answer{
			"cut":            {kind: "text/event-stream", parts: begin, cut: true},
			"cut in a word":  {kind: "text/event-stream", parts: append(begin[:len(begin):len(begin)], "data: {\"cho"), cut: true},
			"ends too early": {kind: "text/event-stream", parts: begin},
			"silent":         {kind: "text/event-stream", parts: begin, stall: true},
			"nonsense":       {kind: "text/event-stream", parts: append(begin[:len(begin):len(begin)], "data: <html>\n\n"), stall: true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, provider, func(s *setting) { s.cfg.IdleTimeout = 300 * time.Millisecond }, a)
				got := w.ask(path(api), `{"model":"the-model","stream":true}`)
				rest, ok := strings.CutPrefix(got.body, strings.Join(begin, ""))
				if !ok || got.status != 200 {
					t.Fatalf("%d %q", got.status, got.body)
				}
				data := rest[strings.Index(rest, "data: ")+6:]
				(said{200, http.Header{"Content-Type": {"application/json"}}, data}).wrong(t, map[bool]string{true: agent.APIChat, false: agent.APIMessages}[api == agent.APIChat])
				if api != agent.APIChat && !strings.HasPrefix(rest, "event: error\n") {
					t.Errorf("the error is %q", rest)
				}
				call := w.books.wait(t, 1)
				_, _, sent := w.up.last()
				want := solve.Usage{Calls: 1, Input: (int64(len(sent)) + 3) / 4, Output: 2}
				want.Cost = solve.Money(want.Input*100 + 2000)
				if api == agent.APIMessages {
					want = solve.Usage{Calls: 1, Input: 100, CachedRead: 40, Output: 2, Cost: 60*100 + 40*10 + 2000}
				}
				if call.Usage != want || !call.Estimated || call.Err == nil || w.up.calls() != 1 {
					t.Errorf("booked %+v, want %+v", call, want)
				}
				if _, ok := errors.AsType[agent.ModelError](w.session.LastError()); !ok {
					t.Errorf("trouble %v", w.session.LastError())
				}
				await(t, "the provider works no more", func() bool { return w.up.working() == 0 })
			})
		}
	})
}

// TestProviderThatHangs: a call that was never answered is no step, and what was sent is paid, once for each try.
func TestProviderThatHangs(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		w := newWorld(t, provider, func(s *setting) { s.entry.Timeout = 300 * time.Millisecond }, answer{hang: true})
		got := w.ask(path(api), `{}`)
		got.wrong(t, api)
		call := w.books.wait(t, 1)
		_, _, sent := w.up.last()
		var me agent.ModelError
		if got.status != 504 || call.Usage.Calls != 0 || !call.Estimated || call.Usage.Input != int64(3*((len(sent)+3)/4)) || call.Usage.Cost == 0 || w.up.calls() > 3 || !errors.As(w.session.LastError(), &me) || me.ExitStatus() != agent.StatusTimeout {
			t.Errorf("%+v, booked %+v after %d calls, trouble %v", got, call, w.up.calls(), w.session.LastError())
		}
	})
}

// Headers alone are no answer.
func TestProviderThatHangsAfterItsHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, func(s *setting) { s.entry.Timeout = 30 * time.Millisecond }, answer{kind: "text/event-stream", parts: []string{""}, stall: true})
	if got := w.ask(path(agent.APIChat), `{"stream":true}`); got.status != 504 || w.up.calls() > 3 || w.books.wait(t, 1).Usage.Calls != 0 {
		t.Errorf("%+v after %d calls", got, w.up.calls())
	}
}

func TestProviderThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, func(s *setting) { s.entry.BaseURL = "http://127.0.0.1:1/v1" })
	got := w.ask(path(agent.APIChat), `{}`)
	got.wrong(t, agent.APIChat)
	if call := w.books.wait(t, 1); got.status != 502 || call.Usage.Calls != 0 || strings.Contains(got.body, "127.0.0.1") {
		t.Errorf("%+v, booked %+v", got, call)
	}
}

// A client that goes away ends the provider's work at once, and pays for what there was.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for name, a := range map[string]answer{
			"before the answer": {hang: true},
			"in the middle":     {kind: "text/event-stream", parts: events(api)[:1], stall: true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, provider, nil, a)
				ctx, cancel := context.WithCancel(t.Context())
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.session.URL+path(api), strings.NewReader(`{"stream":true}`))
				req.Header.Set("X-Api-Key", w.session.Token)
				done := make(chan struct{})
				go func() {
					defer close(done)
					if res, err := http.DefaultClient.Do(req); err == nil {
						_, _ = bufio.NewReader(res.Body).ReadString('\n')
						cancel()
						res.Body.Close()
					}
				}()
				await(t, "the provider is asked", func() bool { return w.up.calls() == 1 })
				if name == "before the answer" {
					cancel()
				}
				<-done
				await(t, "the provider works no more", func() bool { return w.up.working() == 0 })
				call := w.books.wait(t, 1)
				if call.Usage.Calls != 1 || call.Usage.Cost == 0 || !call.Estimated || call.Err == nil || w.session.LastError() != nil {
					t.Errorf("%+v, trouble %v", call, w.session.LastError())
				}
				cancel()
			})
		}
	})
}

// slow gives out so many bytes and counts them.
type slow struct{ left, read int }

func (s *slow) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), s.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	s.left -= n
	s.read += n
	return n, nil
}

func TestTooLargeRequest(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for _, known := range []bool{true, false} {
			w := newWorld(t, provider, nil, plain(whole(api)))
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.session.URL+path(api), &slow{left: 50 << 20})
			if known {
				req.ContentLength = 50 << 20
			}
			req.Header.Set("Authorization", "Bearer "+w.session.Token)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			data, _ := io.ReadAll(res.Body)
			res.Body.Close()
			got := said{res.StatusCode, res.Header, string(data)}
			_, message := got.wrong(t, api)
			if got.status != 413 || !strings.Contains(message, "32 MiB") || w.up.calls() != 0 {
				t.Errorf("%+v", got)
			}
			if me, ok := errors.AsType[agent.ModelError](w.session.LastError()); !ok || me.ExitStatus() != agent.StatusContext {
				t.Errorf("trouble %v", w.session.LastError())
			}
			// The run goes on.
			if got := w.ask(path(api), `{}`); got.status != 200 {
				t.Errorf("then %+v", got)
			}
		}
	})
}

func TestModelsThatCannotBeCalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*setting)
		api    string
		status int
		exit   string
		public string
	}{
		{"unknown", func(s *setting) { s.x.Model = "y" }, agent.APIChat, 404, agent.StatusNotFound, "unknown model"},
		{"no key", func(s *setting) { s.env = func(string) string { return "" } }, agent.APIChat, 401, agent.StatusAuthentication, "THE_KEY is not set"},
		{"not by this API", nil, agent.APIMessages, 404, agent.StatusNotFound, "but by chat, responses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, model.OpenAI, c.change, plain("{}"))
			got := w.ask(path(c.api), `{}`)
			got.wrong(t, c.api)
			me, ok := errors.AsType[agent.ModelError](w.session.LastError())
			if got.status != c.status || !ok || me.ExitStatus() != c.exit || !strings.Contains(me.Public(), c.public) || w.up.calls() != 0 || len(w.books.settled()) != 0 {
				t.Errorf("%+v, trouble %v", got, w.session.LastError())
			}
			if strings.Contains(got.body, "THE_KEY") {
				t.Errorf("the agent reads our settings: %s", got.body)
			}
		})
	}
}

func TestPathsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, nil, plain("{}"))
	for _, c := range []struct{ path, api string }{
		{"/v1/embeddings", agent.APIChat}, {"/v1/messages/batches", agent.APIMessages}, {"/v1/responses/resp_1", agent.APIChat},
		{"//v1/chat/completions", agent.APIChat}, {"/v1/%2e%2e/v1/chat/completions", agent.APIChat}, {"/v1/./chat/completions", agent.APIChat},
		{"/v1/chat/completions/", agent.APIChat}, {"/", agent.APIChat}, {"", agent.APIChat},
	} {
		got := w.ask(c.path, `{}`)
		if got.wrong(t, c.api); got.status != 404 {
			t.Errorf("%s: %+v", c.path, got)
		}
	}
	if got := w.ask("/v1/files", `{}`, "Anthropic-Version", "2023-06-01"); got.status != 404 {
		got.wrong(t, agent.APIMessages)
	}
	res, err := http.Head(w.session.URL + "/")
	if err != nil || res.StatusCode != 200 {
		t.Error(res, err)
	}
	got := w.ask(path(agent.APIChat), `{}`, "Content-Encoding", "zstd")
	if got.wrong(t, agent.APIChat); got.status != 415 {
		t.Errorf("%+v", got)
	}
}

// A client that does not read holds nothing up for longer than a silent provider would.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	big := "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 1<<16) + "\"}}]}\n\n"
	w := newWorld(t, model.OpenAI, func(s *setting) { s.cfg.IdleTimeout, s.entry.MaxTokens = time.Second, 1<<22 }, stream(strings.Repeat(big, 150)))
	host, run, _ := strings.Cut(strings.TrimPrefix(w.session.URL, "http://"), "/")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"stream":true}`
	fmt.Fprintf(conn, "POST /%s/v1/chat/completions HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", run, w.session.Token, len(body), body)
	if call := w.books.wait(t, 1); !call.Estimated || call.Usage.Calls != 1 || w.session.LastError() != nil {
		t.Errorf("%+v, trouble %v", call, w.session.LastError())
	}
}
