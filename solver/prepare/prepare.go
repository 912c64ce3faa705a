// Package prepare makes the base that the runs of a solve start from, and opens their
// sandboxes on it.
package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/agent"
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
	// BaseReport is what the base's own tests showed, for the judge.
	BaseReport = "base-report.json"

	baseLog       = "base-tests.log"
	baseLeftovers = "base-noted" // what the base ignores after its tests
	installLog    = "install.log"
)

// Store keeps what is made.
type Store interface {
	PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
}

// Hub says where to clone from.
type Hub interface {
	// Clone returns where and with which narrow credentials to clone. release ends them.
	Clone(ctx context.Context, repo solve.Repo) (url string, auth git.Auth, release func(context.Context) error, err error)
}

// Options are the operator's.
type Options struct {
	// Settings are those of a plan that has none.
	Settings solve.Settings
	// Parallel is how many bases are made at a time.
	Parallel int
	// CloneDepth is how many commits of history the sandbox sees; 0 is all.
	CloneDepth int
	// InstallEnv are variables of the install command, and of nothing else.
	InstallEnv map[string]string
	// RepositoryCommands says whether a repository's own file may name commands.
	RepositoryCommands bool
}

// Preparer makes bases, and opens sandboxes on them.
type Preparer struct {
	store   Store
	hub     Hub
	git     *git.Cache
	drivers sandboxes.Drivers
	agents  map[string]agent.Agent
	options Options

	preparing  chan struct{} // one token per base being prepared
	rebuilding chan struct{} // one token: a lost base is being made again
	forkless   sync.Map      // names of drivers that turned out to hold no bases
}

// New returns a preparer.
func New(store Store, hub Hub, mirrors *git.Cache, drivers sandboxes.Drivers, agents map[string]agent.Agent, o Options) *Preparer {
	return &Preparer{
		store: store, hub: hub, git: mirrors, drivers: drivers, agents: agents, options: o,
		preparing: make(chan struct{}, o.Parallel), rebuilding: make(chan struct{}, 1),
	}
}

// Aside prepares beside the others, one base at a time and without agents, and keeps what it makes in another store.
func (p *Preparer) Aside(store Store) *Preparer {
	o := p.options
	o.Parallel = 1
	return New(store, p.hub, p.git, p.drivers, nil, o)
}

// Prepare makes the base once for a solve: it clones on the host, lays the tree out in a
// sandbox, installs with the allow-listed network, runs the base's tests without any, and
// freezes the result. The runs start from that.
func (p *Preparer) Prepare(ctx context.Context, s solve.Solve) (solve.Base, error) {
	if !s.Deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, s.Deadline)
		defer stop()
	}
	select {
	case p.preparing <- struct{}{}:
		defer func() { <-p.preparing }()
	case <-ctx.Done():
		return s.Base, context.Cause(ctx)
	}
	driver, err := sandboxes.DriverOf(p.drivers, s)
	if err != nil {
		return s.Base, err
	}
	began := time.Now()
	mirror, err := p.clone(ctx, s)
	if err != nil {
		return s.Base, err
	}
	setup, err := p.setup(ctx, mirror, s)
	if err != nil {
		return s.Base, err
	}
	b := build{by: p, driver: driver, solve: s, mirror: mirror, setup: setup, usage: &sandboxes.Recorder{}}
	report, image, err := b.base(ctx)
	if err != nil {
		return s.Base, err
	}
	base := s.Base
	if base.Notes, err = b.notes(ctx); err != nil {
		return s.Base, err
	}
	base.Image, base.Install, base.Test = image, setup.Install, setup.Test
	base.Report, base.Duration, base.SandboxUses = report.Counts, time.Since(began), b.usage.Used()
	return base, nil
}

// mirrorKey names the mirror of a solve's repository.
func mirrorKey(s solve.Solve) string { return strconv.FormatInt(s.Repo.ID, 10) }

