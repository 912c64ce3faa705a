// Package gateway is a reverse proxy through which agents that are programs of their own
// call their models by the APIs of OpenAI and Anthropic. It holds the keys, lets a run call
// the one model of its experiment, sets the temperature, counts the usage, and stops when
// the budget is used up or the run is over.
//
// Every run has a [agent.GatewaySession] of its own, with a token that is valid for it only. A
// request goes on byte for byte, except for the members of its JSON object that the
// experiment decides; docs/gateway.md lists them. An answer comes back byte
// for byte.
package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// socketURL is where a sandbox that shows a run's socket offers it to programs inside.
const socketURL = "http://127.0.0.1:4141"

// PublicPath is where ServeHTTP expects to be mounted.
const PublicPath = "/gateway/"

// Gateway is safe for concurrent use. It is closed with [Gateway.Close].
type Gateway struct {
	cfg     Config
	dir     string // absolute
	models  *model.Set
	public  string // "" without a public address
	host    string
	log     zerolog.Logger
	counter func(Count)

	making sync.Mutex
	secret atomic.Pointer[[]byte] // nil before the first run of this directory

	mu       sync.Mutex
	sessions map[string]*session
	sockets  map[string]*listening
	local    *listening // for agents on this machine, once one is there
	stopped  bool       // no call is let in
	closed   bool
}

// Option changes a Gateway while it is made.
type Option func(*Gateway)

// Outcomes of calls.
const (
	OK      = "ok"
	Refused = "refused" // by the gateway, because of what was asked
	Denied  = "denied"  // no money, a limit, or the run is over
	Failed  = "failed"  // by the model
	Cut     = "cut"     // by the model, in the middle of the answer
	Gone    = "gone"    // the agent went away, or the run ended meanwhile
)

// Count is one call that ended, for whoever counts them.
type Count struct {
	Model, API string
	Outcome    string // OK and the others
	Estimated  bool
	Usage      solve.Usage
}

// WithCounter has every call told that ends. The func must not block.
func WithCounter(f func(Count)) Option { return func(g *Gateway) { g.counter = f } }

// New makes the gateway. publicURL is the address of this server, "" if it has none.
// Nothing is made on disk and nothing listens before the first run comes.
func New(c Config, models *model.Set, publicURL string, log zerolog.Logger, opts ...Option) (*Gateway, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("gateway.dir: %w", err)
	}
	g := &Gateway{
		cfg: c, dir: dir, models: models, log: log, counter: func(Count) {},
		sessions: map[string]*session{}, sockets: map[string]*listening{},
	}
	if publicURL != "" {
		u, err := url.Parse(publicURL)
		if err != nil {
			return nil, fmt.Errorf("server.public_url: %w", err)
		}
		g.public, g.host = strings.TrimRight(publicURL, "/"), ruleHost(u)
	}
	for _, o := range opts {
		o(g)
	}
	known, err := readSecret(dir)
	if err != nil {
		return nil, fmt.Errorf("gateway.dir: %w", err)
	}
	if known != nil {
		g.secret.Store(&known)
	}
	return g, nil
}

// ruleHost is the host by which a provider's network rules can open an address, "" if they
// cannot: they know names, and tell names apart on the usual ports only.
func ruleHost(u *url.URL) string {
	usual := u.Port() == "" || u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80"
	if _, err := netip.ParseAddr(u.Hostname()); err == nil || !usual {
		return ""
	}
	return u.Hostname()
}

// ensureSecret makes the directory and the secret where they are missing.
func (g *Gateway) ensureSecret() error {
	g.making.Lock()
	defer g.making.Unlock()
	if g.secret.Load() != nil {
		return nil
	}
	if err := durable.MakeDirs(g.dir); err != nil {
		return fmt.Errorf("gateway.dir: %w", err)
	}
	if err := os.Chmod(g.dir, 0o700); err != nil { // the directories in it are open to all who see them
		return fmt.Errorf("gateway.dir: %w", err)
	}
	fresh, err := makeSecret(g.dir)
	if err != nil {
		return fmt.Errorf("gateway.dir: %w", err)
	}
	g.secret.Store(&fresh)
	return nil
}

// PublicHost is the name under which sandboxes elsewhere reach the gateway, "" if they cannot:
// there is no public address, or it has no name or a port of its own.
func (g *Gateway) PublicHost() string { return g.host }

// Socket is the directory of a run's socket, absolute; it is there when Socket returns.
func (g *Gateway) Socket(run string) (dir string, err error) {
	if err := checkRun(run); err != nil {
		return "", fmt.Errorf("make the gateway's directory: %w", err)
	}
	if err := g.ensureSecret(); err != nil {
		return "", err
	}
	dir = filepath.Join(g.dir, run)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // its parent is private
		return "", fmt.Errorf("make the gateway's directory: %w", err)
	}
	return dir, nil
}

// Open opens the run's session. The func closes it: it cancels the session's calls, waits
// until they are counted, and makes the token invalid. A run of the same name gets the same
// token and address again, also after a restart; a session that is open already passes to
// the new owner.
//
// While a run is not over but has no open session (yudai has stopped, or has not reached
// the run yet), its calls are told to come again.
func (g *Gateway) Open(run string, where agent.GatewayAccess, x solve.Experiment, a agent.Allowance) (agent.GatewaySession, func(), error) {
	address, err := g.address(run, where)
	if err != nil {
		return agent.GatewaySession{}, nil, fmt.Errorf("open the gateway for run %s: %w", short(run), err)
	}
	if err := os.WriteFile(g.openMarker(run), nil, 0o600); err != nil {
		return agent.GatewaySession{}, nil, fmt.Errorf("open the gateway for run %s: %w", run, err)
	}
	s := newSession(run, where, x, a, g.cfg.requestBytes())
	g.mu.Lock()
	old := g.sessions[run]
	g.sessions[run] = s
	if g.stopped {
		s.close(errNotOpen)
	}
	g.mu.Unlock()
	if old != nil {
		old.close(errNotOpen)
	}
	return agent.GatewaySession{
		URL: address, Token: g.token(run), Model: x.Model, APIs: g.models.APIs(x.Model), Usage: s.totalUsage, LastError: s.lastError,
	}, func() { g.closeSession(s) }, nil
}

// openMarker is the file that says that a run has begun and is not over.
func (g *Gateway) openMarker(run string) string { return filepath.Join(g.dir, run+".open") }

// closeSession closes a session for good, unless another owner has or may have it.
func (g *Gateway) closeSession(s *session) {
	s.close(agent.ErrRunOver)
	s.calls.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions[s.run] != s {
		return
	}
	delete(g.sessions, s.run)
	if errors.Is(s.closedBy(), agent.ErrRunOver) {
		if err := os.Remove(g.openMarker(s.run)); err != nil {
			g.log.Warn().Err(err).Str(logkey.Run, s.run).Msg("mark of a run not removed")
		}
	}
}

// address makes the way to the gateway and returns its address.
func (g *Gateway) address(run string, where agent.GatewayAccess) (string, error) {
	if err := errors.Join(checkRun(run), g.ensureSecret()); err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return "", errors.New("the gateway is closed")
	}
	switch where {
	case agent.AccessSocket:
		return socketURL, g.listenSocket(run)
	case agent.AccessLoopback:
		return g.listenLocal(run)
	}
	if g.public == "" {
		return "", errors.New("sandboxes elsewhere reach it by a public address only; set server.public_url")
	}
	return g.public + PublicPath + run, nil
}
