package plan

import (
	"context"
	"hash/fnv"
	"slices"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// records are the track records that plans use, none if they are not used.
func (p *Planner) records(ctx context.Context) ([]solve.TrackRecord, error) {
	if !p.Rules.Records {
		return nil, nil
	}
	return p.Store.TrackRecords(ctx)
}

// leastModels is how many models models=auto chooses at least: one model alone is supported by nobody.
const leastModels = 2

// chooseModels puts models in the place of models=auto: as many as the defaults have, of those that can be used now. The seed
// is made of the solve's ID, so that planning again after a crash chooses the same.
func (p *Planner) chooseModels(
	s solve.Solve, req *solve.Request, def solve.Defaults, driver string, records []solve.TrackRecord,
) (*solve.ModelChoice, error) {
	if !slices.Equal(req.Models, []string{solve.ModelsAuto}) || slices.Contains(def.KnownModels, solve.ModelsAuto) {
		return nil, nil
	}
	if !p.Rules.Records {
		return nil, fault.Refuse("models=auto chooses by track records, and they are turned off here (solver.record): name the models.")
	}
	agents, strategies := named(req.Agents, def.Agents), named(req.Strategies, def.Strategies)
	var offers []solve.Offer
	for _, name := range def.KnownModels {
		if p.Models.Ready(name) != nil || !p.runsWith(agents, name, driver) {
			continue
		}
		arm := solve.Arm{Model: name, Agent: agents[0], Strategy: strategies[0]}
		offers = append(offers, solve.Offer{Rate: solve.RateOf(arm, s.Repo, records), Vendor: p.Models.Vendor(name)})
	}
	seed := fnv.New32a()
	_, _ = seed.Write([]byte(s.ID)) // never fails
	choice := solve.ChooseModels(offers, max(leastModels, len(def.Models)), seed.Sum32())
	if req.Models = choice.Models(); len(req.Models) == 0 {
		return nil, fault.Refuse("models=auto found no model that can be used now: name one, and the reason is told.")
	}
	return &choice, nil
}

// runsWith says whether all agents can work with a model.
func (p *Planner) runsWith(agents []string, model, driver string) bool {
	return !slices.ContainsFunc(agents, func(agent string) bool {
		return p.checkAgent(solve.Experiment{Agent: agent, Model: model}, driver) != nil
	})
}

// named are the names of a request, else the default ones, else an empty one.
func named(asked, def []string) []string {
	switch {
	case len(asked) > 0:
		return asked
	case len(def) > 0:
		return def
	}
	return []string{""}
}
