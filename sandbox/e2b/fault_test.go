package e2b

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/test/e2bsim"
)

// counting prints something on both outputs for a while and ends with 7.
const counting = "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; exit 7"

// counted compares a result of counting.
func counted(sb sandbox.Sandbox, ctx context.Context) error {
	var out, errs bytes.Buffer
	res, err := sb.Exec(ctx, sandbox.Command{Shell: counting, Stdout: &out, Stderr: &errs})
	if err != nil {
		return err
	}
	const want = "X 1\nX 2\nX 3\nX 4\nX 5\n"
	if res.ExitCode != 7 || out.String() != strings.ReplaceAll(want, "X", "out") || errs.String() != strings.ReplaceAll(want, "X", "err") {
		return fmt.Errorf("%+v, %q, %q", res, out.String(), errs.String())
	}
	return nil
}

// TestStreamCutAfterEachFrame: the outcome and the output of a command are whole,
// wherever its stream breaks off.
func TestStreamCutAfterEachFrame(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "cut"})
	for frames := range 8 {
		cut := s.Inject(e2bsim.Fault{On: e2bsim.CallStart, Kind: e2bsim.FaultCut, Frames: frames})
		if err := counted(sb, t.Context()); err != nil {
			t.Errorf("cut after %d frames: %v", frames, err)
		}
		if cut.Hits() == 0 && frames < 4 {
			t.Errorf("no stream was cut after %d frames", frames)
		}
		cut.Remove()
	}
}

// TestStalledStream: a stream that says nothing more is left, and the command is
// looked at again.
func TestStalledStream(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	d.p.timing.keepalive, d.p.timing.silence = time.Second, 2500*time.Millisecond
	sb := open(t, d, sandbox.Spec{Name: "stalled"})
	for _, frames := range []int{0, 2} {
		stall := s.Inject(e2bsim.Fault{On: e2bsim.CallStart, Kind: e2bsim.FaultStall, Frames: frames})
		if err := counted(sb, t.Context()); err != nil {
			t.Errorf("stalled after %d frames: %v", frames, err)
		}
		if stall.Hits() == 0 {
			t.Error("nothing stalled")
		}
		stall.Remove()
	}
	// A command that is only slow is left in peace: the daemon says that it lives.
	began := s.Calls()[e2bsim.CallStart]
	if got := shell(t, sb, "sleep 3; echo slept"); got != "slept" || s.Calls()[e2bsim.CallStart]-began > 1 {
		t.Errorf("got %q after %d starts", got, s.Calls()[e2bsim.CallStart]-began)
	}
}

// TestSilentDeath: a sandbox that dies without a word is noticed.
func TestSilentDeath(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	s.SilentDeath(true)
	d.p.timing.keepalive, d.p.timing.silence = time.Second, 2500*time.Millisecond
	sb := open(t, d, sandbox.Spec{Name: "silent"})
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo up; sleep 60", Stdout: out})
		ended <- err
	}()
	if _, err := io.ReadFull(in, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	s.Kill(idOf(sb))
	if err := <-ended; !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("exec: %v, want ErrGone", err)
	}
}

// TestDiesInEachPhase: whatever a sandbox is doing when it dies, the error says so.
func TestDiesInEachPhase(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	for _, c := range []struct {
		name  string
		fault e2bsim.Fault
		act   func(sb sandbox.Sandbox) error
	}{
		{"before a command", e2bsim.Fault{On: e2bsim.CallStart}, func(sb sandbox.Sandbox) error { return counted(sb, t.Context()) }},
		{"in a command", e2bsim.Fault{On: e2bsim.CallStart, Frames: 1}, func(sb sandbox.Sandbox) error { return counted(sb, t.Context()) }},
		{"in an upload", e2bsim.Fault{On: e2bsim.CallWrite}, func(sb sandbox.Sandbox) error {
			return sb.Put(t.Context(), "/tmp/f", strings.NewReader("x"), 0o644)
		}},
		{"in a download", e2bsim.Fault{On: e2bsim.CallRead}, func(sb sandbox.Sandbox) error {
			_, err := sb.Get(t.Context(), "/tmp/there")
			return err
		}},
	} {
		sb := open(t, d, sandbox.Spec{Name: "dies"})
		shell(t, sb, "echo x >/tmp/there")
		c.fault.Kind = e2bsim.FaultKill
		in := s.Inject(c.fault)
		if err := c.act(sb); !errors.Is(err, sandbox.ErrGone) || in.Hits() == 0 {
			t.Errorf("%s: %v, want ErrGone", c.name, err)
		}
		in.Remove()
		if _, err := d.Freeze(t.Context(), sb); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("%s: freeze: %v, want ErrGone", c.name, err)
		}
		if err := sb.Close(t.Context()); err != nil {
			t.Errorf("%s: close: %v", c.name, err)
		}
	}
	sb := open(t, d, sandbox.Spec{Name: "dark"})
	in := s.Inject(e2bsim.Fault{On: e2bsim.CallGet, Kind: e2bsim.FaultStatus, Status: 500, Count: -1})
	s.Kill(idOf(sb))
	if err := counted(sb, t.Context()); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the edge says that it is gone, and the control plane nothing: %v, want ErrGone", err)
	}
	in.Remove()
	for _, on := range []e2bsim.Call{e2bsim.CallStart, e2bsim.CallGet} { // while it is opened
		in := s.Inject(e2bsim.Fault{On: on, Kind: e2bsim.FaultKill})
		if _, err := d.Open(t.Context(), sandbox.Spec{Name: "never"}); err == nil {
			t.Errorf("opened although it died at %s", on)
		}
		in.Remove()
	}
}

