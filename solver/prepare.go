package solver

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/solver/tree"
)

// Names of artifacts.
const (
	baseReport = "base-report.json"
	baseLog    = "base-tests.log"
	baseNoted  = "base-noted" // what the base was settled with
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
	driver, err := sandboxes.DriverOf(e.Drivers, s)
	if err != nil {
		return s, err
	}
	began := time.Now()
	mirror, err := e.clone(ctx, s)
	if err != nil {
		return s, err
	}
	setup, err := e.setup(ctx, mirror, s)
	if err != nil {
		return s, err
	}
	p := preparation{Engine: e, driver: driver, solve: s, mirror: mirror, setup: setup, usage: &sandboxes.Recorder{}}
	report, image, err := p.base(ctx)
	if err != nil {
		return s, err
	}
	base := s.Base
	base.Image, base.Install, base.Test = image, setup.Install, setup.Test
	base.Report, base.Duration, base.Stays = report.Counts, time.Since(began), p.usage.Used()
	runs, err := e.newRuns(ctx, s)
	if err != nil {
		return s, err
	}
	s, _, err = e.apply(ctx, solve.Change{
		Solve: s.ID, Token: s.Lease.Token, Event: solve.BaseReady{Base: base, Runs: runs},
	})
	return s, err
}

// mirrorKey names the mirror of a solve's repository.
func mirrorKey(s solve.Solve) string { return strconv.FormatInt(s.Repo.ID, 10) }

// setup is how the repository is installed and tested: as it was planned, else detected.
func (e *Engine) setup(ctx context.Context, m *git.Mirror, s solve.Solve) (judge.Setup, error) {
	paths, err := m.Paths(ctx, s.Base.SHA)
	if err != nil {
		return judge.Setup{}, err
	}
	setup, err := setUp(e.settings(s), hostsIn(e.cfg.Tests.InstallEnv), paths, func(path string) ([]byte, error) {
		return m.ReadFile(ctx, s.Base.SHA, path)
	})
	if err != nil {
		return setup, fault.Refuse(err.Error() + e.ownKey("test.command"))
	}
	return setup, nil
}

// setUp fills what the settings leave open with what the repository's files tell.
// mirrors are hosts of the operator's own, which stay open unless all are closed.
func setUp(t solve.Settings, mirrors, paths []string, content func(path string) ([]byte, error)) (judge.Setup, error) {
	setup, err := judge.Detect(paths, content)
	if t.Test.Command != "" {
		setup.Test, err = t.Test, nil
		setup.Test.Format = cmp.Or(t.Test.Format, "exit")
	}
	if t.Install != "" {
		setup.Install = t.Install
	}
	switch {
	case t.OnlyHosts && len(t.Hosts) == 0:
		setup.Hosts = nil
	case t.OnlyHosts:
		setup.Hosts = slices.Concat(t.Hosts, mirrors)
	default:
		setup.Hosts = slices.Concat(setup.Hosts, t.Hosts, mirrors)
	}
	return setup, err
}

// test runs the base's own tests without network. A base whose tests cannot be
// run cannot judge anybody: that is said before any model is paid.
func (p *preparation) test(ctx context.Context, sb sandbox.Sandbox) (judge.Report, error) {
	report, log, err := judge.RunBase(ctx, sb, trial(p.settings(p.solve), p.setup.Test))
	if err != nil {
		return report, fmt.Errorf("test the base: %w", err)
	}
	if err := p.Store.PutArtifact(ctx, p.solve.ID, baseLog, log); err != nil {
		return report, err
	}
	if report.NoVerdict != "" {
		return report, fault.Refusef("The repository's tests cannot be run, so no candidate could be judged: %s (command `%s`, from %s). Set %s.",
			report.NoVerdict, p.setup.Test.Command, p.setup.Test.Source, p.helpful(sb, report)+p.ownKey("test.command"))
	}
	data, err := report.Encode()
	if err != nil {
		return report, err
	}
	if err := p.Store.PutArtifact(ctx, p.solve.ID, baseReport, data); err != nil {
		return report, err
	}
	return report, p.note(ctx, sb)
}

// note keeps what the base was settled with, for sandboxes that are prepared one by one.
func (p *preparation) note(ctx context.Context, sb sandbox.Sandbox) error {
	noted, err := tree.Leftovers(ctx, sb)
	if err != nil || len(noted) == 0 {
		return err
	}
	return p.Store.PutArtifact(ctx, p.solve.ID, baseNoted, noted)
}

// ownKey names the key of the repository's own file that can help, too; "" if that is not read.
func (e *Engine) ownKey(key string) string {
	if r := e.cfg.Repository; !r.Read || !r.Commands {
		return ""
	}
	return ", or " + key + " in " + solve.RepoConfigFile
}

// helpful names the keys of config.yml that can help where tests give no verdict.
func (p *preparation) helpful(sb sandbox.Sandbox, r judge.Report) string {
	const command = "solver.tests.command"
	switch r.Setting {
	case "":
		return command
	case judge.SandboxMemory:
		place := sandboxes.PlaceOf(p.driver, sb)
		key := "the memory in sandbox." + place.Driver
		if d, ok := p.Drivers.Of(place.Driver); ok && d.Traits().Name == place.Driver {
			key = cmp.Or(d.Traits().MemoryKey, key)
		}
		return key + " or " + command
	default:
		return r.Setting + " or " + command
	}
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
	return tree.LayOut(ctx, sb, pack)
}
