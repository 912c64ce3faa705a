package cloud

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// UserAgent is how we name ourselves. E2B answers with pages where this has a
// browser's name in it, "edge" inside another word, too.
const UserAgent = "yudai/1"

// Control is the origin of what a control plane refuses.
const Control = "control plane"

// RetryPolicy says how long a control plane is asked.
type RetryPolicy struct {
	Request, Slow time.Duration // one request; one that makes, copies or freezes a machine
	Broken        Backoff       // there is no answer, or a fault of the server
	Limited       Backoff       // too many requests
	Full          Backoff       // as many sandboxes as there may be
}

// Client speaks JSON to a control plane.
type Client struct {
	Base   string // the address, without a slash at its end
	Key    string // taken out of errors
	Header http.Header
	HTTP   *http.Client
	Retry  RetryPolicy
	// IsFull tells the 429 of an account that is full from that of too many requests.
	IsFull func(*Refusal) bool
	// IsUnchanged reports a fault of the server that promises that nothing was changed; nil is never.
	IsUnchanged func(*Refusal) bool
}

// Call is one request.
type Call struct {
	Method, Path string
	Query        url.Values
	Body, Answer any // nil for none
	// Makes: it makes something, so that it is not repeated where that may have been done.
	Makes bool
	Slow  bool
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// Do sends a request, again where that is allowed and may help. Other statuses than
// 2xx are a [*Refusal], no answer is [*Lost].
func (c *Client) Do(ctx context.Context, k Call) (http.Header, error) {
	var header http.Header
	vague := false
	err := Retry(ctx, func() (err error) {
		header, err = c.once(ctx, k)
		if err != nil && vague {
			return Doubt(err)
		}
		vague = err != nil && Transient(err) && !Undone(err)
		return err
	}, func(err error) *Backoff {
		var r *Refusal
		switch {
		case StatusOf(err) == http.StatusTooManyRequests && errors.As(err, &r) && c.IsFull(r):
			return &c.Retry.Full
		case StatusOf(err) == http.StatusTooManyRequests:
			return &c.Retry.Limited
		case Transient(err) && (!k.Makes || Unsent(err) || errors.As(err, &r) && r.Unchanged):
			return &c.Retry.Broken
		}
		return nil
	})
	return header, err
}

// Ask sends a request that may be repeated and reads its answer; nil for no body or answer.
func (c *Client) Ask(ctx context.Context, method, path string, body, answer any) error {
	_, err := c.Do(ctx, Call{Method: method, Path: path, Body: body, Answer: answer})
	return err
}

// Delete deletes what is there. A missing thing is no error.
func (c *Client) Delete(ctx context.Context, path string) error {
	err := c.Ask(ctx, http.MethodDelete, path, nil, nil)
	if IsMissing(err) {
		return nil
	}
	return err
}

// once sends a request one time.
func (c *Client) once(ctx context.Context, k Call) (http.Header, error) {
	limit := c.Retry.Request
	if k.Slow {
		limit = c.Retry.Slow
	}
	within, cancel := Within(ctx, limit)
	defer cancel()
	req, err := c.request(within, k)
	if err != nil {
		return nil, err
	}
	res, err := Send(c.HTTP, Control, c.Key, req)
	if err != nil {
		var r *Refusal
		if errors.As(err, &r) && c.IsUnchanged != nil {
			r.Unchanged = c.IsUnchanged(r)
		}
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, Missed(within, err)
	}
	if k.Answer == nil {
		return res.Header, nil
	}
	if err := json.Unmarshal(body, k.Answer); err != nil {
		return nil, &Lost{fmt.Errorf("%s %s: the answer is not what the service documents: %w", k.Method, k.Path, err)}
	}
	return res.Header, nil
}

func (c *Client) request(ctx context.Context, k Call) (*http.Request, error) {
	var body io.Reader
	if k.Body != nil {
		data, err := json.Marshal(k.Body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	at := c.Base + k.Path
	if len(k.Query) > 0 {
		at += "?" + k.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.Method, at, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header = c.Header.Clone()
	req.Header.Set("Accept", "application/json")
	if k.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// Within bounds one request: when the time is up there was no answer.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, &Lost{context.DeadlineExceeded})
}

// Send sends a request and returns an answer that is a success, with its body open.
// The secret is taken out of refusals.
func Send(c *http.Client, origin, secret string, req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", UserAgent)
	res, err := c.Do(req)
	if err != nil {
		return nil, Missed(req.Context(), err)
	}
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return res, nil
	}
	defer res.Body.Close()
	r := readRefusal(origin, res, secret)
	r.Call = req.Method + " " + req.URL.Path
	return nil, r
}

// IsID reports whether a service may call a machine so: an id goes into addresses, and must not lead to another operation.
func IsID(id string) bool { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`).MatchString(id) }

// Path joins parts of a path, each escaped, colons and slashes, too.
func Path(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + strings.ReplaceAll(url.QueryEscape(p), "+", "%20"))
	}
	return b.String()
}

// NewTransport is for one driver. Answers are never compressed, which would halve the
// speed and hide lengths, and a connection of HTTP/2 that died without a word is
// noticed. Without http2 each request that stays open has a connection of its own.
func NewTransport(http2 bool) *http.Transport {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 15 * time.Second,
		DisableCompression:  true,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		Protocols:           &http.Protocols{},
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(http2)
	return t
}

// NewHTTPClient follows no redirects: a key goes nowhere else.
func NewHTTPClient(rt http.RoundTripper) *http.Client {
	return &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
