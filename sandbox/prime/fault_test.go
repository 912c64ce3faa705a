package prime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/prime"
	"github.com/yudai-dev/yudai/test/primesim"
)

// open opens a sandbox that must open.
func open(t *testing.T, d *prime.TestDriver, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "a"
	}
	sb, err := d.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close(context.Background()) })
	return sb
}

// refusal is a fault of Open, and what people are told.
type refusal struct {
	what    string
	options primesim.Options
	fault   primesim.Fault
	change  func(*prime.Config)
	kind    error
	says    []string
}

func refusals() []refusal {
	status := func(code, count int) primesim.Fault {
		return primesim.Fault{Kind: primesim.FaultStatus, On: primesim.CallCreate, Status: code, Count: count}
	}
	fails := func(reason string) primesim.Fault {
		return primesim.Fault{Kind: primesim.FaultFail, On: primesim.CallCreate, Reason: reason}
	}
	kill := func(on primesim.Call, nth int) primesim.Fault {
		return primesim.Fault{Kind: primesim.FaultKill, On: on, Nth: nth, Reason: "OOM_KILLED"}
	}
	return []refusal{
		{what: "key", fault: status(401, 1), kind: sandbox.ErrSetting, says: []string{"api_key_env", keyEnv}},
		{what: "credit", fault: status(402, 1), kind: sandbox.ErrSetting, says: []string{"no credit", "Billing"}},
		{what: "scope", fault: status(403, 1), kind: sandbox.ErrSetting, says: []string{"may not", "team_id"}},
		{what: "retired", fault: status(410, 1), kind: sandbox.ErrSetting, says: []string{"update yudai"}},
		{what: "address", fault: status(404, 1), kind: sandbox.ErrSetting, says: []string{"sandbox.prime.api_url"}},
		{what: "throttled for ever", fault: status(429, -1), kind: sandbox.ErrCapacity},
		{what: "down", fault: status(503, -1), kind: sandbox.ErrUnavailable, says: []string{"503"}},
		{what: "dropped", fault: primesim.Fault{Kind: primesim.FaultDrop, Count: -1}, kind: sandbox.ErrUnavailable, says: []string{"api_url"}},
		{what: "full", options: primesim.Options{Concurrent: -1}, kind: sandbox.ErrCapacity},
		{what: "team", change: func(c *prime.Config) { c.TeamID = "other" }, kind: sandbox.ErrSetting, says: []string{"team_id"}},
		{what: "too large", options: primesim.Options{MaxMemory: 1}, kind: sandbox.ErrLimit, says: []string{"sandbox.prime.limits.memory_gb"}},
		{what: "unknown image", change: func(c *prime.Config) { c.Image = "no/such:image" }, kind: sandbox.ErrSetting, says: []string{"sandbox.prime.image", "no/such:image"}},
		{what: "no memory to start", fault: fails("OOM_KILLED"), kind: sandbox.ErrLimit, says: []string{"limits.memory_gb"}},
		{what: "ends while it starts", fault: fails("TIMEOUT"), kind: sandbox.ErrUnavailable, says: []string{"TIMEOUT"}},
		{what: "without git", options: primesim.Options{Images: []primesim.Image{{Name: primesim.DefaultImage, Hide: []string{"git"}}}},
			kind: sandbox.ErrSetting, says: []string{"sandbox.prime.image", "git"}},
		{what: "without bash", options: primesim.Options{Images: []primesim.Image{{Name: primesim.DefaultImage, Hide: []string{"bash"}}}},
			kind: sandbox.ErrSetting, says: []string{"sandbox.prime.image", "bash"}},
		{what: "dies before its rules", fault: kill(primesim.CallEgressGet, 1), kind: sandbox.ErrGone},
		{what: "dies before the first command", fault: kill(primesim.CallStart, 1), kind: sandbox.ErrGone},
		{what: "dies in the second command", fault: kill(primesim.CallStart, 2), kind: sandbox.ErrGone},
	}
}

