package prime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// paces are how long things are waited for. Tests are less patient.
type paces struct {
	request   time.Duration   // one request of the control plane
	retry     time.Duration   // the longest pause before a request is repeated
	throttled []time.Duration // pauses after "too many requests"
	gateway   []time.Duration // pauses before a request to the gateway is repeated
	conflict  []time.Duration // the same after a conflict that may pass
	transfer  time.Duration   // a file may not move for so long
	silence   time.Duration   // a stream may be silent for so long
	poll      time.Duration   // first pause between two looks at a status
	pollMost  time.Duration   // and the longest
	echo      time.Duration   // one proof that commands can run
	egress    time.Duration   // until network rules must be applied
	freeze    time.Duration   // until a checkpoint must be durable
	use       time.Duration   // the longest pause between two uses of what must not be idle
	cleaning  time.Duration   // for removing what is not wanted, whatever happened to the context
}

func defaultPaces() paces {
	const s = time.Second
	return paces{
		request: 30 * s, retry: 2 * s, throttled: []time.Duration{5 * s, 10 * s, 30 * s, 40 * s},
		gateway: []time.Duration{1 * s, 2 * s, 4 * s}, conflict: []time.Duration{s / 4, s / 2, s},
		transfer: 60 * s, silence: 120 * s, poll: 1 * s, pollMost: 10 * s, echo: 10 * s, egress: 60 * s,
		freeze: 10 * time.Minute, use: 10 * time.Minute, cleaning: 45 * s,
	}
}

// control speaks to the control plane.
type control struct {
	base, key, team string
	client          *http.Client
	pace            paces
}

// newTransport is for requests, or with streams for those that stay open: one
// connection for each, since the gateway bounds how many share one.
func newTransport(streams bool) *http.Transport {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		DisableCompression: true,
	}
	t.Protocols = &http.Protocols{}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(!streams)
	return t
}

