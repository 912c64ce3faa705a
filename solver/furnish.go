package solver

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/solver/tree"
)

// preparation is one base being made, or one sandbox that is prepared by itself.
type preparation struct {
	*Engine
	driver sandbox.Driver
	solve  solve.Solve
	mirror *git.Mirror
	setup  judge.Setup
	usage  *sandboxes.Recorder
}

// clear removes what an earlier attempt at the same base left. A driver that cannot be
// asked now is left alone: if it is needed, opening the sandbox says so.
func (p *preparation) clear(ctx context.Context) error {
	names := sandboxes.LayerNames(p.solve.ID)
	for _, name := range names {
		sb, err := p.driver.Attach(ctx, name)
		switch {
		case err == nil:
			if err := sb.Close(ctx); err != nil && !errors.Is(err, sandbox.ErrUnavailable) {
				return err
			}
		case !errors.Is(err, sandbox.ErrGone) && !errors.Is(err, sandbox.ErrUnavailable):
			return err
		}
	}
	forker, ok := p.driver.(sandbox.Forker)
	if !ok {
		return nil
	}
	for _, name := range names {
		if err := forker.Thaw(ctx, name); err != nil && !errors.Is(err, sandbox.ErrUnavailable) {
			return err
		}
	}
	return nil
}

// base makes the base from nothing, for a solve that has none. What the settings say and
// a driver refuses is the asker's to know.
func (p *preparation) base(ctx context.Context) (judge.Report, string, error) {
	var report judge.Report
	image, err := "", p.possible()
	if err == nil {
		err = p.clear(ctx)
	}
	if err == nil {
		report, image, err = p.build(ctx)
	}
	var no fault.Refusal
	if fault.Hopeless(err) && !errors.As(err, &no) {
		err = fault.Refusef("No sandbox can be opened for this solve, and trying again changes nothing: %s", fault.Public(err))
	}
	return report, image, err
}

// possible refuses a driver with which dependencies can only be installed where the
// agents' commands would have a network, too.
func (p *preparation) possible() error {
	if len(p.installSteps()) == 0 || sandboxes.Forks(p.driver) || p.driver.Traits().Egress {
		return nil
	}
	return p.impossible(p.driver.Traits().Name)
}

func (p *preparation) impossible(driver string) error {
	what := "this repository needs an install (`" + p.setup.Install + "`)"
	if p.setup.Install == "" {
		what = "agents are installed that live in the sandbox"
	}
	return fault.Refusal{Text: fmt.Sprintf("The sandbox driver %s can neither copy a prepared sandbox nor close the network of one that is open, and %s. Choose another driver (sandbox.driver, or sandbox= in the command).",
		driver, what), Final: true}
}

// build makes the base: it installs, tests and freezes. image is the frozen base; ""
// where the driver offers none, and then every sandbox is prepared by itself.
func (p *preparation) build(ctx context.Context) (report judge.Report, image string, err error) {
	sb, err := p.furnished(ctx)
	if err != nil {
		return report, "", err
	}
	if report, err = p.test(ctx, sb); err == nil {
		image, err = p.freeze(ctx, p.driver, sb)
	}
	if image == "" {
		sandboxes.Close(ctx, sb)
	}
	p.usage.Closed()
	return report, image, err
}

// furnished opens a sandbox that holds the repository and its dependencies and has no
// network. What is installed with one is a layer of its own where the driver can fork:
// then nothing that was started with the network is there any more.
func (p *preparation) furnished(ctx context.Context) (sandbox.Sandbox, error) {
	steps := p.installSteps()
	name, hosts := sandboxes.BaseName(p.solve.ID), []string(nil)
	if len(steps) > 0 {
		hosts = steps[0].hosts
		if sandboxes.Forks(p.driver) {
			name = steps[0].layer
		}
	}
	sb, err := p.open(ctx, name, "", hosts)
	if err != nil {
		return nil, err
	}
	if err = p.lay(ctx, sb); err == nil {
		sb, err = p.take(ctx, sb, steps)
	}
	if err != nil && sb != nil {
		sandboxes.Close(ctx, sb)
	}
	if err != nil {
		p.usage.Closed()
		return nil, err
	}
	return sb, nil
}

