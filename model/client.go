package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/model/meter"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// maxBody is the longest answer that is read, many times what a model writes.
	maxBody = 16 << 20
	// maxStream is the longest answer that comes as a stream of events.
	maxStream = 512 << 20
	// maxWait is the longest Retry-After that is waited for; a provider that asks
	// for more has, for this run, failed.
	maxWait = 5 * time.Minute
)

// client calls one model for one experiment. It is the agent.Model of both providers.
type client struct {
	entry       Entry
	key         string
	temperature *float64 // nil sends none
	mode        string
	cfg         Config
	api         string
	told        func(name string, failed *Error) // of each try's end; nil tells nobody
	// ask makes one try. Its reply has no usage: see [client.Query].
	ask func(ctx context.Context, c *client, history []agent.Message, s *sent) (agent.Reply, error)
}

var (
	_ agent.Model      = (*client)(nil)
	_ agent.ModeSetter = (*client)(nil)
)

// Name is the configured model name.
func (c *client) Name() string { return c.entry.Name }

// InMode returns the model for tools or text.
func (c *client) InMode(mode string) agent.Model {
	out := *c
	out.mode = mode
	return &out
}

// Query sends the history. The usage is right with an error, too: tries that were given up
// while the provider worked are paid for.
func (c *client) Query(ctx context.Context, history []agent.Message) (agent.Reply, error) {
	var m meter.Meter
	reply, err := retry(ctx, c, func(ctx context.Context) (agent.Reply, *Error) {
		inner, cancel := context.WithTimeoutCause(ctx, c.entry.Timeout, errAttempt)
		defer cancel()
		s := &sent{}
		reply, err := c.ask(inner, c, history, s)
		m.Call = meter.Call{API: c.api, Price: c.entry.Price, Bytes: s.bytes, Reply: c.longestReply()}
		if err != nil {
			if s.worked(inner) {
				m.Lose()
			}
			return reply, c.classify(inner, s.answer, err)
		}
		if m.Whole(reply.Raw); m.TooLong() {
			return reply, c.fail(agent.StatusBadResponse, false, meter.TextTooLong+"; check base_url and provider")
		}
		return reply, nil
	})
	if err != nil {
		m.Failure = "failed"
	}
	bill := m.Bill()
	if reply.Usage = bill.Usage; bill.Marked {
		reply.Usage.Estimated = 1
	}
	if bill.Unbooked > 0 {
		zerolog.Ctx(ctx).Warn().Stringer(logkey.Cost, bill.Unbooked).Msg("call cost more than its bound; the rest is not booked")
	}
	return reply, err
}

// longestReply is what a request asks for, in tokens; 0 is not limited.
func (c *client) longestReply() int64 {
	if c.entry.MaxTokens == 0 && c.api == agent.APIMessages {
		return defaultReply
	}
	return int64(c.entry.MaxTokens)
}

// sent is what is known of a try beside the SDK's answer.
type sent struct {
	bytes  int64
	answer *http.Response
}

// watch is a middleware of both SDKs.
func (s *sent) watch(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	s.bytes = max(req.ContentLength, 0)
	res, err := next(req)
	s.answer = res
	return res, err
}

// worked says that the provider worked on a failed try: it answered well and broke off, or we gave up.
func (s *sent) worked(ctx context.Context) bool {
	return s.bytes > 0 && (s.answer != nil && s.answer.StatusCode < http.StatusMultipleChoices || s.answer == nil && ctx.Err() != nil)
}

// retry tries until it succeeds, fails for good, or has been tried often enough. The
// SDKs' own retries are off: this is the only place.
func retry[T any](ctx context.Context, c *client, try func(context.Context) (T, *Error)) (T, error) {
	n, cfg := 0, c.cfg
	once := func() (T, error) {
		n++
		reply, e := try(ctx)
		if c.told != nil && ctx.Err() == nil {
			c.told(c.entry.Name, e)
		}
		if e == nil {
			return reply, nil
		}
		if ctx.Err() != nil {
			return reply, backoff.Permanent(context.Cause(ctx))
		}
		switch {
		case !e.retry, e.after > maxWait:
			return reply, backoff.Permanent(e)
		case e.after > 0: // and a little more, so that the runs of a solve do not come back together
			wait := e.after + rand.N(e.after/10+time.Millisecond)
			return reply, errors.Join(e, &backoff.RetryAfterError{Duration: wait})
		}
		return reply, e
	}
	wait := &backoff.ExponentialBackOff{
		InitialInterval: cfg.RetryWait, MaxInterval: cfg.RetryMax, Multiplier: 2, RandomizationFactor: 0.5,
	}
	reply, err := backoff.Retry(ctx, once,
		backoff.WithBackOff(wait), backoff.WithMaxTries(uint(cfg.Attempts)), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, d time.Duration) {
			zerolog.Ctx(ctx).Warn().Err(bare(err)).Int(logkey.Attempt, n).Dur(logkey.Duration, d).Msg("model call failed, will be tried again")
			if e, ok := errors.AsType[*Error](err); ok {
				agent.Retrying(ctx, fmt.Sprintf("%s; try %d of %d failed, the next is in %s", e.public, n, cfg.Attempts, solve.FormatDuration(d)))
			}
		}))
	if err != nil {
		var none T
		return none, bare(err)
	}
	return reply, nil
}

// bare is the Error without what was joined to it for the waiting.
func bare(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return err
}

// newHTTP is the client of all providers: no redirects, because a key goes to
// no other place than the one configured, and no endless answers.
func newHTTP(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     limited{t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// limited ends answers that are too long with an http.MaxBytesError.
type limited struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper]. A stream says the same in many more bytes, and
// nobody keeps it.
func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	most := int64(maxBody)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		most = maxStream
	}
	res.Body = http.MaxBytesReader(nil, res.Body, most)
	return res, nil
}

// tooLong reports whether an answer was too long.
func tooLong(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}