// TestProviderDown: new sandboxes are refused soon, and a command goes on when the
// way to its sandbox is open again.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "a"})
	in, out := io.Pipe()
	type outcome struct {
		res sandbox.Result
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo up; sleep 2; echo end; exit 3", Stdout: out})
		_ = out.Close()
		ended <- outcome{res, err}
	}()
	first := make([]byte, 3)
	if _, err := io.ReadFull(in, first); err != nil {
		t.Fatal(err)
	}
	if err := s.Down(true); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "b"}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("open: %v, want ErrUnavailable", err)
	}
	if err := s.Down(false); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(in)
	if o := <-ended; o.err != nil || o.res.ExitCode != 3 || err != nil || string(rest) != "end\n" {
		t.Errorf("%+v, %v, the rest of the output is %q", o.res, o.err, rest)
	}
}

// TestSlowProvider: slow is no fault.
func TestSlowProvider(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	s.SetLatency(300 * time.Millisecond)
	if err := counted(open(t, d, sandbox.Spec{Name: "a"}), t.Context()); err != nil {
		t.Error(err)
	}
	s.SetLatency(0)
}

// TestNoRoom: both kinds of 429, and a service without capacity.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	d, s := setup(t, func(o *e2bsim.Options) { o.Plan.Concurrent = 2 })
	s.Inject(e2bsim.Fault{On: e2bsim.CallCreate, Kind: e2bsim.FaultRate, RetryAfter: 1})
	s.Inject(e2bsim.Fault{On: e2bsim.CallKill, Kind: e2bsim.FaultRate, RetryAfter: 1})
	sb := open(t, d, sandbox.Spec{Name: "a"})
	other := open(t, d, sandbox.Spec{Name: "b"})
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "c"}); !errors.Is(err, sandbox.ErrCapacity) || !strings.Contains(err.Error(), "solver.caps") {
		t.Errorf("the plan is full: %v, want ErrCapacity", err)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
	in := s.Inject(e2bsim.Fault{On: e2bsim.CallCreate, Kind: e2bsim.FaultStatus, Status: 503, Slug: "sandbox_capacity_unavailable", Count: -1})
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "c"}); !errors.Is(err, sandbox.ErrCapacity) {
		t.Errorf("out of capacity: %v, want ErrCapacity", err)
	}
	in.Remove()
	if err := counted(other, t.Context()); err != nil {
		t.Error("the other one:", err)
	}
}

// TestCreateGoesWrong: faults of the server while a sandbox is made; what was made
// all the same is ended.
func TestCreateGoesWrong(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	for i, f := range []e2bsim.Fault{
		{Kind: e2bsim.FaultStatus, Status: 500}, {Kind: e2bsim.FaultLostStatus, Status: 500}, {Kind: e2bsim.FaultLostStatus, Status: 502},
		{Kind: e2bsim.FaultLost}, {Kind: e2bsim.FaultDrop}, {Kind: e2bsim.FaultStatus, Status: 504, Slug: "sandbox_placement_timeout"},
	} {
		f.On = e2bsim.CallCreate
		s.Inject(f)
		sb := open(t, d, sandbox.Spec{Name: fmt.Sprint("a-", i)})
		if n := len(s.Billed()); n != 1 {
			t.Errorf("%s %d: %d sandboxes run", f.Kind, f.Status, n)
		}
		if err := sb.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, on := range []e2bsim.Call{e2bsim.CallCreate, e2bsim.CallGet} {
		in := s.Inject(e2bsim.Fault{On: on, Kind: e2bsim.FaultLostStatus, Status: 500, Count: -1})
		if _, err := d.Open(t.Context(), sandbox.Spec{Name: "b"}); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", on, err)
		}
		in.Remove()
		left(t, s)
	}
}

