package prepare

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

// build is one base being made, or one sandbox that is prepared by itself.
type build struct {
	by     *Preparer
	driver sandbox.Driver
	solve  solve.Solve
	mirror *git.Mirror
	setup  judge.Setup
	usage  *sandboxes.Recorder
}

func (b *build) settings() solve.Settings { return b.solve.SettingsOr(b.by.options.Settings) }

// clear removes what an earlier attempt at the same base left. A driver that cannot be
// asked now is left alone: if it is needed, opening the sandbox says so.
func (b *build) clear(ctx context.Context) error {
	names := sandboxes.LayerNames(b.solve.ID)
	for _, name := range names {
		sb, err := b.driver.Attach(ctx, name)
		switch {
		case err == nil:
			if err := sb.Close(ctx); err != nil && !errors.Is(err, sandbox.ErrUnavailable) {
				return err
			}
		case !errors.Is(err, sandbox.ErrGone) && !errors.Is(err, sandbox.ErrUnavailable):
			return err
		}
	}
	forker, ok := b.driver.(sandbox.Forker)
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
func (b *build) base(ctx context.Context) (judge.Report, string, error) {
	var report judge.Report
	image, err := "", b.checkDriver()
	if err == nil {
		err = b.clear(ctx)
	}
	if err == nil {
		report, image, err = b.make(ctx)
	}
	var no fault.Refusal
	if fault.Hopeless(err) && !errors.As(err, &no) {
		err = fault.Refusef("No sandbox can be opened for this solve, and trying again changes nothing: %s", fault.Public(err))
	}
	return report, image, err
}

// checkDriver refuses a driver with which dependencies can only be installed where the
// agents' commands would have a network, too.
func (b *build) checkDriver() error {
	if len(b.installSteps()) == 0 || sandboxes.Forks(b.driver) || b.driver.Traits().Egress {
		return nil
	}
	return b.refuseDriver(b.driver.Traits().Name)
}

func (b *build) refuseDriver(driver string) error {
	what := "this repository needs an install (`" + b.setup.Install + "`)"
	if b.setup.Install == "" {
		what = "agents are installed that live in the sandbox"
	}
	return fault.Refusal{Text: fmt.Sprintf("The sandbox driver %s can neither copy a prepared sandbox nor close the network of one that is open, and %s. Choose another driver (sandbox.driver, or sandbox= in the command).",
		driver, what), Final: true}
}

// make makes the base: it installs, tests and freezes. image is the frozen base; ""
// where the driver offers none, and then every sandbox is prepared by itself.
func (b *build) make(ctx context.Context) (report judge.Report, image string, err error) {
	sb, err := b.installed(ctx)
	if err != nil {
		return report, "", err
	}
	if report, err = b.test(ctx, sb); err == nil {
		image, err = b.by.freeze(ctx, b.driver, sb)
	}
	if image == "" {
		sandboxes.Close(ctx, sb)
	}
	b.usage.Closed()
	return report, image, err
}

// installed opens a sandbox that holds the repository and its dependencies and has no
// network. What is installed with one is a layer of its own where the driver can fork:
// then nothing that was started with the network is there any more.
func (b *build) installed(ctx context.Context) (sandbox.Sandbox, error) {
	steps := b.installSteps()
	name, hosts := sandboxes.BaseName(b.solve.ID), []string(nil)
	if len(steps) > 0 {
		hosts = steps[0].hosts
		if sandboxes.Forks(b.driver) {
			name = steps[0].layer
		}
	}
	sb, err := b.open(ctx, name, "", hosts)
	if err != nil {
		return nil, err
	}
	if err = b.lay(ctx, sb); err == nil {
		sb, err = b.install(ctx, sb, steps)
	}
	if err != nil && sb != nil {
		sandboxes.Close(ctx, sb)
	}
	if err != nil {
		b.usage.Closed()
		return nil, err
	}
	return sb, nil
}

// install does the steps in a sandbox, or each in a copy of the last one's layer. The
// sandbox it returns is the one that is open at the end, nil if none is.
func (b *build) install(ctx context.Context, sb sandbox.Sandbox, steps []installStep) (sandbox.Sandbox, error) {
	for i, step := range steps {
		if err := step.do(ctx, sb); err != nil {
			return sb, err
		}
		name, hosts := sandboxes.BaseName(b.solve.ID), []string(nil)
		if i+1 < len(steps) {
			name, hosts = steps[i+1].layer, steps[i+1].hosts
		}
		layer, err := b.by.freeze(ctx, b.driver, sb)
		switch {
		case err != nil:
			return sb, err
		case layer == "":
			err = b.isolate(ctx, sb, sandbox.Network{Allow: hosts})
		default:
			b.usage.Closed()
			sb, err = b.open(ctx, name, layer, hosts)
		}
		if err != nil {
			return sb, err
		}
	}
	return sb, nil
}

// open opens a sandbox of the preparation.
func (b *build) open(ctx context.Context, name, from string, hosts []string) (sandbox.Sandbox, error) {
	t := b.settings()
	return b.usage.Open(ctx, b.driver, sandbox.Spec{
		Name: name, From: from, Network: sandbox.Network{Allow: hosts},
		Labels: map[string]string{"solve": string(b.solve.ID), "phase": sandboxes.PhasePrepare},
		TTL:    sandboxes.Lifetime(t.InstallTime, t.TestTime, b.solve.Plan.Limits.SolveTime),
	}, b.solve)
}

// isolate ends the network of a sandbox in which something was installed, but for what
// its work needs. Nothing of the agent's and no test ever runs before.
func (b *build) isolate(ctx context.Context, sb sandbox.Sandbox, work sandbox.Network) error {
	err := errors.ErrUnsupported
	if e, ok := sb.(sandbox.Egress); ok {
		err = e.Restrict(ctx, work)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return b.refuseDriver(sandboxes.PlaceOf(b.driver, sb).Driver)
	}
	if err != nil {
		return fmt.Errorf("end the network of the install: %w", err)
	}
	return nil
}

// alone opens a sandbox and prepares it by itself, as the base was prepared: same
// commit, same commands, and settled as the base was after its tests.
func (b *build) alone(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	noted, err := b.by.store.Artifact(ctx, b.solve.ID, baseNoted)
	if err != nil && !errors.Is(err, solve.ErrNotFound) {
		return nil, err
	}
	spec.From = ""
	work, steps := spec.Network, b.installSteps()
	if len(steps) > 0 {
		spec.Network.Allow = steps[0].hosts
	}
	if t := b.settings().InstallTime; spec.TTL > 0 {
		spec.TTL = sandboxes.Lifetime(spec.TTL, t)
	}
	sb, err := b.usage.Open(ctx, b.driver, spec, b.solve)
	if err != nil {
		return nil, err
	}
	err = b.lay(ctx, sb)
	for i, step := range steps {
		next := work
		if i+1 < len(steps) {
			next.Allow = steps[i+1].hosts
		}
		if err == nil {
			err = step.do(ctx, sb)
		}
		if err == nil {
			err = b.isolate(ctx, sb, next)
		}
	}
	if err == nil {
		err = tree.IgnoreLeftoversOf(ctx, sb, noted)
	}
	if err != nil {
		sandboxes.Close(ctx, sb)
		b.usage.Closed()
		return nil, fmt.Errorf("prepare the sandbox: %w", err)
	}
	return sb, nil
}
