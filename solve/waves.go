package solve

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Wave is one wave of experiments: the axes of a small matrix. Empty axes have the
// operator's default values.
type Wave struct {
	Models     []string
	Temps      []float64
	Edits      []int
	Strategies []string
	Agents     []string
	Repeat     int
}

// split is a request for each wave; one request where the rule is not StopWaves.
//
// A request that names models has a wave for each, in the order in which it names them:
// the cheap ones first. Any other has the configured waves, with the axes that it names
// in the place of theirs.
func split(stop StopRule, req Request, def Defaults) ([]Request, []error) {
	if bad, _ := BadStopRule(stop); bad != "" {
		return []Request{req}, []error{fmt.Errorf("stop %q %s", Clip(string(stop), 60), bad)}
	}
	if stop != StopWaves {
		return []Request{req}, nil
	}
	var out []Request
	for _, model := range distinct(req.Models) {
		one := req
		one.Models = []string{model}
		out = append(out, one)
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, w := range def.Waves {
		one := req
		one.Models = w.Models
		one.Temps, one.Edits = either(req.Temps, w.Temps), either(req.Edits, w.Edits)
		one.Strategies, one.Agents = either(req.Strategies, w.Strategies), either(req.Agents, w.Agents)
		if one.Repeat == 0 {
			one.Repeat = w.Repeat
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return []Request{req}, []error{errors.New(
			"stop=waves needs waves, and none are configured (solver.waves): name the models in the order to try them in " +
				"(models=small,large), or set solver.waves")}
	}
	return out, nil
}

// nextWave are the experiments of the wave that no earlier one has, with its number;
// a wave without any is left out. n is its place in the request.
func (p *Plan) nextWave(n int, list []Experiment) (out []Experiment) {
	number := 1
	if len(p.Experiments) > 0 {
		number = p.Waves() + 1
	}
	for _, x := range list {
		if slices.ContainsFunc(p.Experiments, func(o Experiment) bool { o.Wave = x.Wave; return reflect.DeepEqual(o, x) }) {
			continue
		}
		out = append(out, x)
	}
	if left := len(list) - len(out); left > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("wave %d: %s of an earlier wave left out", n, Count(left, "experiment")))
	}
	for i := range out {
		out[i].Wave = number
	}
	return out
}

// stopNotes tell people what the stop rule means for the plan.
func (p Plan) stopNotes() []string {
	switch p.Stop {
	case StopFirstGreen:
		return []string{"it ends with the first experiment that is proven or supported (stop=first_green)"}
	case StopWaves:
		var sizes []string
		for wave := 1; wave <= p.Waves(); wave++ {
			n := 0
			for _, x := range p.Experiments {
				if x.Wave == wave {
					n++
				}
			}
			sizes = append(sizes, fmt.Sprint(n))
		}
		if len(sizes) == 1 {
			return []string{"there is one wave: it holds all experiments (stop=waves)"}
		}
		last := len(sizes) - 1
		return []string{fmt.Sprintf("%d waves, of %s and %s experiments: the next one starts only if no run is proven or supported (stop=waves)",
			len(sizes), strings.Join(sizes[:last], ", "), sizes[last])}
	}
	return nil
}