// setup is how the repository is installed and tested: as it was before, else as it was planned, else detected.
func (p *Preparer) setup(ctx context.Context, m *git.Mirror, s solve.Solve) (judge.Setup, error) {
	settings := s.SettingsOr(p.options.Settings)
	if s.Base.Test.Command != "" {
		settings.Test, settings.Install = s.Base.Test, s.Base.Install
	}
	paths, err := m.Paths(ctx, s.Base.SHA)
	if err != nil {
		return judge.Setup{}, err
	}
	setup, err := SetUp(settings, HostsIn(p.options.InstallEnv), paths, func(path string) ([]byte, error) {
		data, err := m.ReadFile(ctx, s.Base.SHA, path)
		if errors.Is(err, git.ErrMissing) { // a link is in the list, too
			err = fs.ErrNotExist
		}
		return data, err
	})
	if err != nil {
		return setup, fault.Refuse(err.Error() + p.ownKey("test.command"))
	}
	if s.Base.Test.Command != "" {
		setup.Install, setup.Unlocked = s.Base.Install, nil // also where it is none
	}
	return setup, nil
}

// SetUp fills what the settings leave open with what the repository's files tell.
// mirrors are hosts of the operator's own, which the repository's file does not close.
func SetUp(t solve.Settings, mirrors, paths []string, content func(path string) ([]byte, error)) (judge.Setup, error) {
	setup, err := judge.Detect(paths, content)
	if t.Test.Command != "" {
		setup.Test, setup.Untested, err = t.Test, "", nil
		setup.Test.Format = cmp.Or(t.Test.Format, "exit")
	}
	if t.Install != "" {
		setup.Install, setup.Unlocked = t.Install, nil
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

// test runs the base's own tests without network. If they cannot be run, no candidate can be
// judged: the solve is refused before any model is paid.
func (b *build) test(ctx context.Context, sb sandbox.Sandbox) (judge.Report, error) {
	report, log, err := judge.RunBase(ctx, sb, judge.TrialOf(b.settings(), b.setup.Test))
	if err != nil {
		return report, fmt.Errorf("test the base: %w", err)
	}
	if err := b.by.store.PutArtifact(ctx, b.solve.ID, baseLog, log); err != nil {
		return report, err
	}
	if report.NoVerdict != "" {
		return report, fault.Refusef("The repository's tests cannot be run, so no candidate could be judged: %s (command `%s`, from %s). Set %s.",
			report.NoVerdict, b.setup.Test.Command, b.setup.Test.Source, b.settingsToChange(sb, report)+b.by.ownKey("test.command"))
	}
	data, err := report.Encode()
	if err != nil {
		return report, err
	}
	if err := b.by.store.PutArtifact(ctx, b.solve.ID, BaseReport, data); err != nil {
		return report, err
	}
	return report, b.storeLeftovers(ctx, sb)
}

// storeLeftovers keeps what the base ignores, for sandboxes that are prepared one by one.
func (b *build) storeLeftovers(ctx context.Context, sb sandbox.Sandbox) error {
	noted, err := tree.Leftovers(ctx, sb)
	if err != nil || len(noted) == 0 {
		return err
	}
	return b.by.store.PutArtifact(ctx, b.solve.ID, baseLeftovers, noted)
}

// ownKey names the key of the repository's own file that helps as well; "" if yudai does not read it.
func (p *Preparer) ownKey(key string) string {
	if !p.options.RepositoryCommands {
		return ""
	}
	return ", or " + key + " in " + solve.RepoConfigFile
}

// settingsToChange names the keys of config.yml that help where tests give no verdict.
func (b *build) settingsToChange(sb sandbox.Sandbox, r judge.Report) string {
	const command = "--test of yudai solve, or solver.tests.command in config.yml"
	switch r.Setting {
	case "":
		return command
	case judge.SandboxMemory:
		place := sandboxes.PlaceOf(b.driver, sb)
		key := "the memory in sandbox." + place.Driver
		if d, ok := b.by.drivers.Of(place.Driver); ok && d.Traits().Name == place.Driver {
			key = cmp.Or(d.Traits().MemoryKey, key)
		}
		return key + " or " + command
	default:
		return r.Setting + " or " + command
	}
}

// layOut packs the commit on the host and unpacks it in the sandbox.
func (b *build) layOut(ctx context.Context, sb sandbox.Sandbox) error {
	pack, err := os.CreateTemp("", "yudai-pack-*.tar")
	if err != nil {
		return err
	}
	defer func() {
		pack.Close()
		os.Remove(pack.Name()) //nolint:errcheck // a temporary file
	}()
	if err := b.mirror.Pack(ctx, b.solve.Base.SHA, b.by.options.CloneDepth, pack); err != nil {
		return err
	}
	if _, err := pack.Seek(0, 0); err != nil {
		return err
	}
	return tree.LayOut(ctx, sb, pack)
}
