package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/fakeprovider"
	"github.com/yudai-dev/yudai/solve"
)

// Where the providers are, and the version of Anthropic's API where a client names none.
const (
	openAIURL        = "https://api.openai.com/v1"
	anthropicURL     = "https://api.anthropic.com"
	anthropicVersion = "2023-06-01"
)

// Upstream is a model as the gateway calls it for one run: bytes go in and come out.
// The key and the address stay inside.
type Upstream struct {
	client  client
	http    *http.Client
	accepts solve.TemperatureRule
}

// Upstream returns the model of an experiment for calls as they are. The error is one of
// [Set.Open]'s.
func (s *Set) Upstream(name string, x solve.Experiment) (*Upstream, error) {
	c, err := s.client(name, x)
	if err != nil {
		return nil, err
	}
	u := &Upstream{client: c, http: s.http, accepts: s.Temperature(name)}
	switch c.entry.Provider {
	case Roulette:
		return nil, fmt.Errorf("model %s: a roulette is for the agent mini only", name)
	case Scripted:
		u.client.entry.Price = s.scripts[name].PriceOf(name, c.entry.Price)
		u.client.cfg.Attempts = 1 // what a script plays is how all attempts came out
		u.http = newHTTP(inProcess{fakeprovider.Handler(func() (agent.Model, error) { return s.Open(name, x) })})
	}
	return u, nil
}

// root is the address to which the API's path is added, /v1 included.
func (e Entry) root() string {
	switch {
	case e.Provider == Scripted:
		return "http://scripted/v1"
	case e.BaseURL == "" && e.Provider == OpenAI:
		return openAIURL
	case e.BaseURL == "":
		return anthropicURL + "/v1"
	case e.Provider == Anthropic:
		return strings.TrimSuffix(strings.TrimRight(e.BaseURL, "/"), "/v1") + "/v1"
	}
	return strings.TrimRight(e.BaseURL, "/")
}

// Terms are what requests of one API to this model may say.
func (u *Upstream) Terms(api string) Terms {
	return u.client.entry.terms(api, u.client.temperature, u.accepts)
}

// Price is what the model's calls cost.
func (u *Upstream) Price() agent.Price { return u.client.entry.Price }

// APIs are those that the model offers.
func (u *Upstream) APIs() []string { return u.client.entry.apis() }

// CountsTokens says that the server has a method of its own for it, beside messages.
func (u *Upstream) CountsTokens() bool { return u.client.entry.Provider == Anthropic }

// Fail is an error of a call of this model that the caller found, for people.
func (u *Upstream) Fail(status, format string, args ...any) *Error {
	return u.client.fail(status, false, format, args...)
}

// Scrub takes the key, what looks like one, and the account's names out of a text.
func (u *Upstream) Scrub(text string) string { return u.client.scrub(text) }

// Clean makes foreign text fit for people: one line, short, without the key.
func (u *Upstream) Clean(text string) string { return u.client.clean(text) }

// Request is one call as a client of the gateway made it, already fit for the model.
type Request struct {
	API    string
	Count  bool        // ask how many tokens a message has
	Query  string      // passed on
	Header http.Header // passed on
	Body   []byte
	Idle   time.Duration // the longest silence in the middle of an answer
	Lost   func()        // called for each try that was given up while the provider worked; may be nil
}

// path is where an API is below the root.
func (r *Request) path() string {
	switch {
	case r.Count:
		return "/messages/count_tokens"
	case r.API == agent.APIChat:
		return "/chat/completions"
	case r.API == agent.APIResponses:
		return "/responses"
	}
	return "/messages"
}

