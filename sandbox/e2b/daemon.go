package e2b

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// envdPort is where the daemon listens inside a sandbox.
const envdPort = 49983

// The users of a template: commands are the ordinary one's.
const (
	plainUser = "user"
	rootUser  = "root"
)

// timing is how long things are waited for, beside the control plane's answers.
type timing struct {
	keepalive time.Duration // how often the daemon says that it is there; whole seconds, 1 or more
	silence   time.Duration // how long nothing may come, at least 2.5 times keepalive
	health    time.Duration // how long a look may take
	idle      time.Duration // how long a file may stand still
	between   cloud.Backoff // while a machine is on its way between two states
	window    time.Duration // how long the first open of a base waits for others, to fork its parent once
	rest      time.Duration // how long a parent stays awake for them
}

func defaultTiming() timing {
	const s = time.Second
	return timing{
		keepalive: 20 * s, silence: 50 * s, health: 5 * s, idle: time.Minute,
		between: cloud.Backoff{First: s / 5, Most: 3 * s, Total: 20 * s}, window: s / 4, rest: time.Minute,
	}
}

// daemon speaks to envd in one sandbox.
type daemon struct {
	provider *provider
	base     string
	id       string
	token    atomic.Pointer[string]
	unseen   sync.Map // pids of processes whose end was not seen
}

var _ cloud.Wire = (*daemon)(nil)

func (p *provider) daemon(m machine) *daemon {
	d := &daemon{provider: p, base: p.config.sandboxBase(m.ID, m.Domain), id: m.ID}
	d.token.Store(&m.Token)
	return d
}

// send sends a request as a user, "" leaves that open, and returns an answer that is
// a success, with its body open.
func (d *daemon) send(user string, req *http.Request) (*http.Response, error) {
	token := *d.token.Load()
	req.Header.Set("E2b-Sandbox-Id", d.id)
	req.Header.Set("E2b-Sandbox-Port", strconv.Itoa(envdPort))
	req.Header.Set("Accept-Encoding", "identity")
	if token != "" {
		req.Header.Set("X-Access-Token", token)
	}
	if user != "" {
		req.SetBasicAuth(user, "")
	}
	return cloud.Send(d.provider.http, "envd", token, req)
}

// doer sends requests of the generated client. The keepalive is never below a second:
// a zero ends the whole daemon.
func (d *daemon) doer(user string) cloud.Doer {
	return func(req *http.Request) (*http.Response, error) {
		req.Header.Set("Keepalive-Ping-Interval", strconv.Itoa(max(1, int(d.provider.timing.keepalive/time.Second))))
		return d.send(user, req)
	}
}

// client is the generated client of processes.
func (d *daemon) client(c cloud.Doer) envd.ProcessClient {
	return envd.NewProcessClient(c, d.base, cloud.ClientOptions(), connect.WithCodec(outputCodec{}))
}

// Renew fetches the token again and reports whether it was replaced.
func (d *daemon) Renew(ctx context.Context) bool {
	m, err := d.provider.get(ctx, d.id)
	if err != nil || m.Token == "" || m.Token == *d.token.Load() {
		return false
	}
	d.token.Store(&m.Token)
	return true
}

// Start starts a program one time.
func (d *daemon) Start(ctx context.Context, p guest.Process, out func(stderr bool, data []byte)) (int, error) {
	user := plainUser
	if p.Root {
		user = rootUser
	}
	cwd := "/" // a directory that nobody can remove
	r := &envd.StartRequest{Process: &envd.ProcessConfig{Cmd: p.Argv[0], Args: p.Argv[1:], Cwd: &cwd}}
	return d.run(ctx, r, user, out)
}

// Chowns reports whether uploaded files are another's than the commands' user's.
func (d *daemon) Chowns() bool { return false }

// Idle is how long a file may stand still.
func (d *daemon) Idle() time.Duration { return d.provider.timing.idle }

// File reads or writes a file of the user's. The daemon writes in place: who must not
// see half a file moves it afterwards.
func (d *daemon) File(ctx context.Context, method, path string, data []byte) (*http.Response, error) {
	query := url.Values{"path": {path}, "username": {plainUser}}
	req, err := http.NewRequestWithContext(ctx, method, d.base+"/files?"+query.Encode(), bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("make request for a file: %w", err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	res, err := d.send("", req)
	switch cloud.StatusOf(err) {
	case http.StatusNotFound:
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case http.StatusInsufficientStorage:
		return nil, fmt.Errorf("%w: the disk of the template is full: %w", sandbox.ErrDisk, err)
	}
	return res, err
}

// Backoff waits while the edge says that the machine is between two states, or that
// there is too much traffic: then nothing was started.
func (d *daemon) Backoff(_ context.Context, err error) *cloud.Backoff {
	var r *cloud.Refusal
	if errors.As(err, &r) && (cloud.HasStatus(err, http.StatusConflict, http.StatusTooManyRequests) ||
		r.Status == http.StatusBadGateway && r.Says("port is not open")) {
		return &d.provider.timing.between
	}
	return nil
}

// Explain says what an error of the daemon means.
func (d *daemon) Explain(ctx context.Context, err error) error {
	var r *cloud.Refusal
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist) || sandbox.Explained(err):
		return err
	case !errors.As(err, &r) || errors.Is(err, guest.ErrCut):
		return d.look(ctx, err)
	case r.Origin == cloud.Stream:
		stopping := []string{"unavailable", "canceled", "internal", "unknown", "resource_exhausted", "aborted", "deadline_exceeded"}
		if slices.Contains(stopping, r.Code) {
			return d.look(ctx, err)
		}
		return err
	case cloud.HasStatus(err, http.StatusUnauthorized, http.StatusForbidden):
		return fmt.Errorf("%w: the sandbox does not accept the token that the service gave out for it: %w", sandbox.ErrUnavailable, err)
	case r.Status >= http.StatusInternalServerError, r.Status == http.StatusConflict:
		return d.look(ctx, err)
	case r.Status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %w", guest.ErrCut, err)
	}
	return err
}

// look asks the daemon whether it lives, and then the control plane what became of
// the machine. Without an answer the edge's word counts, if it gave one.
func (d *daemon) look(ctx context.Context, err error) error {
	health := d.health(ctx)
	if health == nil {
		return fmt.Errorf("%w: %w", guest.ErrCut, err)
	}
	err = fmt.Errorf("%w (%w)", err, health)
	look, cancel := context.WithTimeout(ctx, 3*d.provider.timing.health)
	defer cancel()
	m, failed := d.provider.get(look, d.id)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cloud.HasStatus(failed, http.StatusNotFound):
		return fmt.Errorf("%w: the service has ended it: %w", sandbox.ErrGone, err)
	case failed == nil && m.State == paused:
		return fmt.Errorf("%w: it was paused: %w", sandbox.ErrGone, err)
	case cloud.HasStatus(failed, http.StatusUnauthorized):
		return fmt.Errorf("%w (%w)", d.provider.Explain(failed), err)
	case failed != nil && cloud.HasStatus(err, http.StatusBadGateway) && strings.Contains(err.Error(), "not found"):
		return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	return fmt.Errorf("%w: %w", guest.ErrCut, err)
}

// health asks whether the daemon lives.
func (d *daemon) health(ctx context.Context) error {
	within, cancel := cloud.Within(ctx, d.provider.timing.health)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodGet, d.base+"/health", nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	res, err := d.send("", req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}
