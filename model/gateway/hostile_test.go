package gateway_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
)

// What an agent does or sends in bad faith, and what a provider should not do, is bounded.

// A client that does not read its answer does not keep the run from ending.
func TestRunEndsThoughNobodyReads(t *testing.T) {
	t.Parallel()
	big := strings.Replace(chatBody, "Hi", strings.Repeat("x", 15<<20), 1)
	for name, a := range map[string]answer{"whole": plain(big), "stream": stream(strings.Repeat(chatDelta, (15<<20)/len(chatDelta)))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, model.OpenAI, nil, a)
			host, run, _ := strings.Cut(strings.TrimPrefix(w.session.URL, "http://"), "/")
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			body := fmt.Sprintf(`{"stream":%v}`, name == "stream")
			fmt.Fprintf(conn, "POST /%s/v1/chat/completions HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", run, w.session.Token, len(body), body)
			if _, err := conn.Read(make([]byte, 1)); err != nil { // the answer has begun
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				w.shut()
			}()
			select {
			case <-ended:
			case <-time.After(10 * time.Second): // far below the idle timeout
				t.Error("the run does not end")
			}
		})
	}
}

// Requests that would cost the gateway much more than their size are refused.
func TestRequestsThatAreTooMuch(t *testing.T) {
	t.Parallel()
	nested := func(begin, end string) string { return strings.Repeat(begin, 3000) + strings.Repeat(end, 3000) }
	for _, c := range []struct{ name, body, want string }{
		{"groups in groups", `{"tools":[{"type":"web_search"},` + nested(`{"type":"namespace","tools":[`, `]}`) + `]}`, "groups of them"},
		{"many members", `{"a0":0` + numbered(5000, `,"b%d":0`) + `}`, "members"},
		{"much to include", `{"include":["a"` + strings.Repeat(`,"a"`, 20_000) + `]}`, "include must be"},
		{"many tools", `{"tools":[{"type":"function"}` + strings.Repeat(`,{"type":"function"}`, 20_000) + `]}`, "tools"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, model.OpenAI, nil, plain(replyBody))
			got := w.ask(path(agent.APIResponses), c.body)
			if _, message := got.wrong(t, agent.APIResponses); got.status != 400 || !strings.Contains(message, c.want) {
				t.Errorf("%d %s", got.status, message)
			}
		})
	}
}

// A choice of tools that is nested out of all measure is taken out with what it may name.
func TestChoiceThatIsTooDeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, nil, plain(replyBody))
	choice := strings.Repeat(`{"tools":[`, 3000) + strings.Repeat(`]}`, 3000)
	w.ask(path(agent.APIResponses), `{"tools":[{"type":"web_search"},{"type":"function"}],"tool_choice":`+choice+`}`)
	if _, _, sent := w.up.last(); sent != `{"tools":[{"type":"function"}],"store":false,"model":"the-model"}` {
		t.Errorf("sent %.200s", sent)
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Where a request limits its reply twice, the run is asked for leave with the larger limit.
func TestWorstOfTwoLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, nil, plain(chatBody))
	w.ask(path(agent.APIChat), `{"max_tokens":1,"max_completion_tokens":5000}`)
	if w.books.wait(t, 1); w.books.worst[0] < 5000*1000 {
		t.Errorf("asked for %d", w.books.worst[0])
	}
}

// A request is JSON for the provider, too, whatever its client calls it.
func TestRequestsAreJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, nil, plain(chatBody))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.session.URL+path(agent.APIChat), strings.NewReader(`{"a":"&model=dear&b="}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Api-Key", w.session.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if _, head, _ := w.up.last(); res.StatusCode != 200 || head.Get("Content-Type") != "application/json" {
		t.Errorf("%d, sent as %q", res.StatusCode, head.Get("Content-Type"))
	}
}

// An answer that comes compressed, though nobody asked for that, is an error, and paid.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for _, streaming := range []bool{false, true} {
			text, kind := whole(api), "application/json"
			if streaming {
				text, kind = strings.Join(events(api), ""), "text/event-stream"
			}
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write([]byte(text))
			_ = z.Close()
			w := newWorld(t, provider, nil, answer{kind: kind, parts: []string{b.String()}, header: map[string]string{"Content-Encoding": "gzip"}})
			got := w.ask(path(api), fmt.Sprintf(`{"stream":%v}`, streaming))
			got.wrong(t, api)
			if call := w.books.wait(t, 1); got.status != 502 || call.Usage.Calls != 1 || !call.Estimated || !strings.Contains(call.Err.Error(), "gzip") {
				t.Errorf("%+v, booked %+v", got, call)
			}
		}
	})
}

// What all calls of a run hold together is bounded: the next ones wait, and end with the run.
func TestManyLargeRequests(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, model.OpenAI, func(s *setting) { s.cfg.MaxRequestMiB = 1 }, answer{parts: []string{chatBody}, wait: release})
	body := `{"messages":[]` + strings.Repeat(" ", 1<<20-100) + `}`
	var calls sync.WaitGroup
	for range 7 {
		calls.Go(func() {
			if got := w.ask(path(agent.APIChat), body); got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	await(t, "four are at work", func() bool { return w.up.working() == 4 })
	for range 50 { // nothing else comes
		if n := w.up.calls(); n != 4 {
			t.Fatalf("%d calls came to the provider", n)
		}
		w.ask("/v1/models", "") // takes its time, and needs no room
	}
	close(release)
	calls.Wait()
	w.books.wait(t, 7)
}
