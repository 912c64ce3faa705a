package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// agentName is how we name ourselves. The edge of the sandboxes answers with
// pages where this has a browser's name in it, "edge" inside another word, too.
const agentName = "yudai/1"

// pace says how long the control plane is asked again.
type pace struct {
	call time.Duration // one request
	slow time.Duration // one request that makes, forks, freezes or pauses

	first time.Duration // the first wait; it grows, with chance in it
	most  time.Duration // the longest
	broke time.Duration // all tries together where the service is down
	rated time.Duration // where it says when to come again
	full  time.Duration // where all slots are in use
}

func defaultPace() pace {
	return pace{
		call: time.Minute, slow: 3 * time.Minute,
		first: 500 * time.Millisecond, most: 8 * time.Second,
		broke: 20 * time.Second, rated: time.Minute, full: 30 * time.Second,
	}
}

// control speaks to the control plane.
type control struct {
	base string
	key  string
	http *http.Client
	pace pace
	// old is set once the server turned out to have only the first version of a route.
	old atomic.Bool
}

// request is one call.
type request struct {
	what   string // for errors
	method string
	path   string
	query  url.Values
	body   any // nil for none
	// makes: it makes something, so that it is not repeated after an answer that
	// leaves open whether it did.
	makes bool
	slow  bool
}

// call asks until there is an answer, within bounds, and decodes it into out,
// unless that is nil. Other statuses than 2xx are a [*problem].
func (c *control) call(ctx context.Context, r request, out any) (http.Header, error) {
	waits := newWaits(c.pace)
	for {
		header, err := c.once(ctx, r, out)
		if err == nil {
			return header, nil
		}
		d, again := waits.after(ctx, err, r.makes)
		if !again || !wait(ctx, d) {
			return header, err
		}
	}
}

// once sends the request one time.
func (c *control) once(ctx context.Context, r request, out any) (http.Header, error) {
	limit := c.pace.call
	if r.slow {
		limit = c.pace.slow
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := c.build(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.what, bare(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp.Header, readProblem(r.what, resp, c.key)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return resp.Header, fmt.Errorf("%s: read the answer: %w", r.what, err)
	}
	if out == nil {
		return resp.Header, nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return resp.Header, fmt.Errorf("%s: the answer is not what the service documents: %w", r.what, err)
	}
	return resp.Header, nil
}

func (c *control) build(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("%s: encode: %w", r.what, err)
		}
		body = bytes.NewReader(data)
	}
	at := c.base + r.path
	if len(r.query) > 0 {
		at += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, at, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.what, err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-API-Key", c.key)
	req.Header.Set("User-Agent", agentName)
	return req, nil
}

// waits decides how often one call is tried.
type waits struct {
	pace  pace
	began time.Time
	grow  backoff.ExponentialBackOff
}

func newWaits(p pace) *waits {
	w := &waits{pace: p, began: time.Now(), grow: backoff.ExponentialBackOff{
		InitialInterval: p.first, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: p.most,
	}}
	w.grow.Reset()
	return w
}

// after says whether to try again after an error, and when.
func (w *waits) after(ctx context.Context, err error, makes bool) (time.Duration, bool) {
	d, budget := w.grow.NextBackOff(), w.pace.broke
	var p *problem
	switch {
	case ctx.Err() != nil:
		return 0, false
	case !errors.As(err, &p): // no answer
		if makes && !unsent(err) {
			return 0, false
		}
	case p.full():
		budget = w.pace.full
	case p.status == http.StatusTooManyRequests:
		d, budget = p.wait, w.pace.rated
	case p.untouched() || (p.status >= 500 && !makes):
		d = max(d, p.wait)
	default:
		return 0, false
	}
	return d, time.Since(w.began)+d <= budget
}

// wait passes the time, or reports that the context ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// unsent reports a request that never reached the server.
func unsent(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &name) || (errors.As(err, &op) && op.Op == "dial")
}
