package prime

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// access opens the way to one sandbox. Its token is a secret: it stays in memory and
// is never printed.
type access struct {
	Token     string  `json:"token"`
	URL       string  `json:"gateway_url"`
	Namespace string  `json:"user_ns"`
	Job       string  `json:"job_id"`
	ExpiresAt instant `json:"expires_at"`
}

// base is the sandbox's address at the gateway.
func (a access) base() string {
	return strings.TrimRight(a.URL, "/") + cloud.Path(a.Namespace, a.Job)
}

// margin is how long before its end a token is not used any more.
const margin = 60 * time.Second

// fresh reports whether the token can be used now.
func (a access) fresh(now time.Time) bool {
	return a.Token != "" && (a.ExpiresAt.IsZero() || now.Add(margin).Before(a.ExpiresAt.Time))
}

// gateway is the way to sandboxes.
type gateway struct {
	control *cloud.Client
	files   *http.Client
	streams *http.Client // for commands: one connection each, since the gateway bounds how many share one

	mu     sync.Mutex
	tokens map[string]*token // by sandbox id
}

// token is the access to one sandbox. Who renews it holds renewing, so that many who
// need it ask once.
type token struct {
	renewing chan struct{}
	mu       sync.Mutex
	now      access
}

func newGateway(control *cloud.Client, files, streams *http.Client) *gateway {
	return &gateway{control: control, files: files, streams: streams, tokens: map[string]*token{}}
}

// access returns the way to a sandbox, renewed where it is about to end.
func (g *gateway) access(ctx context.Context, id string) (access, error) {
	t := g.token(id)
	if a := t.get(); a.fresh(time.Now()) {
		return a, nil
	}
	select {
	case t.renewing <- struct{}{}:
		defer func() { <-t.renewing }()
	case <-ctx.Done():
		return access{}, context.Cause(ctx)
	}
	if a := t.get(); a.fresh(time.Now()) { // of who renewed it before
		return a, nil
	}
	var a access
	if _, err := g.control.Do(ctx, cloud.Call{Method: http.MethodPost, Path: cloud.Path("sandbox", id, "auth"), Answer: &a}); err != nil {
		return access{}, err
	}
	if a.Token == "" || !cloud.IsURL(a.URL) {
		return access{}, &cloud.Lost{Cause: errors.New("the gateway's address or token is missing")}
	}
	t.replace(access{}, a, true)
	return a, nil
}

func (g *gateway) token(id string) *token {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tokens[id]
	if t == nil {
		t = &token{renewing: make(chan struct{}, 1)}
		g.tokens[id] = t
	}
	return t
}

func (t *token) get() access {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// replace sets the access, unless another one than old is there already; always sets it in any case.
func (t *token) replace(old, now access, always bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if always || t.now.Token == old.Token {
		t.now = now
	}
}

// forget removes all that is known of a sandbox.
func (g *gateway) forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tokens, id)
}

// with makes a request with an access. An access that is refused is renewed once.
func (g *gateway) with(ctx context.Context, id string, do func(access) error) error {
	for try := 1; ; try++ {
		a, err := g.access(ctx, id)
		if err != nil {
			return err
		}
		err = do(a)
		var r *cloud.Refusal
		if !errors.As(err, &r) || r.Status != http.StatusUnauthorized && r.Code != "unauthenticated" {
			return err
		}
		g.token(id).replace(a, access{}, false)
		if try == 2 {
			return err
		}
	}
}

// send sends a request and returns an answer that is a success, with its body open.
func (g *gateway) send(ctx context.Context, c *http.Client, origin string, a access, req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+a.Token)
	req.Header.Set("User-Agent", cloud.UserAgent)
	res, err := c.Do(req)
	if err != nil {
		return nil, cloud.Missed(ctx, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, cloud.ReadRefusal(origin, res, a.Token)
	}
	return res, nil
}
