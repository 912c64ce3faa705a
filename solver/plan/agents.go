package plan

import (
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// checkAgents refuses experiments that cannot be: a program that cannot speak with its
// model, or a sandbox in which it cannot live.
func (p *Planner) checkAgents(plan solve.Plan) error {
	for _, x := range plan.Experiments {
		if err := p.checkAgent(x, plan.Sandbox); err != nil {
			return err
		}
	}
	return nil
}

func (p *Planner) checkAgent(x solve.Experiment, driver string) error {
	n, ok := agent.NeedsOf(p.Agents[x.Agent])
	if !ok {
		return nil
	}
	if r, ok := p.Agents[x.Agent].(interface{ Ready() error }); ok {
		if err := r.Ready(); err != nil {
			return fault.Refuse(err.Error())
		}
	}
	if offered := p.Models.APIs(x.Model); !slices.ContainsFunc(n.APIs, func(a string) bool { return slices.Contains(offered, a) }) {
		return fault.Refusef("The agent %s speaks %s, and the model %s offers %s. "+
			"Choose another model or agent; for a server that offers more, set apis of the model in models.models.",
			x.Agent, strings.Join(n.APIs, ", "), x.Model, listed(offered))
	}
	d, known := p.Drivers.Of(driver)
	if !known {
		return nil
	}
	switch t := d.Traits(); {
	case !t.Launch:
		return fault.Refusef("The agent %s keeps a program running in the sandbox, and the driver %s cannot do that. "+
			"Choose another driver (sandbox=) or the agent mini.", x.Agent, t.Name)
	case n.Inside && !t.Socket && p.Gateway.PublicHost() == "":
		return fault.Refusef("The agent %s calls its model from its sandbox, and one of the driver %s, or of its fallback, is elsewhere and "+
			"reaches the gateway by a public address only: set server.public_url to an address of this server with a name and the "+
			"usual port, like https://yudai.example.com, or choose the agent mini.", x.Agent, t.Name)
	}
	return nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "no API that agents can call"
	}
	return strings.Join(names, ", ")
}
