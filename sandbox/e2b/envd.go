package e2b

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// envdPort is where the daemon listens inside a sandbox.
const envdPort = 49983

// The users of a template: commands are the ordinary one's.
const (
	plainUser = "user"
	rootUser  = "root"
)

// rhythm is how streams show that they live.
type rhythm struct {
	keepalive time.Duration // how often the daemon says that it is there; whole seconds, 1 or more
	silence   time.Duration // how long nothing may come, at least 2.5 times keepalive
	health    time.Duration // how long a look may take
	idle      time.Duration // how long a file may stand still
}

func defaultRhythm() rhythm {
	return rhythm{keepalive: 20 * time.Second, silence: 50 * time.Second, health: 5 * time.Second, idle: time.Minute}
}

// daemon speaks to envd in one sandbox.
type daemon struct {
	base   string
	id     string
	token  atomic.Pointer[string]
	http   *http.Client
	rhythm rhythm
	unseen sync.Map // pids of processes whose end was not seen
}

func (d *daemon) setToken(token string) { d.token.Store(&token) }

// secret is the sandbox's own token.
func (d *daemon) secret() string {
	if t := d.token.Load(); t != nil {
		return *t
	}
	return ""
}

// request builds a call. user chooses whose process it is; "" leaves that open.
func (d *daemon) request(ctx context.Context, method, path, user string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", bare(err))
	}
	req.Header.Set("User-Agent", agentName)
	req.Header.Set("E2b-Sandbox-Id", d.id)
	req.Header.Set("E2b-Sandbox-Port", strconv.Itoa(envdPort))
	req.Header.Set("Accept-Encoding", "identity")
	if token := d.secret(); token != "" {
		req.Header.Set("X-Access-Token", token)
	}
	if user != "" {
		req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":")))
	}
	return req, nil
}

// health asks whether the daemon lives. The error of one that is gone has the
// status 502; any other error leaves it open.
func (d *daemon) health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.rhythm.health)
	defer cancel()
	req, err := d.request(ctx, http.MethodGet, "/health", "", nil)
	if err != nil {
		return err
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return fmt.Errorf("look at the sandbox: %w", bare(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return readProblem("look at the sandbox", resp, d.secret())
	}
	return nil
}

// newTransport is for one driver: connections are kept, answers are never
// compressed (which halves the speed and hides lengths), and a connection of
// HTTP/2 that died without a word is noticed.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// watchdog ends a context when nobody stroked it for so long.
type watchdog struct {
	timer *time.Timer
	limit time.Duration
}

// errSilent is the cause with which a watchdog ends its context.
var errSilent = errors.New("nothing came for too long")

// watch returns a context that ends in silence.
func watch(ctx context.Context, limit time.Duration) (context.Context, *watchdog, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{limit: limit}
	w.timer = time.AfterFunc(limit, func() { cancel(errSilent) })
	return ctx, w, func() {
		w.timer.Stop()
		cancel(nil)
	}
}

// stroke says that something came.
func (w *watchdog) stroke() { w.timer.Reset(w.limit) }
