package solver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// Drivers are the sandbox drivers of a process.
type Drivers interface {
	// Of is the driver that a solve pinned by that name, the default for ""; false if
	// there is none.
	Of(name string) (sandbox.Driver, bool)
	// Names are those that a solve may choose, the default first.
	Names() []string
	// All are all there are, each once: what is left over in them is swept.
	All() []sandbox.Driver
}

// Only is one driver as the whole choice.
func Only(d sandbox.Driver) Drivers { return only{d} }

type only struct{ driver sandbox.Driver }

func (o only) Of(name string) (sandbox.Driver, bool) {
	return o.driver, name == "" || name == o.driver.Traits().Name
}
func (o only) Names() []string       { return []string{o.driver.Traits().Name} }
func (o only) All() []sandbox.Driver { return []sandbox.Driver{o.driver} }

// driver is the one that the solve was planned with.
func (e *Engine) driver(s solve.Solve) (sandbox.Driver, error) {
	d, ok := e.Drivers.Of(s.Plan.Sandbox)
	if !ok {
		return nil, fault.Refusal{Text: fmt.Sprintf("The sandbox driver %q, with which this solve was planned, is not configured any more. Name it in sandbox.choices, or ask for a new solve.", s.Plan.Sandbox), Final: true}
	}
	return d, nil
}

// chosen is the driver that a request, or else the repository's own file, names; else the default.
func (e *Engine) chosen(req solve.Request, rules repoconfig.Rules) (string, error) {
	offered := e.Drivers.Names()
	name := cmp.Or(req.Sandbox, rules.Sandbox, offered[0])
	if slices.Contains(offered, name) {
		return name, nil
	}
	return "", fault.Refusef("The sandbox %q is not offered here. Choose one of: %s (sandbox.driver and sandbox.choices).", name, strings.Join(offered, ", "))
}

// keepDriver pins the earlier solve's driver, if it is still there.
func (e *Engine) keepDriver(plan *solve.Plan, of solve.Solve) {
	was := of.Plan.Sandbox
	if _, ok := e.Drivers.Of(was); ok {
		plan.Sandbox = cmp.Or(was, e.Drivers.Names()[0])
		return
	}
	plan.Sandbox = e.Drivers.Names()[0]
	plan.Notes = append(plan.Notes, fmt.Sprintf("the sandbox driver %s of the earlier solve is not configured any more: %s is used", was, plan.Sandbox))
}

// forks says whether one prepared sandbox becomes many.
func forks(d sandbox.Driver) bool {
	_, ok := d.(sandbox.Forker)
	return ok && d.Traits().Fork
}

// freeze makes a base of a sandbox; "" where the driver turns out not to offer it, and
// then the sandbox lives on.
func (e *Engine) freeze(ctx context.Context, d sandbox.Driver, sb sandbox.Sandbox) (string, error) {
	if !forks(d) {
		return "", nil
	}
	base, err := d.(sandbox.Forker).Freeze(ctx, sb)
	if errors.Is(err, errors.ErrUnsupported) {
		e.forkless.Store(placeOf(d, sb).Driver, true)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return base, nil
}

// placeOf is where a sandbox is: of several drivers that stand for one, the right one.
func placeOf(d sandbox.Driver, sb sandbox.Sandbox) sandbox.Place {
	if p, ok := sb.(sandbox.Placed); ok {
		return p.Place()
	}
	return sandbox.Place{Driver: d.Traits().Name}
}