// TestRefusedOpen: every way in which a sandbox cannot be had has its kind of error,
// which names the setting and the fix, and leaves nothing.
func TestRefusedOpen(t *testing.T) {
	t.Parallel()
	for _, r := range refusals() {
		t.Run(r.what, func(t *testing.T) {
			t.Parallel()
			o := r.options
			if o.Concurrent < 0 {
				o.Concurrent = 1
			}
			o.Provision = 5 * time.Millisecond
			s := service(t, o)
			dir := t.TempDir()
			d := driver(t, s.URL(), dir, func(c *prime.Config) {
				c.StartTime = 20 * time.Second
				if r.change != nil {
					r.change(c)
				}
			})
			if o.Concurrent == 1 {
				open(t, driver(t, s.URL(), t.TempDir()), sandbox.Spec{Name: "other"})
			}
			in := s.Inject(r.fault)
			_, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
			if !errors.Is(err, r.kind) {
				t.Errorf("open: %v, want %v", err, r.kind)
			}
			for _, want := range append(r.says, "open sandbox a") {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), primesim.DefaultKey) {
				t.Errorf("the key is in %v", err)
			}
			in.Remove()
			if _, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil && r.what != "team" {
				t.Errorf("sweep: %v", err)
			}
			if b := s.Billed(); len(b) > o.Concurrent {
				t.Errorf("still billed: %q", b)
			}
		})
	}
}

// TestLostAnswers: an answer that is lost, or an error after the deed, makes no second
// sandbox, and nobody notices.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{Provision: 5 * time.Millisecond, Apply: 5 * time.Millisecond, Reach: 40 * time.Millisecond})
	for _, on := range []primesim.Call{
		primesim.CallCreate, primesim.CallStatuses, primesim.CallAuth, primesim.CallEgressGet, primesim.CallStart, primesim.CallUpload, primesim.CallDelete,
		primesim.CallCheckpoint, primesim.CallCheckpointGet, primesim.CallCheckpointDelete,
	} {
		s.Inject(primesim.Fault{Kind: primesim.FaultLost, On: on, Nth: 1})
		s.Inject(primesim.Fault{Kind: primesim.FaultLostStatus, On: on, Nth: 3, Status: 502})
	}
	for _, name := range []string{"a", "b"} {
		sb := open(t, d, sandbox.Spec{Name: name})
		if err := sb.Put(t.Context(), "/tmp/f", strings.NewReader("x"), 0o644); err != nil {
			t.Error(err)
		}
		base, err := d.Freeze(t.Context(), sb)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.Stored()); n != 1 {
			t.Errorf("%d checkpoints", n)
		}
		fork := open(t, d, sandbox.Spec{Name: name + "-fork", From: base})
		if err := fork.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := d.Thaw(t.Context(), base); err != nil {
			t.Error(err)
		}
		nothingBilled(t, s)
	}
}

// TestPassingRefusals: what passes by itself is waited for.
func TestPassingRefusals(t *testing.T) {
	t.Parallel()
	for _, code := range []int{401, 408, 409, 429, 500, 502, 503, 504, 524} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			s, d := setup(t, primesim.Options{})
			if code != 401 && code != 408 && code != 409 {
				s.Inject(primesim.Fault{Kind: primesim.FaultStatus, On: primesim.AnyControl, Status: code, Count: 2})
			}
			sb := open(t, d, sandbox.Spec{})
			for _, on := range []primesim.Call{primesim.CallStart, primesim.CallUpload, primesim.CallDownload} {
				s.Inject(primesim.Fault{Kind: primesim.FaultStatus, On: on, Status: code})
			}
			if err := sb.Put(t.Context(), "/tmp/f", strings.NewReader("text"), 0o644); err != nil {
				t.Error(err)
			}
			r, err := sb.Get(t.Context(), "/tmp/f")
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil || string(data) != "text" {
				t.Errorf("read %q, %v", data, err)
			}
			if out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "echo x; exit 3"}); err != nil || res.ExitCode != 3 || out != "x\n" {
				t.Errorf("exec: %q, %+v, %v", out, res, err)
			}
		})
	}
}

