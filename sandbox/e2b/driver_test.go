package e2b

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/records"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/e2bsim"
	vm "github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/require"
)

// requireMachines skips the test where machines cannot run, and fails it where
// YUDAI_TEST_REQUIRE names what is missing.
func requireMachines(t *testing.T) {
	t.Helper()
	require.Machines(t, vm.Supported())
}

// service starts a stub of the service with our template in it.
func service(t *testing.T, change ...func(*e2bsim.Options)) *e2bsim.Server {
	t.Helper()
	requireMachines(t)
	o := e2bsim.Options{Dir: t.TempDir(), Templates: []e2bsim.Template{{Name: "yudai"}}, Plan: e2bsim.Plan{Concurrent: 100}}
	for _, f := range change {
		f(&o)
	}
	s, err := e2bsim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range s.Complaints() {
			t.Error("the service complains:", c)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// configFor is a configuration for a stub.
func configFor(t *testing.T, s *e2bsim.Server) Config {
	t.Helper()
	c := DefaultConfig()
	c.APIURL, c.SandboxURL, c.APIKeyEnv = s.URL(), s.SandboxURL(), ""
	c.APIKeyFile = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(c.APIKeyFile, []byte(e2bsim.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// bookIn opens a book.
func bookIn(t *testing.T, dir string) *records.Book {
	t.Helper()
	book, err := records.Open(dir, "e2b")
	if err != nil {
		t.Fatal(err)
	}
	return book
}

// driverOn is a driver that does not wait long for anything.
func driverOn(t *testing.T, c Config, book *records.Book, transport http.RoundTripper) *testDriver {
	t.Helper()
	p, err := newProvider(c, book, zerolog.Nop(), transport)
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	p.control.Retry = cloud.RetryPolicy{
		Request: 20 * time.Second, Slow: time.Minute, Broken: cloud.Backoff{First: 5 * ms, Most: 50 * ms, Total: 300 * ms},
		Limited: cloud.Backoff{First: ms, Most: ms, Total: 3 * time.Second}, Full: cloud.Backoff{First: 5 * ms, Most: 50 * ms, Total: 300 * ms},
	}
	p.timing.between = cloud.Backoff{First: 5 * ms, Most: 50 * ms, Total: 3 * time.Second}
	p.timing.window = 100 * ms
	return &testDriver{p.driver(), p}
}

// testDriver is a driver whose inside tests see.
type testDriver struct {
	*cloud.Driver
	p *provider
}

// idOf is the service's id of a sandbox.
func idOf(sb sandbox.Sandbox) string { return sb.(sandbox.Placed).Place().ID }

// noteOf reads the note of a sandbox.
func noteOf(t *testing.T, d *testDriver, name string) cloud.Note {
	t.Helper()
	n, err := d.p.journal.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// daemonOf is a client of a sandbox's daemon.
func daemonOf(t *testing.T, d *testDriver, sb sandbox.Sandbox) *daemon {
	t.Helper()
	m, err := d.p.get(t.Context(), idOf(sb))
	if err != nil {
		t.Fatal(err)
	}
	return d.p.daemon(m)
}

// setup is a driver on a stub of its own; at the end everything is swept, and
// nothing is left that costs money.
func setup(t *testing.T, change ...func(*e2bsim.Options)) (*testDriver, *e2bsim.Server) {
	t.Helper()
	s := service(t, change...)
	d := driverOn(t, configFor(t, s), bookIn(t, t.TempDir()), cloud.NewTransport(true))
	t.Cleanup(func() { sweepAll(t, d, s) })
	return d, s
}

// nobody keeps nothing.
func nobody(sandbox.Info) bool { return false }

// sweepAll sweeps, and reports what is left at the service.
func sweepAll(t *testing.T, d *testDriver, s *e2bsim.Server) {
	t.Helper()
	if _, err := d.Sweep(context.Background(), nobody); err != nil {
		t.Errorf("sweep: %v", err)
	}
	left(t, s)
}

// left reports what is left at the service.
func left(t *testing.T, s *e2bsim.Server) {
	t.Helper()
	if ids := slices.Concat(s.Billed(), s.Stored()); len(ids) > 0 {
		t.Errorf("left at the service: %q", ids)
	}
}

// shell runs a text that must succeed.
func shell(t *testing.T, sb sandbox.Sandbox, text string) string {
	t.Helper()
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: text, Dir: "/"})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("run %q: %+v, %v: %s", text, res, err, out)
	}
	return strings.TrimSpace(out)
}

func open(t *testing.T, d *testDriver, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	sb, err := d.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

func TestPromises(t *testing.T) {
	t.Parallel()
	d, _ := setup(t)
	sandboxtest.Run(t, sandboxtest.Harness{Driver: d.Driver, Commands: true})
}

// TestPromisesOfAnOldServer: without the second version of the routes.
func TestOldServer(t *testing.T) {
	t.Parallel()
	d, s := setup(t, func(o *e2bsim.Options) { o.NoV2 = true })
	sb := open(t, d, sandbox.Spec{Name: "a"})
	if got := shell(t, sb, "echo hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
	if s.Calls()[e2bsim.CallCreate] == 0 {
		t.Error("nothing was made")
	}
}

// TestWhatASandboxCarries: metadata, network, place and cost.
func TestWhatASandboxCarries(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	spec := sandbox.Spec{Name: "carries", Labels: map[string]string{"solve": "s1", "run": "3"}, TTL: time.Hour}
	sb := open(t, d, spec)
	p := sb.(sandbox.Placed).Place()
	if p.Driver != "e2b" || p.ID == "" || p.HourlyUSD < 0.1169 || p.HourlyUSD > 0.1171 { // 2 processors and 1 GiB
		t.Errorf("place %+v", p)
	}
	meta := s.Metadata(p.ID)
	for k, want := range map[string]string{
		"yudai-deployment": d.p.journal.Deployment(), "yudai-name": "carries", "yudai-label-solve": "s1", "yudai-label-run": "3",
	} {
		if meta[k] != want {
			t.Errorf("metadata %s is %q, want %q", k, meta[k], want)
		}
	}
	network := func(want ...string) {
		t.Helper()
		allow, deny, internet := s.Network(p.ID)
		if !slices.Equal(allow, want) || !slices.Equal(deny, []string{"0.0.0.0/0"}) || internet {
			t.Errorf("network: allows %q, denies %q, open %v", allow, deny, internet)
		}
	}
	network()
	e := sb.(sandbox.Egress)
	if err := e.Restrict(t.Context(), sandbox.Network{Allow: []string{"b.example", "*.a.example"}}); err != nil {
		t.Fatal(err)
	}
	network("*.a.example", "b.example")
	if err := e.Restrict(t.Context(), sandbox.Network{}); err != nil {
		t.Fatal(err)
	}
	network()
	if err := e.Restrict(t.Context(), sandbox.Network{Allow: []string{"10.0.0.1"}}); err == nil {
		t.Error("a private address is allowed")
	}
}

// TestLimits: more than the template has is refused, and the second time before
// anything is made.
func TestLimits(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	for range 2 {
		_, err := d.Open(t.Context(), sandbox.Spec{Name: "big", Limits: sandbox.Limits{Memory: 4 << 30}})
		if !errors.Is(err, sandbox.ErrLimit) || !strings.Contains(err.Error(), "sandbox.e2b.memory_mib") {
			t.Errorf("open: %v, want ErrLimit and the setting", err)
		}
		left(t, s)
	}
	if n := s.Calls()[e2bsim.CallCreate]; n != 1 {
		t.Errorf("%d sandboxes were made to learn it", n)
	}
}

// TestSettingsAreNamed: what is wrong at the service is said with the setting and the fix.
func TestSettingsAreNamed(t *testing.T) {
	t.Parallel()
	s := service(t, func(o *e2bsim.Options) {
		o.Templates = []e2bsim.Template{
			{Name: "yudai"}, {Name: "old", Version: "0.5.12"}, {Name: "nogit", Hide: []string{"git"}}, {Name: "theirs", Foreign: true}, {Name: "nobash", Hide: []string{"bash"}},
		}
		o.Plan.Session = 20 * time.Minute
	})
	for _, c := range []struct {
		name   string
		change func(*Config)
		says   []string
	}{
		{"no template", func(c *Config) { c.Template = "nope" }, []string{"sandbox.e2b.template", "yudai sandbox build e2b"}},
		{"another team's", func(c *Config) { c.Template = "theirs" }, []string{"sandbox.e2b.template"}},
		{"old daemon", func(c *Config) { c.Template = "old" }, []string{"0.5.13", "yudai sandbox build e2b"}},
		{"no git", func(c *Config) { c.Template = "nogit" }, []string{"git", "sandbox.e2b.template", "yudai sandbox build e2b"}},
		{"no bash", func(c *Config) { c.Template = "nobash" }, []string{"bash", "sandbox.e2b.template"}},
		{"long lease", func(c *Config) { c.Lease = time.Hour }, []string{"sandbox.e2b.lease"}},
		{"wrong key", func(c *Config) { _ = os.WriteFile(c.APIKeyFile, []byte("e2b_wrong"), 0o600) }, []string{"sandbox.e2b.api_key_file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := configFor(t, s)
			c.change(&config)
			d := driverOn(t, config, bookIn(t, t.TempDir()), cloud.NewTransport(true))
			_, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
			if !errors.Is(err, sandbox.ErrSetting) {
				t.Fatalf("open: %v, want ErrSetting", err)
			}
			for _, text := range c.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
			if strings.Contains(err.Error(), "e2b_wrong") {
				t.Errorf("the key is in: %v", err)
			}
			if err := d.Check(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) || !errors.Is(err, sandbox.ErrSetting) {
				t.Errorf("check: %v", err)
			}
			if all, err := d.p.journal.All(); len(all) > 0 || err != nil {
				t.Errorf("records are left: %v, %v", all, err)
			}
		})
	}
	t.Cleanup(func() { left(t, s) })
}

// TestKeptAlive: a sandbox lives on as long as its handle, and no longer than its
// time to live; without a handle it ends by itself.
func TestKeptAlive(t *testing.T) {
	t.Parallel()
	s := service(t)
	c := configFor(t, s)
	d := driverOn(t, c, bookIn(t, t.TempDir()), cloud.NewTransport(true))
	sb := open(t, d, sandbox.Spec{Name: "kept"})
	n := noteOf(t, d, "kept")
	for range 4 {
		s.Advance(c.Lease * 2 / 3)
		if err := d.p.KeepAlive(t.Context(), n, nil); err != nil {
			t.Fatal("it is not extended any more")
		}
	}
	if got := shell(t, sb, "echo alive"); got != "alive" {
		t.Error(got)
	}
	s.Advance(c.Lease + time.Second)
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("after its lease: %v, want ErrGone", err)
	}
	left(t, s)
	if err := d.p.KeepAlive(t.Context(), n, nil); !errors.Is(err, sandbox.ErrGone) {
		t.Error("what is gone is extended again and again")
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
	n.Until = time.Now().Add(-time.Second)
	if err := d.p.KeepAlive(t.Context(), n, nil); !errors.Is(err, sandbox.ErrGone) {
		t.Error("it is extended beyond its time to live")
	}
}

// heart is the provider with a KeepAlive that lasts until it is ended.
type heart struct {
	*provider
	beats, ended chan struct{}
}

func (heart) Interval(cloud.Note) time.Duration { return time.Millisecond }

func (h heart) KeepAlive(ctx context.Context, _ cloud.Note, _ *guest.Handle) error {
	close(h.beats)
	<-ctx.Done()
	close(h.ended)
	return ctx.Err()
}

// TestFailedCloseKeepsNothingAlive: a sandbox that could not be deleted ends with its lease.
func TestFailedCloseKeepsNothingAlive(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	h := heart{d.p, make(chan struct{}), make(chan struct{})}
	sb, err := cloud.New(h, d.p.journal, cloud.Options{}, zerolog.Nop()).Open(t.Context(), sandbox.Spec{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	<-h.beats
	in := s.Inject(e2bsim.Fault{On: e2bsim.CallKill, Kind: e2bsim.FaultStatus, Status: 403, Count: -1})
	if err := sb.Close(t.Context()); !errors.Is(err, sandbox.ErrSetting) {
		t.Errorf("close: %v, want ErrSetting", err)
	}
	in.Remove()
	select {
	case <-h.ended:
	default:
		t.Error("it is kept alive")
	}
}

// TestCheckHasATimeToLive: what doctor opens is not kept alive for ever, wherever doctor is stopped.
func TestCheckHasATimeToLive(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	in := s.Inject(e2bsim.Fault{On: e2bsim.CallKill, Kind: e2bsim.FaultStatus, Status: 403, Count: -1})
	if err := d.Check(t.Context()); err == nil {
		t.Error("check does not tell that its sandbox is left")
	}
	in.Remove()
	all, err := d.p.journal.All()
	if err != nil || len(all) != 1 || time.Until(all[0].Until) > d.p.config.Lease || all[0].Until.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAttachAfterDeath: the next process finds the sandbox by its record, paused
// or not, and one that was never ready is ended.
func TestAttachAfterDeath(t *testing.T) {
	t.Parallel()
	s := service(t)
	c, dir := configFor(t, s), t.TempDir()
	dead := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	sb := open(t, dead, sandbox.Spec{Name: "a"})
	shell(t, sb, "echo kept >/workspace/repo/f")
	if err := dead.p.pause(t.Context(), idOf(sb)); err != nil {
		t.Fatal(err)
	}
	d := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	t.Cleanup(func() { sweepAll(t, d, s) })
	again, err := d.Attach(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if got := shell(t, again, "cat /workspace/repo/f"); got != "kept" {
		t.Errorf("the file reads %q", got)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the dead owner's command: %v, want ErrGone", err)
	}
	if got := again.(sandbox.Placed).Place(); got.HourlyUSD == 0 || got.ID != idOf(sb) {
		t.Errorf("place %+v", got)
	}
	n := noteOf(t, d, "a")
	n.Stage = cloud.Opening
	if err := d.p.journal.Write(n); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Attach(t.Context(), "a"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("attach to one that was never ready: %v", err)
	}
	left(t, s)
}

// TestAttachIsCutOff: a sandbox that lives and cannot be reached is unavailable, not gone.
func TestAttachIsCutOff(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	open(t, d, sandbox.Spec{Name: "a"})
	cut := s.Inject(e2bsim.Fault{On: e2bsim.CallStart, Kind: e2bsim.FaultCut, Count: -1})
	if _, err := d.Attach(t.Context(), "a"); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("attach: %v, want ErrUnavailable", err)
	}
	cut.Remove()
	if _, err := d.Attach(t.Context(), "a"); err != nil {
		t.Errorf("attach again: %v", err)
	}
}

// TestForeignSandboxesAreLeftAlone: others use the same account.
func TestForeignSandboxesAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := service(t)
	c := configFor(t, s)
	ours := driverOn(t, c, bookIn(t, t.TempDir()), cloud.NewTransport(true))
	theirs := driverOn(t, c, bookIn(t, t.TempDir()), cloud.NewTransport(true))
	t.Cleanup(func() { sweepAll(t, theirs, s) })
	sb := open(t, theirs, sandbox.Spec{Name: "a"})
	base := open(t, theirs, sandbox.Spec{Name: "base"})
	if _, err := theirs.Freeze(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	gone, err := ours.Sweep(t.Context(), nobody)
	if d := cmp.Diff([]string(nil), gone); d != "" || err != nil {
		t.Errorf("swept %v, %v", gone, err)
	}
	if got := shell(t, sb, "echo alive"); got != "alive" || !theirs.HasBase(t.Context(), "base") {
		t.Error("another deployment's sandbox was swept")
	}
}

// TestAttachFinishes: a network that was being changed when the owner died is changed,
// and the next Sweep removes a snapshot whose answer nobody read.
func TestAttachFinishes(t *testing.T) {
	t.Parallel()
	s := service(t)
	c, dir := configFor(t, s), t.TempDir()
	dead := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	sb := open(t, dead, sandbox.Spec{Name: "a", Network: sandbox.Network{Allow: []string{"a.example"}}})
	name := dead.p.snapshotPrefix() + cloud.NewKey()
	if _, err := dead.p.takeSnapshot(t.Context(), idOf(sb), name); err != nil {
		t.Fatal(err)
	}
	n := noteOf(t, dead, "a")
	n.Allow, n.Freezing = nil, name // it was about to close the network
	if err := dead.p.journal.Write(n); err != nil {
		t.Fatal(err)
	}
	d := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	t.Cleanup(func() { sweepAll(t, d, s) })
	again, err := d.Attach(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if allow, _, open := s.Network(idOf(again)); len(allow) > 0 || open {
		t.Errorf("it may reach %q, all %v", allow, open)
	}
	if _, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return true }); err != nil {
		t.Error(err)
	}
	if ids := s.Stored(); len(ids) > 0 {
		t.Errorf("left %q", ids)
	}
}
