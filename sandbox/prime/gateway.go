package prime

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

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

	renewing singleflight.Group // by sandbox id: many who need a token ask once
	mu       sync.Mutex
	tokens   map[string]access // by sandbox id
}

func newGateway(control *cloud.Client, files, streams *http.Client) *gateway {
	return &gateway{control: control, files: files, streams: streams, tokens: map[string]access{}}
}

// access returns the way to a sandbox, renewed where it is about to end.
func (g *gateway) access(ctx context.Context, id string) (access, error) {
	if a := g.cached(id); a.fresh(time.Now()) {
		return a, nil
	}
	renewed := g.renewing.DoChan(id, func() (any, error) { return g.renew(context.WithoutCancel(ctx), id) })
	select {
	case r := <-renewed:
		a, _ := r.Val.(access)
		return a, r.Err
	case <-ctx.Done():
		return access{}, context.Cause(ctx)
	}
}

func (g *gateway) renew(ctx context.Context, id string) (access, error) {
	var a access
	if _, err := g.control.Do(ctx, cloud.Call{Method: http.MethodPost, Path: cloud.Path("sandbox", id, "auth"), Answer: &a}); err != nil {
		return access{}, err
	}
	if a.Token == "" || !cloud.IsURL(a.URL) {
		return access{}, &cloud.Lost{Cause: errors.New("the gateway's address or token is missing")}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens[id] = a
	return a, nil
}

func (g *gateway) cached(id string) access {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tokens[id]
}

// forget removes what is known of a sandbox; with a refused token only that one.
func (g *gateway) forget(id, refused string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if refused == "" || g.tokens[id].Token == refused {
		delete(g.tokens, id)
	}
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
		g.forget(id, a.Token)
		if try == 2 {
			return err
		}
	}
}

// send sends a request and returns an answer that is a success, with its body open.
func (g *gateway) send(ctx context.Context, c *http.Client, origin string, a access, req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+a.Token)
	return cloud.Send(ctx, c, origin, a.Token, req)
}