// TestCutAtEveryFrame: a stream that breaks after any frame, or just before its end, changes nothing.
func TestCutAtEveryFrame(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{KeepAlive: 20 * time.Millisecond})
	sb := open(t, d, sandbox.Spec{})
	faults := []primesim.Fault{{Kind: primesim.FaultCutEnd, On: primesim.CallStart}}
	for k := range 8 {
		faults = append(faults, primesim.Fault{Kind: primesim.FaultCut, On: primesim.CallStart, Frames: k})
	}
	hits := 0
	for _, f := range faults {
		in := s.Inject(f)
		var out, errs bytes.Buffer
		c := sandbox.Command{Shell: "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; read -t 0.03 <> <(:); done; echo $$ >>/tmp/runs; exit 7", Stdout: &out, Stderr: &errs}
		res, err := sb.Exec(t.Context(), c)
		if err != nil || res.ExitCode != 7 || out.String() != "out1\nout2\nout3\nout4\nout5\n" || errs.String() != "err1\nerr2\nerr3\nerr4\nerr5\n" {
			t.Errorf("%s after %d frames: %+v, %v, %q, %q", f.Kind, f.Frames, res, err, out.String(), errs.String())
		}
		hits += in.Hits()
		in.Remove()
	}
	if hits != len(faults) {
		t.Errorf("%d of %d faults happened", hits, len(faults))
	}
	if out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "wc -l </tmp/runs"}); err != nil || strings.TrimSpace(out) != fmt.Sprint(len(faults)) {
		t.Errorf("commands ran %s times for %d, %v", strings.TrimSpace(out), len(faults), err)
	}
}

// TestStalledStream: a stream that says nothing for too long is left for a new one.
func TestStalledStream(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{KeepAlive: time.Hour})
	sb := open(t, d, sandbox.Spec{})
	d.Silence(2 * time.Second) // a busy machine is silent for some time, too
	in := s.Inject(primesim.Fault{Kind: primesim.FaultStall, On: primesim.CallStart, Frames: 1})
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "echo x; exit 4"})
	if err != nil || res.ExitCode != 4 || out != "x\n" || in.Hits() != 1 {
		t.Errorf("%q, %+v, %v after %d stalls", out, res, err, in.Hits())
	}
	in.Remove()
}

// TestDeathOfASandbox: whatever is under way ends with ErrGone and the reason.
func TestDeathOfASandbox(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	for what, use := range map[string]func(sb sandbox.Sandbox, kill func()) error{
		"exec": func(sb sandbox.Sandbox, kill func()) error {
			_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo up; sleep 60", Stdout: writer(func() { kill() })})
			return err
		},
		"exec afterwards": func(sb sandbox.Sandbox, kill func()) error {
			kill()
			_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"})
			return err
		},
		"put": func(sb sandbox.Sandbox, kill func()) error {
			kill()
			return sb.Put(t.Context(), "/tmp/f", strings.NewReader("x"), 0o644)
		},
		"get": func(sb sandbox.Sandbox, kill func()) error {
			kill()
			_, err := sb.Get(t.Context(), "/tmp/f")
			return err
		},
		"restrict": func(sb sandbox.Sandbox, kill func()) error {
			kill()
			return sb.(sandbox.Egress).Restrict(t.Context(), sandbox.Network{Allow: []string{"a.example.org"}})
		},
		"freeze": func(sb sandbox.Sandbox, kill func()) error {
			kill()
			_, err := d.Freeze(t.Context(), sb)
			return err
		},
		"attach": func(sb sandbox.Sandbox, kill func()) error {
			kill()
			_, err := d.Attach(t.Context(), sb.Name())
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			sb := open(t, d, sandbox.Spec{Name: strings.ReplaceAll("d-"+what, " ", "-")})
			err := use(sb, func() { s.Kill(sb.(sandbox.Placed).Place().ID, "OOM_KILLED") })
			if !errors.Is(err, sandbox.ErrGone) {
				t.Errorf("%v, want ErrGone", err)
			}
			if what == "exec" && (err == nil || !strings.Contains(err.Error(), "OOM_KILLED")) {
				t.Errorf("%v does not tell why", err)
			}
			if err := sb.Close(t.Context()); err != nil {
				t.Errorf("close of a dead sandbox: %v", err)
			}
		})
	}
}

