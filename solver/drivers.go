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
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

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

// freeze makes a base of a sandbox; "" where the driver turns out not to offer it, and
// then the sandbox lives on.
func (e *Engine) freeze(ctx context.Context, d sandbox.Driver, sb sandbox.Sandbox) (string, error) {
	if !sandboxes.Forks(d) {
		return "", nil
	}
	base, err := d.(sandbox.Forker).Freeze(ctx, sb)
	if errors.Is(err, errors.ErrUnsupported) {
		e.forkless.Store(sandboxes.PlaceOf(d, sb).Driver, true)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return base, nil
}
