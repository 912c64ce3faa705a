package solver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/tree"
)

// Names of artifacts.
const (
	baseReport = "base-report.json"
	baseLog    = "base-tests.log"
	installLog = "install.log"
)

// prepare makes the base: clone on the host, lay the tree into a sandbox,
// install with the allow-listed network, run the base's tests without any,
// freeze. It happens once per solve; the runs start from its result.
func (e *Engine) prepare(ctx context.Context, s solve.Solve) (solve.Solve, error) {
	if s.Picked() {
		return e.prepareNothing(ctx, s)
	}
	if !s.Deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, s.Deadline)
		defer stop()
	}
	select {
	case e.preparing <- struct{}{}:
		defer func() { <-e.preparing }()
	case <-ctx.Done():
		return s, context.Cause(ctx)
	}
	forker, ok := e.Driver.(sandbox.Forker)
	if !ok {
		return s, fmt.Errorf("sandbox driver %s cannot fork a prepared base", e.Driver.Traits().Name)
	}
	began := time.Now()
	mirror, err := e.clone(ctx, s)
	if err != nil {
		return s, err
	}
	setup, err := e.setup(ctx, mirror, s.Base.SHA)
	if err != nil {
		return s, err
	}
	p := preparation{Engine: e, solve: s, mirror: mirror, setup: setup, forker: forker}
	if err := p.clear(ctx); err != nil {
		return s, err
	}
	report, err := p.build(ctx)
	if err != nil {
		return s, err
	}
	base := s.Base
	base.Image, base.Install, base.Test = baseName(s.ID), setup.Install, setup.Test
	base.Report, base.Duration = report.Counts, time.Since(began)
	runs, err := e.newRuns(ctx, s)
	if err != nil {
		return s, err
	}
	s, _, err = e.apply(ctx, solve.Change{
		Solve: s.ID, Token: s.Lease.Token, Event: solve.EventBaseReady, Release: true, Runs: runs,
		Set: func(s *solve.Solve, _ *solve.Run) { s.Base = base },
	})
	return s, err
}

// mirrorKey names the mirror of a solve's repository.
func mirrorKey(s solve.Solve) string { return strconv.FormatInt(s.Repo.ID, 10) }

// setup is how the repository is installed and tested: configured, else detected.
func (e *Engine) setup(ctx context.Context, m *git.Mirror, sha string) (judge.Setup, error) {
	paths, err := m.Paths(ctx, sha)
	if err != nil {
		return judge.Setup{}, err
	}
	setup, err := judge.Detect(paths, func(path string) ([]byte, error) { return m.ReadFile(ctx, sha, path) })
	t := e.cfg.Tests
	if t.Command != "" {
		format := t.Format
		if format == "" {
			format = "exit"
		}
		setup.Test = solve.TestCommand{Command: t.Command, Format: format, Report: t.Report, Source: "config"}
		err = nil
	}
	if t.Install != "" {
		setup.Install = t.Install
	}
	setup.Hosts = slices.Concat(setup.Hosts, t.Hosts, hostsIn(t.InstallEnv))
	if err != nil {
		return setup, refuse(err.Error())
	}
	return setup, nil
}

// preparation is one base being made.
type preparation struct {
	*Engine
	solve  solve.Solve
	mirror *git.Mirror
	setup  judge.Setup
	forker sandbox.Forker
}

// clear removes what an earlier attempt at the same base left.
func (p *preparation) clear(ctx context.Context) error {
	for _, name := range []string{installName(p.solve.ID), baseName(p.solve.ID)} {
		sb, err := p.Driver.Attach(ctx, name)
		switch {
		case err == nil:
			if err := sb.Close(ctx); err != nil {
				return err
			}
		case !errors.Is(err, sandbox.ErrGone):
			return err
		}
	}
	// The base may stand on the install layer, so it goes first.
	return errors.Join(p.forker.Thaw(ctx, baseName(p.solve.ID)), p.forker.Thaw(ctx, installName(p.solve.ID)))
}

// build installs and tests, and leaves the frozen base and its artifacts.
func (p *preparation) build(ctx context.Context) (judge.Report, error) {
	from := ""
	if p.setup.Install != "" {
		var err error
		if from, err = p.install(ctx); err != nil {
			return judge.Report{}, err
		}
	}
	sb, err := p.Driver.Open(ctx, p.spec(baseName(p.solve.ID), from, nil))
	if err != nil {
		return judge.Report{}, err
	}
	report, err := p.test(ctx, sb, from == "")
	if err == nil {
		_, err = p.forker.Freeze(ctx, sb)
	}
	if err != nil {
		closeSandbox(ctx, sb)
	}
	return report, err
}

func (p *preparation) spec(name, from string, hosts []string) sandbox.Spec {
	return sandbox.Spec{
		Name: name, From: from, Network: sandbox.Network{Allow: hosts},
		Labels: map[string]string{"solve": string(p.solve.ID), "phase": "prepare"},
		TTL:    lifetime(p.cfg.Tests.InstallTime, p.cfg.Tests.Time, p.solve.Plan.Limits.SolveTime),
	}
}

// test runs the base's own tests without network. A base whose tests cannot be
// run cannot judge anybody: that is said before any model is paid.
func (p *preparation) test(ctx context.Context, sb sandbox.Sandbox, lay bool) (judge.Report, error) {
	if lay {
		if err := p.lay(ctx, sb); err != nil {
			return judge.Report{}, err
		}
	}
	report, log, err := judge.RunBase(ctx, sb, p.cfg.Tests.trial(p.setup.Test))
	if err != nil {
		return report, fmt.Errorf("test the base: %w", err)
	}
	if err := p.Store.PutArtifact(ctx, p.solve.ID, baseLog, log); err != nil {
		return report, err
	}
	if report.NoVerdict != "" {
		return report, refusef("The repository's tests cannot be run, so no candidate could be judged: %s (command `%s`, from %s). Set %s.",
			report.NoVerdict, p.setup.Test.Command, p.setup.Test.Source, settings(report))
	}
	data, err := report.Encode()
	if err != nil {
		return report, err
	}
	if err := p.Store.PutArtifact(ctx, p.solve.ID, baseReport, data); err != nil {
		return report, err
	}
	return report, nil
}

// settings names the keys of config.yml that can help where tests give no verdict.
func settings(r judge.Report) string {
	if r.Setting == "" {
		return "solver.tests.command"
	}
	return r.Setting + " or solver.tests.command"
}

// lay packs the commit on the host and unpacks it in the sandbox.
func (p *preparation) lay(ctx context.Context, sb sandbox.Sandbox) error {
	pack, err := os.CreateTemp("", "yudai-pack-*.tar")
	if err != nil {
		return err
	}
	defer func() {
		pack.Close()
		os.Remove(pack.Name()) //nolint:errcheck // a temporary file
	}()
	if err := p.mirror.Pack(ctx, p.solve.Base.SHA, p.cfg.CloneDepth, pack); err != nil {
		return err
	}
	if _, err := pack.Seek(0, 0); err != nil {
		return err
	}
	return tree.Lay(ctx, sb, pack)
}