// writer calls a function at the first write.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// TestMissingLater: the gateway's word that a sandbox is not there counts, except right after its start.
func TestMissingLater(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	s.Inject(primesim.Fault{Kind: primesim.FaultMissing, On: primesim.CallStart, Count: 3})
	sb := open(t, d, sandbox.Spec{})
	s.Inject(primesim.Fault{Kind: primesim.FaultMissing, On: primesim.CallStart})
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("exec: %v, want ErrGone", err)
	}
}

// TestKeyRevoked: a run that is under way is told of the setting, and nothing is forgotten.
func TestKeyRevoked(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	sb := open(t, d, sandbox.Spec{})
	s.SetKey(primesim.DefaultKey, false)
	s.ExpireTokens()
	for what, err := range map[string]error{
		"exec": func() error {
			_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"})
			return err
		}(),
		"put":   sb.Put(t.Context(), "/tmp/f", strings.NewReader("x"), 0o644),
		"close": sb.Close(t.Context()),
		"sweep": func() error {
			_, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return true })
			return err
		}(),
	} {
		if !errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), keyEnv) {
			t.Errorf("%s: %v, want ErrSetting and the variable", what, err)
		}
	}
	s.SetKey(primesim.DefaultKey, true)
	// Who closed wanted it gone: that is done now, although it is kept.
	if gone, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return true }); err != nil || len(gone) != 0 {
		t.Errorf("sweep: %q, %v", gone, err)
	}
	nothingBilled(t, s)
}

// TestExpiredTokens: gateway tokens that ran out are renewed without a word.
func TestExpiredTokens(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	sb := open(t, d, sandbox.Spec{})
	s.ExpireTokens()
	if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "exit 2"}); err != nil || res.ExitCode != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestDown: while the service is away, calls say so; afterwards all is well.
func TestDown(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	d.RequestTime(2 * time.Second)
	sb := open(t, d, sandbox.Spec{})
	s.SetDown(true)
	for what, err := range map[string]error{
		"open":  errorOf(d.Open(t.Context(), sandbox.Spec{Name: "b"})),
		"put":   sb.Put(t.Context(), "/tmp/f", strings.NewReader("x"), 0o644),
		"check": d.Check(t.Context()),
		"sweep": errorOf(d.Sweep(t.Context(), func(sandbox.Info) bool { return true })),
		"attach": errorOf(driver(t, s.URL(), t.TempDir()).Sweep(t.Context(), func(sandbox.Info) bool {
			return true
		})),
	} {
		if !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", what, err)
		}
	}
	s.SetDown(false)
	if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "exit 2"}); err != nil || res.ExitCode != 2 {
		t.Errorf("afterwards: %+v, %v", res, err)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// TestSlow: a service that takes its time, and one request that hangs.
func TestSlow(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{Latency: 30 * time.Millisecond})
	d.RequestTime(300 * time.Millisecond)
	in := s.Inject(primesim.Fault{Kind: primesim.FaultHang, On: primesim.CallCreate})
	sb := open(t, d, sandbox.Spec{})
	in.Remove()
	if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "exit 2"}); err != nil || res.ExitCode != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	if n := len(s.Billed()); n != 1 {
		t.Errorf("%d sandboxes", n)
	}
}