// take does the steps in a sandbox, or each in a copy of the last one's layer. The
// sandbox it returns is the one that is open at the end, nil if none is.
func (p *preparation) take(ctx context.Context, sb sandbox.Sandbox, steps []installStep) (sandbox.Sandbox, error) {
	for i, step := range steps {
		if err := step.do(ctx, sb); err != nil {
			return sb, err
		}
		name, hosts := sandboxes.BaseName(p.solve.ID), []string(nil)
		if i+1 < len(steps) {
			name, hosts = steps[i+1].layer, steps[i+1].hosts
		}
		layer, err := p.freeze(ctx, p.driver, sb)
		switch {
		case err != nil:
			return sb, err
		case layer == "":
			err = p.isolate(ctx, sb, sandbox.Network{Allow: hosts})
		default:
			p.usage.Closed()
			sb, err = p.open(ctx, name, layer, hosts)
		}
		if err != nil {
			return sb, err
		}
	}
	return sb, nil
}

// open opens a sandbox of the preparation.
func (p *preparation) open(ctx context.Context, name, from string, hosts []string) (sandbox.Sandbox, error) {
	t := p.settings(p.solve)
	return p.usage.Open(ctx, p.driver, sandbox.Spec{
		Name: name, From: from, Network: sandbox.Network{Allow: hosts},
		Labels: map[string]string{"solve": string(p.solve.ID), "phase": sandboxes.PhasePrepare},
		TTL:    sandboxes.Lifetime(t.InstallTime, t.TestTime, p.solve.Plan.Limits.SolveTime),
	}, p.solve)
}

// isolate ends the network of a sandbox in which something was installed, but for what
// its work needs. Nothing of the agent's and no test ever runs before.
func (p *preparation) isolate(ctx context.Context, sb sandbox.Sandbox, work sandbox.Network) error {
	err := errors.ErrUnsupported
	if e, ok := sb.(sandbox.Egress); ok {
		err = e.Restrict(ctx, work)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return p.impossible(sandboxes.PlaceOf(p.driver, sb).Driver)
	}
	if err != nil {
		return fmt.Errorf("end the network of the install: %w", err)
	}
	return nil
}

// single opens a sandbox and prepares it by itself, as the base was prepared: same
// commit, same commands, and settled as the base was after its tests.
func (p *preparation) single(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	noted, err := p.Store.Artifact(ctx, p.solve.ID, baseNoted)
	if err != nil && !errors.Is(err, solve.ErrNotFound) {
		return nil, err
	}
	spec.From = ""
	work, steps := spec.Network, p.installSteps()
	if len(steps) > 0 {
		spec.Network.Allow = steps[0].hosts
	}
	if t := p.settings(p.solve).InstallTime; spec.TTL > 0 {
		spec.TTL = sandboxes.Lifetime(spec.TTL, t)
	}
	sb, err := p.usage.Open(ctx, p.driver, spec, p.solve)
	if err != nil {
		return nil, err
	}
	err = p.lay(ctx, sb)
	for i, step := range steps {
		next := work
		if i+1 < len(steps) {
			next.Allow = steps[i+1].hosts
		}
		if err == nil {
			err = step.do(ctx, sb)
		}
		if err == nil {
			err = p.isolate(ctx, sb, next)
		}
	}
	if err == nil {
		err = tree.IgnoreLeftoversOf(ctx, sb, noted)
	}
	if err != nil {
		sandboxes.Close(ctx, sb)
		p.usage.Closed()
		return nil, fmt.Errorf("prepare the sandbox: %w", err)
	}
	return sb, nil
}