// TestLostMachineIsNotForgotten: where the answer to a new machine was lost, no later refusal
// says that there is none: its note stays until it is found.
func TestLostMachineIsNotForgotten(t *testing.T) {
	t.Parallel()
	s := service(t)
	dir, lists := t.TempDir(), 0
	d := driverOn(t, configFor(t, s), bookIn(t, dir), roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && r.URL.Path == "/v2/sandboxes" {
			if lists++; lists == 1 { // it is not listed yet
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]"))}, nil
			}
		}
		return http.DefaultTransport.RoundTrip(r)
	}))
	lost := s.Inject(e2bsim.Fault{On: e2bsim.CallCreate, Kind: e2bsim.FaultLost})
	s.Inject(e2bsim.Fault{On: e2bsim.CallCreate, Kind: e2bsim.FaultStatus, Status: 403, Nth: 2})
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "a"}); !errors.Is(err, sandbox.ErrSetting) {
		t.Errorf("the second try is refused: %v, want ErrSetting", err)
	}
	left(t, s)
	lost.Remove()
	s.Inject(e2bsim.Fault{On: e2bsim.CallCreate, Kind: e2bsim.FaultLost})
	refused := s.Inject(e2bsim.Fault{On: e2bsim.CallList, Kind: e2bsim.FaultStatus, Status: 403, Count: -1})
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "b"}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("the look for it is refused: %v, want ErrUnavailable", err)
	}
	if n := noteOf(t, d, "b"); n.Key == "" {
		t.Error("nobody can look for it any more")
	}
	refused.Remove()
	sweepAll(t, d, s)
}

// TestKeyRevoked: what runs goes on, what is new is refused with the setting, and
// with a new key everything is ended.
func TestKeyRevoked(t *testing.T) {
	t.Parallel()
	const second = "e2b_second"
	s := service(t, func(o *e2bsim.Options) { o.Keys = []string{e2bsim.Key, second} })
	c, dir := configFor(t, s), t.TempDir()
	d := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	sb := open(t, d, sandbox.Spec{Name: "a"})
	s.Revoke(e2bsim.Key)
	if err := counted(sb, t.Context()); err != nil {
		t.Errorf("a running sandbox: %v", err)
	}
	for what, err := range map[string]error{
		"open":     func() error { _, err := d.Open(t.Context(), sandbox.Spec{Name: "b"}); return err }(),
		"restrict": sb.(sandbox.Egress).Restrict(t.Context(), sandbox.Network{}), "close": sb.Close(t.Context()),
	} {
		if !errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), "sandbox.e2b.api_key_file") {
			t.Errorf("%s: %v, want ErrSetting and the setting", what, err)
		}
	}
	if err := os.WriteFile(c.APIKeyFile, []byte(second), 0o600); err != nil {
		t.Fatal(err)
	}
	sweepAll(t, driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true)), s)
}

// TestToken: a token that was replaced is fetched, one that is never accepted is
// said to be so, and is in no error.
func TestToken(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "a"})
	e := daemonOf(t, d, sb)
	secret, old := *e.token.Load(), "ea_wrong_token"
	e.token.Store(&old)
	n := cloud.Machine{Wire: e}
	if code, err := n.Run(t.Context(), guest.Process{Argv: []string{"/bin/bash", "-c", "exit 7"}}, func(bool, []byte) {}); err != nil || code != 7 {
		t.Errorf("with an old token: %d, %v", code, err)
	}
	in := s.Inject(e2bsim.Fault{On: e2bsim.CallStart, Kind: e2bsim.FaultStatus, Status: 401, Message: "bad token " + secret, Count: -1})
	_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"})
	if !errors.Is(err, sandbox.ErrUnavailable) || strings.Contains(err.Error(), secret) {
		t.Errorf("with a bad token: %v", err)
	}
	in.Remove()
}

