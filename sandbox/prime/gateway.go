package prime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// access is what opens the way to one sandbox. Its token is a secret: it stays in
// memory and is never printed.
type access struct {
	Token     string  `json:"token"`
	URL       string  `json:"gateway_url"`
	Namespace string  `json:"user_ns"`
	Job       string  `json:"job_id"`
	ExpiresAt instant `json:"expires_at"`
}

// base is the sandbox's address at the gateway.
func (a access) base() string {
	return strings.TrimRight(a.URL, "/") + path(a.Namespace, a.Job)
}

// margin is how long before its end a token is not used any more.
const margin = 60 * time.Second

// fresh reports whether the token can be used now.
func (a access) fresh(now time.Time) bool {
	return a.Token != "" && (a.ExpiresAt.IsZero() || now.Add(margin).Before(a.ExpiresAt.Time))
}

// gateway speaks to sandboxes.
type gateway struct {
	control *control
	client  *http.Client // for files
	streams *http.Client // for commands

	mu    sync.Mutex
	cache map[string]*entry // by sandbox id
}

// entry is the token of one sandbox. Its turn is held while it is renewed, so that
// many who need it ask once.
type entry struct {
	turn chan struct{}
	mu   sync.Mutex
	now  access
}

func newGateway(c *control, requests, streams http.RoundTripper) *gateway {
	return &gateway{control: c, client: newClient(requests), streams: newClient(streams), cache: map[string]*entry{}}
}

// access returns the way to a sandbox, renewed where it is about to end.
func (g *gateway) access(ctx context.Context, id string) (access, error) {
	g.mu.Lock()
	e := g.cache[id]
	if e == nil {
		e = &entry{turn: make(chan struct{}, 1)}
		g.cache[id] = e
	}
	g.mu.Unlock()
	if a := e.get(); a.fresh(time.Now()) {
		return a, nil
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return access{}, context.Cause(ctx)
	}
	if a := e.get(); a.fresh(time.Now()) { // of who had the turn before
		return a, nil
	}
	var a access
	if err := g.control.do(ctx, call{method: http.MethodPost, path: path("sandbox", id, "auth"), answer: &a}); err != nil {
		return access{}, err
	}
	if a.Token == "" || !isURL(a.URL) {
		return access{}, &lost{errors.New("the gateway's address or token is missing")}
	}
	e.set(a)
	return a, nil
}

func (e *entry) get() access {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

func (e *entry) set(a access) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = a
}

// drop forgets a token that was refused, unless another one is there already.
func (g *gateway) drop(id string, refused access) {
	g.mu.Lock()
	e := g.cache[id]
	g.mu.Unlock()
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now.Token == refused.Token {
		e.now = access{}
	}
}

// forget removes all that is known of a sandbox.
func (g *gateway) forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.cache, id)
}

// trip is one request to a sandbox.
type trip struct {
	method, path string
	query        url.Values
	header       http.Header
	body         func() (io.Reader, int64)
	client       *http.Client
}

// from is who answers.
func (t trip) from() origin {
	if t.path == startPath {
		return fromStream
	}
	return fromFiles
}

// send sends a request and returns an answer that is a success, with its body open.
// A token that is refused is renewed once.
func (g *gateway) send(ctx context.Context, id string, t trip) (*http.Response, error) {
	for try := 1; ; try++ {
		a, err := g.access(ctx, id)
		if err != nil {
			return nil, err
		}
		res, err := g.try(ctx, a, t)
		if statusOf(err) == http.StatusUnauthorized {
			g.drop(id, a)
			if try == 1 {
				continue
			}
		}
		return res, err
	}
}

func (g *gateway) try(ctx context.Context, a access, t trip) (*http.Response, error) {
	at := a.base() + t.path
	if len(t.query) > 0 {
		at += "?" + t.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, t.method, at, nil)
	if err != nil {
		return nil, fmt.Errorf("make request to the gateway: %w", err)
	}
	if t.body != nil {
		r, length := t.body()
		req.Body, req.ContentLength = io.NopCloser(r), length
	}
	for k, v := range t.header {
		req.Header[k] = v
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	req.Header.Set("User-Agent", userAgent)
	res, err := t.client.Do(req)
	if err != nil {
		return nil, missing(ctx, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // half a reason is one, too
		return nil, readRefusal(t.from(), res, body)
	}
	return res, nil
}

// persist does what may be repeated, with the pauses that the gateway's refusals call for.
func (g *gateway) persist(ctx context.Context, id string, do func() error) error {
	failures, conflicts, throttled := 0, 0, 0
	pace := g.control.pace
	for {
		err := do()
		var wait time.Duration
		switch s := statusOf(err); {
		case err == nil || ctx.Err() != nil || departed(err) || outOfSpace(err):
			return err
		case s == http.StatusConflict && conflicts < len(pace.conflict):
			if n, e := g.control.why(ctx, id); isGone(e) || e == nil && n.Status.ended() {
				return err
			}
			wait = pace.conflict[conflicts]
			conflicts++
		case s == http.StatusTooManyRequests && throttled < len(pace.throttled)-1:
			wait = pauseFor(err, pace.throttled[throttled+1])
			throttled++
		case (transient(err) || s == http.StatusRequestTimeout) && failures < len(pace.gateway):
			wait = pace.gateway[failures]
			failures++
		default:
			return err
		}
		if !sleep(ctx, wait) {
			return err
		}
	}
}

// departed reports whether the gateway, or the control plane about the way to it,
// says that the sandbox does not exist.
func departed(err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	switch r.from {
	case fromControl:
		return isGone(err)
	case fromStream:
		if r.code == "not_found" {
			return true
		}
	}
	return r.status == http.StatusGone || r.code == "sandbox_not_found" || r.code == "sandbox_terminated"
}

// passing reports whether an error may pass by itself in a sandbox that has just begun to run.
func passing(err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return transient(err) || errors.Is(err, errCut)
	}
	return departed(err) && r.status != http.StatusGone || transient(err) ||
		slices.Contains([]int{http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}, r.status) ||
		slices.Contains([]string{"unavailable", "aborted", "deadline_exceeded", "not_found"}, r.code)
}

// outOfSpace reports whether a file could not be written for want of room.
func outOfSpace(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (r.status == http.StatusInsufficientStorage || strings.Contains(strings.ToLower(r.detail), "no space left"))
}

// readAnswer reads a small JSON answer of the gateway.
func readAnswer(ctx context.Context, res *http.Response, answer any) error {
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return missing(ctx, err)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return &lost{fmt.Errorf("the gateway's answer is no JSON: %w", err)}
	}
	return nil
}
