package server

import (
	"fmt"

	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// Plan is the plan of a request in a repository without settings of its own.
func (c Config) Plan(req solve.Request, getenv func(string) string) (solve.Plan, error) {
	set, err := model.NewSet(c.Models, getenv)
	if err != nil {
		return solve.Plan{}, err
	}
	return c.plan(req, set.Names(), set.Temperature)
}

// PlanFor is the plan of a request for the models of published results, configured or
// not. Where the results tell no temperature, none makes a difference.
func (c Config) PlanFor(req solve.Request, results solve.Results) (solve.Plan, error) {
	rule := func(string) solve.TemperatureRule { return solve.TemperatureAccepted }
	if !results.Temperatures {
		c.Solver.Defaults.Temps = nil
		rule = func(string) solve.TemperatureRule { return solve.TemperatureIgnored }
	}
	return c.plan(req, results.Models, rule)
}

func (c Config) plan(req solve.Request, models []string, rule func(string) solve.TemperatureRule) (solve.Plan, error) {
	op := c.operator()
	if req.Profile != "" {
		_, p, ok := op.Rules.Profile(req.Profile)
		if !ok {
			return solve.Plan{}, fmt.Errorf("%s", op.Rules.UnknownProfile(req.Profile))
		}
		req = p.Fill(req)
	}
	return solve.Expand(req, c.Solver.Matrix(op.Rules, models, c.vocabulary().Agents), rule)
}
