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

// build makes one base, or prepares one sandbox by itself.
type build struct {
	by     *Preparer
	driver sandbox.Driver
	solve  solve.Solve
	mirror *git.Mirror
	setup  judge.Setup
	usage  *sandboxes.Recorder
}

func (b *build) settings() solve.Settings { return b.solve.SettingsOr(b.by.options.Settings) }

// clear removes what an earlier attempt at the same base left. It ignores a driver that does
// not answer: if the driver is needed, opening the sandbox fails.
func (b *build) clear(ctx context.Context) error {
	forker, forks := b.driver.(sandbox.Forker)
	names := sandboxes.LayerNames(b.solve.ID)
	for _, name := range names {
		sb, err := b.driver.Attach(ctx, name)
		if err == nil {
			err = sb.Close(ctx)
		}
		if err != nil && !errors.Is(err, sandbox.ErrGone) && !errors.Is(err, sandbox.ErrUnavailable) {
			return err
		}
	}
	for _, name := range names {
		if !forks {
			break
		}
		if err := forker.Thaw(ctx, name); err != nil && !errors.Is(err, sandbox.ErrUnavailable) {
			return err
		}
	}
	return nil
}

// base makes the base from nothing, for a solve that has none. The person who asked learns
// what in the settings a driver refuses.
func (b *build) base(ctx context.Context) (report judge.Report, image string, err error) {
	if err = b.checkDriver(); err == nil {
		report, image, err = b.make(ctx)
	}
	if fault.Hopeless(err) && !errors.As(err, &fault.Refusal{}) {
		err = fault.Refusef("No sandbox can be opened for this solve, and trying again changes nothing: %s", fault.Public(err))
	}
	return report, image, err
}

// checkDriver refuses a driver with which the agents' commands would have the network of the
// install.
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
	return fault.Refusal{Final: true, Text: fmt.Sprintf("The sandbox driver %s can neither copy a prepared sandbox nor close the network "+
		"of one that is open, and %s. Choose another driver (sandbox.driver, or sandbox= in the command).", driver, what)}
}

// make makes the base: it installs, tests and freezes. image is the frozen base; ""
// where the driver offers none, and then every sandbox is prepared by itself.
func (b *build) make(ctx context.Context) (report judge.Report, image string, err error) {
	if err := b.clear(ctx); err != nil {
		return report, "", err
	}
	t := b.settings()
	sb, err := b.installed(ctx, sandbox.Spec{
		Name:   sandboxes.BaseName(b.solve.ID),
		Labels: map[string]string{"solve": string(b.solve.ID), "phase": sandboxes.PhasePrepare},
		TTL:    sandboxes.Lifetime(t.InstallTime, t.TestTime, b.solve.Plan.Limits.SolveTime),
	}, sandboxes.Forks(b.driver))
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

// installed opens a sandbox that holds the repository and what is installed, and has the
// network of the spec. With layers, each step of the install is a base of its own and the
// next one works in a copy: then nothing that was started with a network lives on.
func (b *build) installed(ctx context.Context, spec sandbox.Spec, layers bool) (sandbox.Sandbox, error) {
	steps := b.installSteps()
	at := func(i int) sandbox.Spec { // the sandbox of a step, and the one after the last
		s := spec
		if i < len(steps) {
			s.Network.Allow = steps[i].hosts
		}
		if i < len(steps) && layers {
			s.Name = steps[i].layer
		}
		return s
	}
	sb, err := b.usage.Open(ctx, b.driver, at(0), b.solve)
	if err != nil {
		return nil, err
	}
	err = b.layOut(ctx, sb)
	for i, step := range steps {
		if err == nil {
			err = step.do(ctx, sb)
		}
		if err == nil {
			sb, err = b.next(ctx, sb, at(i+1), layers)
		}
	}
	if err == nil {
		return sb, nil
	}
	if sb != nil {
		sandboxes.Close(ctx, sb)
	}
	b.usage.Closed()
	return nil, err
}

// next goes on from a step of the install with another network: in a copy, or in the same
// sandbox. The sandbox it returns is the one that is open at the end, nil if none is.
func (b *build) next(ctx context.Context, sb sandbox.Sandbox, spec sandbox.Spec, layers bool) (sandbox.Sandbox, error) {
	layer := ""
	if layers {
		var err error
		if layer, err = b.by.freeze(ctx, b.driver, sb); err != nil {
			return sb, err
		}
	}
	if layer == "" {
		return sb, b.isolate(ctx, sb, spec.Network)
	}
	b.usage.Closed()
	spec.From = layer
	return b.usage.Open(ctx, b.driver, spec, b.solve)
}

// isolate restricts a sandbox in which something was installed to the network of its work. It
// happens before any command of an agent and any test.
func (b *build) isolate(ctx context.Context, sb sandbox.Sandbox, work sandbox.Network) error {
	err := errors.ErrUnsupported
	if e, ok := sandbox.As[sandbox.Egress](sb); ok {
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

// standalone opens a sandbox and prepares it by itself, as the base was prepared: same commit,
// same commands, and what the base's tests left is ignored here, too.
func (b *build) standalone(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	noted, err := b.by.store.Artifact(ctx, b.solve.ID, baseLeftovers)
	if err != nil && !errors.Is(err, solve.ErrNotFound) {
		return nil, err
	}
	spec.From = ""
	if spec.TTL > 0 {
		spec.TTL = sandboxes.Lifetime(spec.TTL, b.settings().InstallTime)
	}
	sb, err := b.installed(ctx, spec, false)
	if err != nil {
		return nil, err
	}
	if err := tree.IgnoreLeftoversOf(ctx, sb, noted); err != nil {
		sandboxes.Close(ctx, sb)
		b.usage.Closed()
		return nil, err
	}
	return sb, nil
}
