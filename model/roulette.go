package model

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/solve"
)

// roulette asks another of its members at every step. Which one is drawn from the
// experiment, the task and the number of the step, so that a run that another process
// goes on with is the same run, and anybody can draw again.
type roulette struct {
	name    string
	members []agent.Model
	seed    string
}

var (
	_ agent.Model      = (*roulette)(nil)
	_ agent.ModeSetter = (*roulette)(nil)
)

// newRoulette opens the members of an entry for an experiment.
func (s *Set) newRoulette(e Entry, x solve.Experiment) (agent.Model, error) {
	r := &roulette{name: e.Name, seed: fmt.Sprintf("%s\n%d\n%s\n%d", e.Name, x.Repeat, x.Strategy, x.MaxEdits)}
	if x.Temperature != nil {
		r.seed += fmt.Sprintf("\n%g", *x.Temperature)
	}
	for _, name := range e.Members {
		m, err := s.Open(name, x)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", e.Name, err)
		}
		r.members = append(r.members, m)
	}
	return r, nil
}

// Name is the configured model name.
func (r *roulette) Name() string { return r.name }

// InMode returns the model for tools or text.
func (r *roulette) InMode(mode string) agent.Model {
	out := *r
	out.members = slices.Clone(r.members)
	for i, m := range out.members {
		if moder, ok := m.(agent.ModeSetter); ok {
			out.members[i] = moder.InMode(mode)
		}
	}
	return &out
}

// Query asks the member whose turn it is.
func (r *roulette) Query(ctx context.Context, history []agent.Message) (agent.Reply, error) {
	task := ""
	if i := slices.IndexFunc(history, func(m agent.Message) bool { return m.Role == agent.RoleUser }); i >= 0 {
		task = history[i].Content
	}
	member := r.draw(task, agent.Turns(history))
	return r.members[member].Query(ctx, r.told(history, task, member))
}

// draw is the member of a step, counted from 0.
func (r *roulette) draw(task string, step int) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", r.seed, step, task))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(len(r.members)))
}

// told is the history as a member may see it: what is native to another's provider, such
// as signed thinking, stays away.
func (r *roulette) told(history []agent.Message, task string, member int) []agent.Message {
	out := slices.Clone(history)
	for i, m := range out {
		if len(m.Native) > 0 && r.draw(task, agent.Turns(history[:i])) != member {
			out[i].Native = nil
		}
	}
	return out
}

// each looks at all members of a roulette at once. The error is that of the first member that has one.
func (s *Set) each(e Entry, look func(name string) error) error {
	errs := make([]error, len(e.Members))
	var looking sync.WaitGroup
	for i, name := range e.Members {
		looking.Go(func() { errs[i] = look(name) })
	}
	looking.Wait()
	if err := cmp.Or(errs...); err != nil {
		return fmt.Errorf("model %s: %w", e.Name, err)
	}
	return nil
}

// validateMembers checks a roulette's members, and that nothing else has any.
func (c Config) validateMembers(e Entry, report setting.Report) {
	if e.Provider != Roulette {
		report.Unless(len(e.Members) == 0, "members", "is only for provider roulette")
		return
	}
	report.Unless(len(e.Members) >= 2, "members", "must name two models or more")
	for i, name := range e.Members {
		at := slices.IndexFunc(c.Models, func(o Entry) bool { return o.Name == name })
		switch {
		case slices.Contains(e.Members[:i], name):
			report("members", fmt.Sprintf("%q is there twice", name))
		case at < 0:
			report("members", fmt.Sprintf("%q is no model of this list", name))
		case c.Models[at].Provider == Roulette:
			report("members", fmt.Sprintf("%q is a roulette itself", name))
		}
	}
	for _, k := range []struct {
		key string
		set bool
	}{
		{"model", e.Model != ""}, {"base_url", e.BaseURL != ""}, {"api_key_env", e.APIKeyEnv != ""}, {"api_key_file", e.APIKeyFile != ""},
		{"max_tokens", e.MaxTokens != 0}, {"timeout", e.Timeout != 0}, {"price", e.Price != agent.Price{}}, {"apis", len(e.APIs) > 0},
	} {
		report.Unless(!k.set, k.key, "must be set at the roulette's members: "+strings.Join(e.Members, ", "))
	}
}