// TestDiskFull: at the service's word, and inside.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	d, s := setup(t, func(o *e2bsim.Options) {
		o.Templates = []e2bsim.Template{{Name: "yudai", DiskBytes: 24 << 20}}
	})
	sb := open(t, d, sandbox.Spec{Name: "a"})
	in := s.Inject(e2bsim.Fault{On: e2bsim.CallWrite, Kind: e2bsim.FaultFull})
	if err := sb.Put(t.Context(), "/tmp/f", strings.NewReader("x"), 0o644); !errors.Is(err, sandbox.ErrDisk) {
		t.Errorf("put: %v, want ErrDisk", err)
	}
	in.Remove()
	other := open(t, d, sandbox.Spec{Name: "b"})
	res, err := other.Exec(t.Context(), sandbox.Command{Shell: "head -c 60000000 /dev/zero >/workspace/repo/big"})
	if err == nil && res.ExitCode == 0 {
		t.Error("a disk of 24 MiB took 60 MB")
	}
	if err := other.Put(t.Context(), "/workspace/repo/more", bytes.NewReader(make([]byte, 8<<20)), 0o644); !errors.Is(err, sandbox.ErrDisk) {
		t.Errorf("put on a full disk: %v, want ErrDisk", err)
	}
}

// TestEdgeIsBusy: answers of the edge that promise nothing was started are waited for.
func TestEdgeIsBusy(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "a"})
	for _, f := range []e2bsim.Fault{
		{Status: 409, Message: "the sandbox is still transitioning"}, {Status: 429, Message: "too many connections"},
		{Status: 502, Message: "The sandbox is running but port is not open"}, {Status: 502, Message: "Bad Gateway"}, {Status: 503}, {Status: 504},
	} {
		f.On, f.Kind = e2bsim.CallStart, e2bsim.FaultStatus
		in := s.Inject(f)
		if err := counted(sb, t.Context()); err != nil || in.Hits() != 1 {
			t.Errorf("%d %s: %v", f.Status, f.Message, err)
		}
		in.Remove()
	}
}

// TestQuiet: views that broke are ended before a sandbox is frozen.
func TestQuiet(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "a"})
	e := daemonOf(t, d, sb)
	ctx, cancel := context.WithCancel(t.Context())
	view := guest.Process{Argv: []string{"/bin/bash", "-c", "echo up; exec sleep 300"}, Root: true}
	_, err := e.Start(ctx, view, func(bool, []byte) { cancel() })
	if err == nil {
		t.Fatal("the view was not cut")
	}
	all, err := processes(t.Context(), e)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	n := noteOf(t, d, "a")
	if _, err := d.p.Snapshot(t.Context(), cloud.Machine{Wire: e}, &n, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if n := s.Calls()[e2bsim.CallSignal]; n != 1 {
		t.Errorf("%d signals, want 1", n)
	}
	if !eventually(func() bool {
		all, err := processes(t.Context(), e)
		return err == nil && len(all) == 0
	}) {
		t.Error("the old view lives on")
	}
	if err := e.kill(t.Context(), 999999); err != nil {
		t.Errorf("kill of what is gone: %v", err)
	}
}

// TestBrokenFiles: files go in and out although connections break, whether the input
// can be read again or not.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "a"})
	big := strings.Repeat("0123456789abcdef", 2*cloud.PartSize/16)
	for _, c := range []struct {
		name string
		once bool // the input can be read once only
		want string
		on   e2bsim.Call
	}{
		{"small", true, "small", e2bsim.CallWrite},
		{"large, can be read again", false, big, e2bsim.CallWrite},
		{"large, can be read once", true, big, e2bsim.CallWrite},
		{"out", false, "small", e2bsim.CallRead},
	} {
		for _, kind := range []e2bsim.FaultKind{e2bsim.FaultDrop, e2bsim.FaultLost} {
			in := s.Inject(e2bsim.Fault{On: c.on, Kind: kind})
			var from io.Reader = strings.NewReader(c.want)
			if c.once {
				from = io.MultiReader(from)
			}
			err := sb.Put(t.Context(), "/tmp/f", from, 0o644)
			if err != nil {
				t.Errorf("%s, %s: put: %v", c.name, kind, err)
			}
			r, err := sb.Get(t.Context(), "/tmp/f")
			if err != nil {
				t.Errorf("%s, %s: get: %v", c.name, kind, err)
				continue
			}
			data, err := io.ReadAll(r)
			_ = r.Close()
			if err != nil || string(data) != c.want || in.Hits() != 1 {
				t.Errorf("%s, %s: %d bytes, %v", c.name, kind, len(data), err)
			}
			in.Remove()
		}
	}
}
