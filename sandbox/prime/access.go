package prime

import (
	"context"
	"errors"
	"net/http"
	"strings"
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
func (a access) fresh() bool {
	return a.Token != "" && (a.ExpiresAt.IsZero() || time.Until(a.ExpiresAt.Time) > margin)
}

// access returns the way to the sandbox. Many who need a new token ask once.
func (m *machine) access(ctx context.Context) (access, error) {
	if m.renewing.Acquire(ctx, 1) != nil {
		return access{}, context.Cause(ctx)
	}
	defer m.renewing.Release(1)
	if m.current.fresh() {
		return m.current, nil
	}
	var a access
	err := m.provider.control.Ask(ctx, http.MethodPost, cloud.Path("sandbox", m.id, "auth"), nil, &a)
	if err == nil && (a.Token == "" || !cloud.IsURL(a.URL)) {
		err = &cloud.Lost{Cause: errors.New("the gateway's address or token is missing")}
	}
	if err == nil {
		m.current = a
	}
	return a, err
}

// Renew reports that the next request asks for a new token, if nobody has one yet.
func (m *machine) Renew(context.Context) bool { return true }

// forget forgets the token of a request if it was refused, and no newer one.
func (m *machine) forget(ctx context.Context, used access, err error) {
	if !cloud.TokenRefused(err) || m.renewing.Acquire(ctx, 1) != nil {
		return
	}
	defer m.renewing.Release(1)
	if m.current.Token == used.Token {
		m.current = access{}
	}
}

// send sends a request and returns an answer that is a success, with its body open.
func (a access) send(c *http.Client, origin string, req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+a.Token)
	return cloud.Send(c, origin, a.Token, req)
}
