package server

import (
	"context"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/store/bolt"
)

// ledger is the store as the solver gets it: ends are counted.
type ledger struct {
	*bolt.Store
	m *metrics
}

// Apply implements [solver.Store]. No change of an ended solve succeeds, so each ends once.
func (l ledger) Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	s, r, err := l.Store.Apply(ctx, c)
	if err == nil && s.State.Final() {
		l.ended(ctx, s)
	}
	return s, r, err
}

// RequestCancel implements [solver.Store].
func (l ledger) RequestCancel(ctx context.Context, id solve.ID, by, why string) (solve.Solve, error) {
	before, err := l.Store.Solve(ctx, id)
	if err != nil {
		return before, err
	}
	s, err := l.Store.RequestCancel(ctx, id, by, why)
	if err == nil && s.State.Final() && !before.State.Final() {
		l.ended(ctx, s)
	}
	return s, err
}

// ended counts a solve and its own runs.
func (l ledger) ended(ctx context.Context, s solve.Solve) {
	l.m.solvesEnded.WithLabelValues(string(s.State)).Inc()
	runs, err := l.Store.Runs(ctx, s.ID)
	if err != nil {
		return // the store says so elsewhere
	}
	for _, r := range runs {
		if r.From == nil {
			l.m.runsEnded.WithLabelValues(string(r.State)).Inc()
		}
	}
}

// outbox is the store as the GitHub writer gets it: outcomes are counted.
type outbox struct {
	*bolt.Store
	m *metrics
}

func (o outbox) count(key, outcome string, err error) {
	if err == nil {
		o.m.writes.WithLabelValues(kindOf(key), outcome).Inc()
	}
}

// FinishEffect implements [ghapp.EffectStore].
func (o outbox) FinishEffect(ctx context.Context, key string, token, version uint64, r solve.Receipt) error {
	err := o.Store.FinishEffect(ctx, key, token, version, r)
	o.count(key, "written", err)
	return err
}

// RetryEffect implements [ghapp.EffectStore].
func (o outbox) RetryEffect(ctx context.Context, key string, token uint64, wait time.Duration, reason string, unknown bool) error {
	err := o.Store.RetryEffect(ctx, key, token, wait, reason, unknown)
	o.count(key, "later", err)
	return err
}

// KillEffect implements [ghapp.EffectStore].
func (o outbox) KillEffect(ctx context.Context, key string, token uint64, reason string) error {
	err := o.Store.KillEffect(ctx, key, token, reason)
	o.count(key, "refused", err)
	return err
}

// kindOf is the kind in an effect's key, which is its last part but for a run's number.
func kindOf(key string) string {
	parts := strings.Split(key, "/")
	kind := parts[len(parts)-1]
	if len(parts) > 2 && strings.Trim(kind, "0123456789") == "" {
		kind = parts[len(parts)-2]
	}
	return kind
}

// models counts what runs ask of models.
func (m *metrics) models(next solver.Models) solver.Models { return countedModels{next, m} }

type countedModels struct {
	solver.Models
	m *metrics
}

// Open implements [solver.Models].
func (c countedModels) Open(name string, x solve.Experiment) (agent.Model, error) {
	next, err := c.Models.Open(name, x)
	if err != nil {
		return nil, err
	}
	return countModel(next, c.m), nil
}

// countModel keeps what the model can do beside.
func countModel(next agent.Model, m *metrics) agent.Model {
	c := countedModel{next, m}
	if moder, ok := next.(agent.ModeSetter); ok {
		return countedModer{c, moder}
	}
	return c
}

type countedModel struct {
	agent.Model
	m *metrics
}

// Query implements [agent.Model].
func (c countedModel) Query(ctx context.Context, history []agent.Message) (agent.Reply, error) {
	reply, err := c.Model.Query(ctx, history)
	name := c.Name()
	c.m.modelCalls.WithLabelValues(name, result("answered", err)).Inc()
	if err == nil {
		c.m.used(name, reply.Usage)
	}
	return reply, err
}

// used counts what a call cost.
func (m *metrics) used(name string, u solve.Usage) {
	m.modelTokens.WithLabelValues(name, "input").Add(float64(max(0, u.Input)))
	m.modelTokens.WithLabelValues(name, "cached").Add(float64(max(0, u.CachedRead)))
	m.modelTokens.WithLabelValues(name, "output").Add(float64(max(0, u.Output)))
	m.modelDollars.WithLabelValues(name).Add(float64(max(0, u.Cost)) / 1e6)
}

// gateway counts a call of an agent that is a program of its own.
func (m *metrics) gateway(c gateway.Count) {
	m.gatewayCalls.WithLabelValues(c.API, c.Outcome).Inc()
	switch c.Outcome {
	case gateway.OK:
		m.modelCalls.WithLabelValues(c.Model, "answered").Inc()
	case gateway.Failed, gateway.Cut, gateway.Gone:
		m.modelCalls.WithLabelValues(c.Model, "failed").Inc()
	default:
		return // no model was asked
	}
	m.used(c.Model, c.Usage)
}

type countedModer struct {
	countedModel
	moder agent.ModeSetter
}

// InMode implements [agent.ModeSetter].
func (c countedModer) InMode(mode string) agent.Model { return countModel(c.moder.InMode(mode), c.m) }