// TestFullDisk: what cannot be written is told as what it is.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{DiskBytes: 8 << 20})
	sb := open(t, d, sandbox.Spec{})
	if err := s.FillDisk(sb.(sandbox.Placed).Place().ID); err != nil {
		t.Fatal(err)
	}
	if err := sb.Put(t.Context(), "/tmp/f", bytes.NewReader(make([]byte, 1<<20)), 0o644); !errors.Is(err, sandbox.ErrDisk) {
		t.Errorf("put: %v, want ErrDisk", err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "head -c 1000000 /dev/zero", Stdout: io.Discard}); !errors.Is(err, sandbox.ErrDisk) {
		t.Errorf("exec: %v, want ErrDisk", err)
	}
}

// TestImageBuild: an image that the service sees for the first time has time of its
// own, and the log says what is waited for.
func TestImageBuild(t *testing.T) {
	t.Parallel()
	s := service(t, primesim.Options{Images: []primesim.Image{{Name: primesim.DefaultImage, Build: 1500 * time.Millisecond}}})
	var log bytes.Buffer
	c := config(s.URL())
	c.StartTime = time.Second // less than the build takes
	d, err := prime.NewTest(c, book(t, t.TempDir()), zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	d.Hurry()
	sb := open(t, d, sandbox.Spec{})
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "the image is being built"); n != 1 {
		t.Errorf("%d times in the log: %s", n, log.String())
	}
}

// TestEgressNeverApplied: where rules do not come into force, nothing runs.
func TestEgressNeverApplied(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{Apply: time.Millisecond})
	sb := open(t, d, sandbox.Spec{Name: "b", Network: sandbox.Network{Allow: []string{"a.example.org"}}})
	before := len(s.Starts())
	d.EgressTime(200 * time.Millisecond)
	s.SetEgressHeld(true)
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "a"}); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "not applied") {
		t.Errorf("open: %v", err)
	}
	if n := len(s.Starts()) - before; n != 0 {
		t.Errorf("%d commands ran without rules", n)
	}
	if err := sb.(sandbox.Egress).Restrict(t.Context(), sandbox.Network{}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("restrict: %v", err)
	}
	if _, err := d.Attach(t.Context(), "b"); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("attach to a sandbox whose rules do not hold: %v", err)
	}
	s.SetEgressHeld(false)
}

// TestRulesHold: every command ran under the rules of its time, in force.
func TestRulesHold(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{Apply: 20 * time.Millisecond})
	sb := open(t, d, sandbox.Spec{Network: sandbox.Network{Allow: []string{"b.example.org", "*.a.example.org"}}})
	exec := func(what string) {
		t.Helper()
		if _, err := sb.Exec(t.Context(), sandbox.Command{Argv: []string{"echo", what}}); err != nil {
			t.Error(err)
		}
	}
	exec("install")
	if err := sb.(sandbox.Egress).Restrict(t.Context(), sandbox.Network{}); err != nil {
		t.Fatal(err)
	}
	exec("in-the-work-phase")
	again, err := driver(t, s.URL(), t.TempDir()).Attach(t.Context(), "a")
	if !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("attach without a note: %v, %v", again, err)
	}
	for _, start := range s.Starts() {
		want := []string{"*.a.example.org", "b.example.org"}
		if strings.Contains(strings.Join(start.Program, " "), "in-the-work-phase") {
			want = nil
		}
		slices.Sort(start.Allow)
		if !start.Applied || !slices.Equal(start.Allow, want) {
			t.Errorf("%.80q ran with %q, applied %v", start.Program, start.Allow, start.Applied)
		}
	}
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "many", Network: sandbox.Network{Allow: make([]string, 300)}}); err == nil {
		t.Error("a host without a name, 300 times, was taken")
	}
}
