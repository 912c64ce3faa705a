package simulation_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
)

// provider is who answers for the models; it keeps the bill over all crashes.
type provider struct {
	script *scripted.Script
	names  []string
	mu     sync.Mutex
	asked  map[question]int
}

// question is one call as the provider sees it: which model, how long a conversation.
type question struct {
	model    string
	messages int
}

func newProvider(script string) (*provider, error) {
	s, err := scripted.Load([]byte(script))
	if err != nil {
		return nil, err
	}
	p := &provider{script: s, asked: map[question]int{}}
	for _, play := range s.Plays {
		p.names = append(p.names, play.Match.Model)
	}
	return p, nil
}

// bill is how often each question was asked.
func (p *provider) bill() map[question]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.asked)
}

// account is the provider as one process sees it.
type account struct {
	*provider
	gate *gate
}

func (a account) Names() []string                          { return slices.Clone(a.names) }
func (a account) Ready(string) error                       { return nil }
func (a account) Temperature(string) solve.TemperatureRule { return solve.TemperatureAccepted }
func (a account) Vendor(string) string                     { return "" }
func (a account) Answers(context.Context, string) error    { return nil }
func (a account) Metered(string) bool                      { return true }
func (a account) UsualCost(string) solve.Money             { return 0 }
func (a account) APIs(string) []string                     { return nil }
func (a account) Open(name string, x solve.Experiment) (agent.Model, error) {
	return &metered{a.script.Model(name, x, agent.Price{Input: 1, Output: 1}), a}, nil
}

// metered is a model each of whose answers is paid for.
type metered struct {
	*scripted.Model
	account account
}

func (m *metered) InMode(mode string) agent.Model {
	return &metered{m.Model.InMode(mode).(*scripted.Model), m.account}
}

func (m *metered) Query(ctx context.Context, history []agent.Message) (reply agent.Reply, err error) {
	name := fmt.Sprintf("model %s at %d messages", m.Name(), len(history))
	err = m.account.gate.around(name, func() (err error) {
		if reply, err = m.Model.Query(ctx, history); err == nil {
			m.account.mu.Lock()
			m.account.asked[question{m.Name(), len(history)}]++
			m.account.mu.Unlock()
		}
		return err
	})
	return reply, err
}
