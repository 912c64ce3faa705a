package solver_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
)

// hub is the part of GitHub the engine reads.
type hub struct {
	mu       sync.Mutex
	role     string
	write    bool
	open     bool
	labels   []string      // of every issue
	pull     solve.PullNow // every pull request
	paused   bool          // the installation is suspended
	has      []int64       // the repositories of the installation
	url, sha string
	calls    map[string]int
	faults   map[string][]error // answered first, one a call
	always   map[string]error
	released int
	config   string   // the repository's own settings; "" is none
	configAt []string // the commits they were asked for at
}

// fail makes the next calls of a method fail, one with each error.
func (h *hub) fail(method string, errs ...error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[method] = append(h.faults[method], errs...)
}

// refuse makes all calls of a method fail.
func (h *hub) refuse(method string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.always[method] = err
}

func (h *hub) set(change func(*hub)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

func (h *hub) count(method string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[method]
}

// begin counts a call and returns its fault. The lock must be held.
func (h *hub) begin(ctx context.Context, method string) error {
	h.calls[method]++
	if err := ctx.Err(); err != nil {
		return err
	}
	if list := h.faults[method]; len(list) > 0 {
		h.faults[method] = list[1:]
		return list[0]
	}
	return h.always[method]
}

// Permission fails for one person where "permission of NAME" is refused.
func (h *hub) Permission(ctx context.Context, _ solve.Repo, login string) (string, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.role, h.write, cmp.Or(h.begin(ctx, "permission"), h.always["permission of "+login])
}

func (h *hub) Issue(ctx context.Context, _ solve.Repo, number int) (solve.IssueNow, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return solve.IssueNow{Issue: solve.Issue{Number: number}, Open: h.open, Labels: h.labels}, h.begin(ctx, "issue")
}

// Pull fails for one pull request where "pull NUMBER" is refused.
func (h *hub) Pull(ctx context.Context, _ solve.Repo, number int) (solve.PullNow, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.pull
	now.Number = number
	return now, cmp.Or(h.begin(ctx, "pull"), h.always[fmt.Sprintf("pull %d", number)])
}

func (h *hub) Suspended(ctx context.Context, _ int64) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.paused, h.begin(ctx, "suspended")
}

func (h *hub) Repos(ctx context.Context, installation int64) (list []solve.Repo, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range h.has {
		list = append(list, solve.Repo{Installation: installation, ID: id})
	}
	return list, h.begin(ctx, "repos")
}

func (h *hub) Branch(ctx context.Context, _ solve.Repo, name string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.begin(ctx, "branch"); err != nil {
		return "", err
	}
	if name != "main" && name != "other" {
		return "", solve.ErrNotFound
	}
	return h.sha, nil
}

func (h *hub) Config(ctx context.Context, _ solve.Repo, sha string) (string, []byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.configAt = append(h.configAt, sha)
	if err := h.begin(ctx, "config"); err != nil {
		return solve.RepoConfigFile, nil, err
	}
	if h.config == "" {
		return "", nil, solve.ErrNotFound
	}
	return solve.RepoConfigFile, []byte(h.config), nil
}

func (h *hub) Clone(ctx context.Context, _ solve.Repo) (string, git.Auth, func(context.Context) error, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.begin(ctx, "clone"); err != nil {
		return "", git.Auth{}, nil, err
	}
	return h.url, git.Auth{}, func(context.Context) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.released++
		return nil
	}, nil
}

// fault is an error of GitHub that may pass.
type fault struct {
	passes bool
	after  time.Duration
}

func (f fault) Error() string             { return "GitHub does not answer" }
func (f fault) Temporary() bool           { return f.passes }
func (f fault) RetryAfter() time.Duration { return f.after }

// models plays scripts and counts the calls.
type models struct {
	mu      sync.Mutex
	plays   []scripted.Play
	names   []string
	calls   map[string]int
	unready map[string]error
	answers map[string]error
	opens   map[string]error
	silent  bool // no model has an API for agents, as a roulette
	// failing is what a call tells before it waits a minute and is tried again; "" for none.
	failing string
}

// set gives a model another script, for what is asked from now on.
func (m *models) set(name string, steps ...scripted.Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.plays {
		if m.plays[i].Match.Model == name {
			m.plays[i].Steps = steps
		}
	}
}

func (m *models) Names() []string                              { return slices.Clone(m.names) }
func (m *models) Ready(name string) error                      { return m.unready[name] }
func (m *models) Temperature(string) solve.TemperatureRule     { return solve.TemperatureAccepted }
func (m *models) Vendor(name string) string                    { return name }
func (m *models) Answers(_ context.Context, name string) error { return m.answers[name] }
func (m *models) Metered(name string) bool                     { return name != "bad" }
func (m *models) UsualCost(string) solve.Money                 { return 0 }
func (m *models) count(name string) int                        { m.mu.Lock(); defer m.mu.Unlock(); return m.calls[name] }

func (m *models) APIs(string) []string {
	if m.silent {
		return nil
	}
	return []string{agent.APIChat}
}

func (m *models) Open(name string, x solve.Experiment) (agent.Model, error) {
	if err := m.opens[name]; err != nil {
		return nil, err
	}
	script := scripted.Script{Plays: m.plays}
	return counted{script.Model(name, x, agent.Price{Input: 1, Output: 1}), m}, nil
}

// counted is a model whose calls are counted. One call costs what its step's
// usage says, in millionths of a dollar.
type counted struct {
	*scripted.Model
	book *models
}

func (c counted) InMode(mode string) agent.Model {
	return counted{c.Model.InMode(mode).(*scripted.Model), c.book}
}

func (c counted) Query(ctx context.Context, history []agent.Message) (agent.Reply, error) {
	c.book.mu.Lock()
	c.book.calls[c.Name()]++
	failing := c.book.failing
	c.book.mu.Unlock()
	if failing != "" {
		agent.Retrying(ctx, failing)
		<-time.After(time.Minute)
	}
	return c.Model.Query(ctx, history)
}