// Send makes the call, again and again as the retry policy says, until the first byte of
// a good answer is there; after that nothing is tried again. The error is an [*Error], or
// the cause of the context's end, with [ErrInFlight] where an attempt was under way. The body
// must be closed; its errors are of the same kinds.
func (u *Upstream) Send(ctx context.Context, r Request) (*http.Response, error) {
	body := &payload{}
	body.data.Store(&r.Body)
	flying := false
	res, err := retry(ctx, &u.client, func(ctx context.Context) (*http.Response, *Error) {
		res, e := u.once(ctx, &r, body)
		flying = e != nil && ctx.Err() != nil
		if r.Lost != nil && e != nil && e.gaveUp && !flying {
			r.Lost()
		}
		return res, e
	})
	body.data.Store(nil) // a stream may last long
	if err != nil && flying {
		err = fmt.Errorf("%w: %w", ErrInFlight, err)
	}
	return res, err
}

// payload is the body of a request for as long as it may have to be sent again.
type payload struct{ data atomic.Pointer[[]byte] }

// reader gives out the bytes, and nothing once they are not needed any more.
func (p *payload) reader() io.ReadCloser {
	if data := p.data.Load(); data != nil {
		return &attemptBody{data: bytes.NewReader(*data)}
	}
	return http.NoBody
}

// attemptBody is the body of one attempt; closed, it holds nothing.
type attemptBody struct{ data *bytes.Reader }

func (b *attemptBody) Read(p []byte) (int, error) { return b.data.Read(p) }

// Close lets go of the bytes.
func (b *attemptBody) Close() error {
	b.data.Reset(nil)
	return nil
}

// once is one attempt: until the first byte of an answer.
func (u *Upstream) once(ctx context.Context, r *Request, body *payload) (*http.Response, *Error) {
	inner, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(u.client.entry.Timeout, func() { cancel(errAttempt) })
	defer timer.Stop()
	res, first, e := u.begin(inner, r, body)
	if e != nil {
		if res != nil {
			_ = res.Body.Close()
		}
		cancel(nil)
		return nil, e
	}
	res.Request = nil // it is in the way of the request's bytes
	res.Body = newAnswer(u, res, cancel, first, r.Idle)
	return res, nil
}

// begin sends the request and reads the first byte of a good answer. The caller closes the
// body of any other.
func (u *Upstream) begin(ctx context.Context, r *Request, body *payload) (*http.Response, byte, *Error) {
	req, err := u.request(ctx, r, body)
	if err != nil {
		return nil, 0, u.client.fail(agent.StatusBadRequest, false, "the request cannot be made; check base_url")
	}
	res, err := u.http.Do(req)
	if err != nil {
		return nil, 0, u.client.classify(ctx, nil, err)
	}
	if res.StatusCode >= 300 {
		return res, 0, u.client.classify(ctx, res, errStatus)
	}
	var one [1]byte
	if n, err := io.ReadFull(res.Body, one[:]); n == 0 {
		return res, 0, u.empty(ctx, res, err)
	}
	return res, one[0], nil
}

// errStatus stands for an answer that is an error by its status.
var errStatus = errors.New("error status")

// empty is an answer of which nothing came.
func (u *Upstream) empty(ctx context.Context, res *http.Response, err error) *Error {
	if errors.Is(err, io.EOF) {
		return u.client.fail(agent.StatusBadResponse, false, "the answer is empty (HTTP %d); check base_url and provider", res.StatusCode)
	}
	if errors.Is(context.Cause(ctx), errAttempt) {
		return u.client.classify(ctx, res, err)
	}
	return u.client.fail(agent.StatusConnection, true, "the provider's answer broke off")
}

// request is the HTTP request of one attempt.
func (u *Upstream) request(ctx context.Context, r *Request, body *payload) (*http.Request, error) {
	target := u.client.entry.root() + r.path()
	if r.Query != "" {
		target += "?" + r.Query
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, body.reader())
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(r.Body))
	req.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	req.Header = r.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Accept-Encoding", "identity") // bytes are passed on as they come
	if r.API == agent.APIMessages && req.Header.Get("Anthropic-Version") == "" {
		req.Header.Set("Anthropic-Version", anthropicVersion)
	}
	switch {
	case u.client.key == "":
	case u.client.entry.Provider == Anthropic:
		req.Header.Set("X-Api-Key", u.client.key)
	default:
		req.Header.Set("Authorization", "Bearer "+u.client.key)
	}
	return req, nil
}
