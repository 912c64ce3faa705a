package solver

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/tree"
)

// preparation is one base being made, or one sandbox that is prepared by itself.
type preparation struct {
	*Engine
	driver sandbox.Driver
	solve  solve.Solve
	mirror *git.Mirror
	setup  judge.Setup
	bill   *bill
}

// clear removes what an earlier attempt at the same base left. A driver that cannot be
// asked now is left alone: if it is needed, opening the sandbox says so.
func (p *preparation) clear(ctx context.Context) error {
	for _, name := range []string{installName(p.solve.ID), baseName(p.solve.ID)} {
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
	for _, name := range []string{baseName(p.solve.ID), installName(p.solve.ID)} { // the base may stand on the install layer
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
	var no refusal
	if hopeless(err) && !errors.As(err, &no) {
		err = refusef("No sandbox can be opened for this solve, and trying again changes nothing: %s", public(err))
	}
	return report, image, err
}

// possible refuses a driver with which dependencies can only be installed where the
// agents' commands would have a network, too.
func (p *preparation) possible() error {
	if p.setup.Install == "" || forks(p.driver) || p.driver.Traits().Egress {
		return nil
	}
	return p.impossible(p.driver.Traits().Name)
}

func (p *preparation) impossible(driver string) error {
	return refusal{text: fmt.Sprintf("The sandbox driver %s can neither copy a prepared sandbox nor close the network of one that is open, and this repository needs an install (`%s`). Choose another driver (sandbox.driver, or sandbox= in the command).",
		driver, p.setup.Install), final: true}
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
		closeSandbox(ctx, sb)
	}
	p.bill.close()
	return report, image, err
}

// furnished opens a sandbox that holds the repository and its dependencies and has no
// network. What is installed with one is a layer of its own where the driver can fork:
// then nothing that was started with the network is there any more.
func (p *preparation) furnished(ctx context.Context) (sandbox.Sandbox, error) {
	name, install := baseName(p.solve.ID), p.setup.Install != ""
	var hosts []string
	if install {
		hosts = p.setup.Hosts
		if forks(p.driver) {
			name = installName(p.solve.ID)
		}
	}
	sb, err := p.open(ctx, name, "", hosts)
	if err != nil {
		return nil, err
	}
	layer := ""
	if err = p.fill(ctx, sb); err == nil && install {
		if layer, err = p.freeze(ctx, p.driver, sb); err == nil && layer == "" {
			err = p.isolate(ctx, sb)
		}
	}
	if err != nil {
		closeSandbox(ctx, sb)
	}
	if err != nil || layer != "" {
		p.bill.close()
	}
	if err != nil || layer == "" {
		return sb, err
	}
	return p.open(ctx, baseName(p.solve.ID), layer, nil)
}

// open opens a sandbox of the preparation.
func (p *preparation) open(ctx context.Context, name, from string, hosts []string) (sandbox.Sandbox, error) {
	t := p.settings(p.solve)
	sb, err := room(ctx, p.driver, sandbox.Spec{
		Name: name, From: from, Network: sandbox.Network{Allow: hosts},
		Labels: map[string]string{"solve": string(p.solve.ID), "phase": phasePrepare},
		TTL:    lifetime(t.InstallTime, t.TestTime, p.solve.Plan.Limits.SolveTime),
	}, until(p.solve, phasePrepare))
	if err == nil {
		p.bill.open(p.driver, sb, phasePrepare)
	}
	return sb, err
}

// fill lays the repository into an empty sandbox and installs its dependencies.
func (p *preparation) fill(ctx context.Context, sb sandbox.Sandbox) error {
	if err := p.lay(ctx, sb); err != nil || p.setup.Install == "" {
		return err
	}
	return p.install(ctx, sb)
}

// isolate ends the network of a sandbox in which something was installed. Nothing of the
// agent's and no test ever runs before.
func (p *preparation) isolate(ctx context.Context, sb sandbox.Sandbox) error {
	err := errors.ErrUnsupported
	if e, ok := sb.(sandbox.Egress); ok {
		err = e.Restrict(ctx, sandbox.Network{})
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return p.impossible(placeOf(p.driver, sb).Driver)
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
	if p.setup.Install != "" {
		spec.Network.Allow = p.setup.Hosts
	}
	if t := p.settings(p.solve).InstallTime; spec.TTL > 0 {
		spec.TTL = lifetime(spec.TTL, t)
	}
	phase := spec.Labels["phase"]
	sb, err := room(ctx, p.driver, spec, until(p.solve, phase))
	if err != nil {
		return nil, err
	}
	p.bill.open(p.driver, sb, phase)
	if err = p.fill(ctx, sb); err == nil && p.setup.Install != "" {
		err = p.isolate(ctx, sb)
	}
	if err == nil {
		err = tree.Note(ctx, sb, noted)
	}
	if err != nil {
		closeSandbox(ctx, sb)
		p.bill.close()
		return nil, fmt.Errorf("prepare the sandbox: %w", err)
	}
	return sb, nil
}
