package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/solve"
)

// key is the provider's, which must be seen nowhere but in its header upstream.
const key = "sk-real-0123456789abcdef"

// answer is what an upstream says to one request.
type answer struct {
	status int // 0 is 200
	header map[string]string
	kind   string   // content type; "" goes by the parts
	parts  []string // written and flushed one by one
	hang   bool     // before the first byte, until the client goes away
	stall  bool     // after the last part, likewise
	cut    bool     // breaks off after the last part
	wait   <-chan struct{}
}

func stream(parts ...string) answer { return answer{kind: "text/event-stream", parts: parts} }
func plain(body string) answer      { return answer{parts: []string{body}} }
func failed(status int, body string) answer {
	return answer{status: status, parts: []string{body}}
}

// provider is an upstream that plays answers, the last one for ever.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	answers []answer
	heads   []http.Header
	urls    []string
	bodies  [][]byte
	open    int // requests at work
}

func newProvider(t *testing.T, answers ...answer) *provider {
	t.Helper()
	p := &provider{answers: answers}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.heads, p.urls, p.bodies = append(p.heads, r.Header), append(p.urls, r.URL.RequestURI()), append(p.bodies, body)
	a := p.answers[min(len(p.urls), len(p.answers))-1]
	p.open++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
	}()
	if a.hang {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if a.kind != "" {
		w.Header().Set("Content-Type", a.kind)
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(max(a.status, 200))
	for _, part := range a.parts {
		_, _ = io.WriteString(w, part)
		_ = http.NewResponseController(w).Flush()
	}
	if a.wait != nil {
		select {
		case <-a.wait:
		case <-r.Context().Done():
		}
	}
	if a.stall {
		<-r.Context().Done()
	}
	if a.cut {
		panic(http.ErrAbortHandler)
	}
}

func (p *provider) working() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

func (p *provider) calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.urls)
}

// last is the latest request.
func (p *provider) last() (url string, head http.Header, body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.urls) - 1
	if n < 0 {
		return "", nil, ""
	}
	return p.urls[n], p.heads[n], string(p.bodies[n])
}

// books is an account that keeps what is booked.
type books struct {
	mu     sync.Mutex
	refuse error // of Begin
	lost   error // of End
	worst  []solve.Money
	calls  []agent.Call
}

func (b *books) Begin(_ context.Context, worst solve.Money) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		return b.refuse
	}
	b.worst = append(b.worst, worst)
	return nil
}

func (b *books) End(_ context.Context, c agent.Call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
	return b.lost
}

func (b *books) settled() []agent.Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// one waits until n calls are settled and returns the last; every call that was begun must be.
func (b *books) wait(t *testing.T, n int) agent.Call {
	t.Helper()
	await(t, "calls are settled", func() bool { return len(b.settled()) >= n })
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.calls) != n || len(b.worst) != n {
		t.Fatalf("%d calls begun, %d settled, want %d", len(b.worst), len(b.calls), n)
	}
	return b.calls[n-1]
}

// await polls until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("still not: %s", what)
		}
	}
}

// world is a gateway with one model, and a run of it.
type world struct {
	t       *testing.T
	up      *provider
	g       *gateway.Gateway
	books   *books
	session agent.GatewaySession
	shut    func()
	log     *syncBuffer
	mu      sync.Mutex
	count   []gateway.Count
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// setting changes what a world is made of.
type setting struct {
	entry model.Entry
	cfg   gateway.Config
	x     solve.Experiment
	opts  []model.Option
	books *books
	env   func(string) string
}

const run = "run-a"

func newWorld(t *testing.T, provider string, change func(*setting), answers ...answer) *world {
	t.Helper()
	w := &world{t: t, log: &syncBuffer{}}
	s := setting{
		entry: model.Entry{
			Name: "m", Provider: provider, Model: "the-model", APIKeyEnv: "THE_KEY", Timeout: 5 * time.Second,
			Price: agent.Price{Input: 100, CachedInput: 10, CacheWrite: 125, Output: 1000},
		},
		cfg: gateway.DefaultConfig(), x: solve.Experiment{Model: "m"}, books: &books{},
		env: func(name string) string { return map[string]string{"THE_KEY": key}[name] },
	}
	s.cfg.Dir = t.TempDir()
	if len(answers) > 0 {
		w.up = newProvider(t, answers...)
		s.entry.BaseURL = w.up.URL + "/v1"
		if provider == model.OpenAI {
			s.entry.APIs = []string{agent.APIChat, agent.APIResponses}
		}
	}
	if change != nil {
		change(&s)
	}
	w.books = s.books
	models, err := model.NewSet(model.Config{Attempts: 3, RetryWait: time.Millisecond, RetryMax: 2 * time.Millisecond, Models: []model.Entry{s.entry}}, s.env, s.opts...)
	if err != nil {
		t.Fatal(err)
	}
	w.g, err = gateway.New(s.cfg, models, "https://yudai.test/", zerolog.New(w.log), gateway.WithCounter(func(c gateway.Count) {
		w.mu.Lock()
		w.count = append(w.count, c)
		w.mu.Unlock()
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.g.Close() })
	if w.session, w.shut, err = w.g.Open(run, agent.AccessLoopback, s.x, w.books); err != nil {
		t.Fatal(err)
	}
	return w
}

// said is an answer of the gateway.
type said struct {
	status int
	head   http.Header
	body   string
}

// ask makes a call as a plain client.
func (w *world) ask(path, body string, header ...string) said {
	w.t.Helper()
	return w.askWith(w.t.Context(), w.session.URL+path, "Bearer "+w.session.Token, body, header...)
}

func (w *world) askWith(ctx context.Context, url, auth, body string, header ...string) said {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if auth != "" {
		req.Header.Set("Authorization", auth)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("read the answer: %v after %q", err, data)
	}
	return said{res.StatusCode, res.Header, string(data)}
}

// wrong reads an error in the shape of an API.
func (s said) wrong(t *testing.T, api string) (kind, message string) {
	t.Helper()
	var e struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(s.body), &e); err != nil || e.Error.Type == "" || e.Error.Message == "" || (api == agent.APIMessages) != (e.Type == "error") {
		t.Fatalf("not an error in the shape of %s: %d %s", api, s.status, s.body)
	}
	if ct := s.head.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	return e.Error.Type, e.Error.Message
}

// clean fails if a secret is in what was said, logged or kept.
func (w *world) clean(texts ...string) {
	w.t.Helper()
	for _, text := range append(texts, w.log.String()) {
		for _, secret := range []string{key, "0123456789abcdef", w.session.Token} {
			if strings.Contains(text, secret) {
				w.t.Errorf("a secret is in %q", text)
			}
		}
	}
}

func path(api string) string {
	return map[string]string{agent.APIChat: "/v1/chat/completions", agent.APIResponses: "/v1/responses", agent.APIMessages: "/v1/messages"}[api]
}