// newClient follows no redirects: the service has none, and a key goes nowhere else.
func newClient(rt http.RoundTripper) *http.Client {
	return &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// call is one request of the control plane.
type call struct {
	method, path string // below /api/v1
	query        url.Values
	body, answer any
	once         bool // it must not be repeated where it may have been carried out
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// do sends a request, again where that is allowed and may help.
func (c *control) do(ctx context.Context, k call) error {
	const tries = 3
	throttled, vague := 0, false
	for try := 1; ; try++ {
		err := c.send(ctx, k)
		if err != nil && vague {
			err = &doubtful{err}
		}
		vague = vague || transient(err) && !unsent(err)
		var wait time.Duration
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case statusOf(err) == http.StatusTooManyRequests && !quota(err) && throttled < len(c.pace.throttled):
			wait = pauseFor(err, c.pace.throttled[throttled])
			throttled, try = throttled+1, try-1
		case transient(err) && try < tries && (!k.once || unsent(err)):
			wait = rand.N(c.pace.retry>>(tries-1-try)) + 1
		default:
			return err
		}
		if !sleep(ctx, wait) {
			return err
		}
	}
}

// doubtful is the error of a request whose earlier try got no answer: that one may
// have been carried out whatever this one was told.
type doubtful struct{ cause error }

// Error implements error.
func (d *doubtful) Error() string { return d.cause.Error() }

// Unwrap gives the cause.
func (d *doubtful) Unwrap() error { return d.cause }

// pauseFor is the pause that an answer asks for, if it is longer than ours; ours varies by a quarter.
func pauseFor(err error, own time.Duration) time.Duration {
	var r *refusal
	if errors.As(err, &r) && r.after > own {
		own = r.after
	}
	return own + rand.N(own/4+1)
}

// unsent reports whether a request certainly did not reach the service.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// sleep waits and reports whether the context lives on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// send sends a request once.
func (c *control) send(ctx context.Context, k call) error {
	within, cancel := context.WithTimeout(ctx, c.pace.request)
	defer cancel()
	req, err := c.request(within, k)
	if err != nil {
		return err
	}
	res, err := c.client.Do(req)
	if err != nil {
		return missing(ctx, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return missing(ctx, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return readRefusal(fromControl, res, body)
	}
	if k.answer == nil {
		return nil
	}
	if err := json.Unmarshal(body, k.answer); err != nil {
		return &lost{fmt.Errorf("%s %s is answered with something that is no JSON of ours: %w", k.method, k.path, err)}
	}
	return nil
}

// missing is the error of a request without an answer: the context's own if it ended.
func missing(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &lost{err}
}

func (c *control) request(ctx context.Context, k call) (*http.Request, error) {
	var body io.Reader
	if k.body != nil {
		data, err := json.Marshal(k.body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	at := c.base + "/api/v1" + k.path
	if len(k.query) > 0 {
		at += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, at, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

const userAgent = "yudai"

// path joins parts of a path, each escaped.
func path(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}

// create makes a sandbox; the key in the request makes it repeatable.
func (c *control) create(ctx context.Context, r createRequest) (object, error) {
	var o object
	err := c.do(ctx, call{method: http.MethodPost, path: "/sandbox", body: r, answer: &o})
	if err == nil && o.ID == "" {
		err = &lost{errors.New("the answer to a new sandbox has no id")}
	}
	return o, err
}

func (c *control) get(ctx context.Context, id string) (object, error) {
	var o object
	return o, c.do(ctx, call{method: http.MethodGet, path: path("sandbox", id), answer: &o})
}

// list returns all living sandboxes with all of the labels.
func (c *control) list(ctx context.Context, labels ...string) ([]object, error) {
	const mostPages = 100
	q := url.Values{"labels": labels, "is_active": {"true"}, "per_page": {"200"}}
	if c.team != "" {
		q.Set("team_id", c.team)
	}
	var all []object
	for page := 1; page <= mostPages; page++ {
		q.Set("page", strconv.Itoa(page))
		var l listing
		if err := c.do(ctx, call{method: http.MethodGet, path: "/sandbox", query: q, answer: &l}); err != nil {
			return nil, err
		}
		for _, o := range l.Sandboxes {
			if hasLabels(o, labels) && !o.Status.ended() { // whatever the service's filters are worth
				all = append(all, o)
			}
		}
		if !l.HasNext && !l.HasNext2 || len(l.Sandboxes) == 0 {
			break
		}
	}
	return all, nil
}

// remove deletes a sandbox; one that is not there, or ended already, is no error.
func (c *control) remove(ctx context.Context, id string) error {
	var answer struct {
		Success *bool  `json:"success"`
		Message string `json:"message"`
	}
	err := c.do(ctx, call{method: http.MethodDelete, path: path("sandbox", id), answer: &answer})
	if err == nil && answer.Success != nil && !*answer.Success {
		err = &refusal{from: fromControl, status: http.StatusOK, detail: answer.Message}
	}
	if err == nil || isGone(err) {
		return nil
	}
	if s := statusOf(err); s == http.StatusOK || s == http.StatusBadRequest || s == http.StatusConflict || s == http.StatusUnprocessableEntity {
		if o, e := c.get(ctx, id); isGone(e) || e == nil && o.Status.ended() {
			return nil
		}
	}
	return err
}

// isGone reports whether the control plane says that there is no such thing.
func isGone(err error) bool {
	return statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusGone
}

// removeMany deletes many at once; what that leaves is deleted one by one.
func (c *control) removeMany(ctx context.Context, ids []string) map[string]error {
	const few, most = 8, 100
	failed := map[string]error{}
	left := ids
	if len(ids) > few {
		left = nil
		for len(ids) > 0 {
			n := min(most, len(ids))
			left = append(left, c.removeBulk(ctx, ids[:n])...)
			ids = ids[n:]
		}
	}
	for _, id := range left {
		if err := c.remove(ctx, id); err != nil {
			failed[id] = err
		}
	}
	return failed
}

// removeBulk returns those that it could not delete.
func (c *control) removeBulk(ctx context.Context, ids []string) []string {
	body := struct {
		SandboxIDs []string `json:"sandbox_ids"`
		TeamID     string   `json:"team_id,omitempty"`
	}{ids, c.team}
	var answer struct {
		Succeeded []string `json:"succeeded"`
	}
	if err := c.do(ctx, call{method: http.MethodDelete, path: "/sandbox", body: body, answer: &answer}); err != nil {
		return ids
	}
	done := map[string]bool{}
	for _, id := range answer.Succeeded {
		done[id] = true
	}
	var left []string
	for _, id := range ids {
		if !done[id] {
			left = append(left, id)
		}
	}
	return left
}

// why asks how a sandbox is and what ended it.
func (c *control) why(ctx context.Context, id string) (news, error) {
	var e errorContext
	err := c.do(ctx, call{method: http.MethodGet, path: path("sandbox", id, "error-context"), answer: &e})
	if err == nil && e.Status != "" {
		return e.news(), nil
	}
	if err != nil && !notOffered(err) {
		return news{}, err
	}
	o, err := c.get(ctx, id)
	return o.news(), err
}
