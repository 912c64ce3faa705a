package e2bsim_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
	"github.com/yudai-dev/yudai/test/e2bsim"
)

// body makes a sandbox.
var body = map[string]any{"templateID": "base", "timeout": 60}

// TestControlFaults: each way for a call of the control plane to go wrong, the
// effect it has, and that the next call is well again.
func TestControlFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  e2bsim.Fault
		status int // 0 is a closed connection
		effect bool
		check  func(answer) bool
	}{
		"status":      {e2bsim.Fault{Kind: e2bsim.FaultStatus, Status: 503, Slug: "sandbox_capacity_unavailable"}, 503, false, func(a answer) bool { return strings.Contains(a.text, "sandbox_capacity_unavailable") }},
		"lost status": {e2bsim.Fault{Kind: e2bsim.FaultLostStatus, Status: 500}, 500, true, nil},
		"rate":        {e2bsim.Fault{Kind: e2bsim.FaultRate, RetryAfter: 2}, 429, false, func(a answer) bool { return a.header.Get("Retry-After") == "2" }},
		"capacity":    {e2bsim.Fault{Kind: e2bsim.FaultCapacity}, 429, false, func(a answer) bool { return a.header.Get("Retry-After") == "" }},
		"drop":        {e2bsim.Fault{Kind: e2bsim.FaultDrop}, 0, false, nil},
		"lost":        {e2bsim.Fault{Kind: e2bsim.FaultLost}, 0, true, nil},
		"slow":        {e2bsim.Fault{Kind: e2bsim.FaultSlow, Delay: 20 * time.Millisecond}, 201, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			c.fault.On, c.fault.Nth = e2bsim.CallCreate, 2
			in := s.Inject(c.fault)
			call(t, s, "POST", "/v2/sandboxes", body).want(201)
			a, err := tryCall(t, s, "POST", "/v2/sandboxes", body)
			if (err != nil) != (c.status == 0) || a.status != c.status || c.check != nil && !c.check(a) {
				t.Errorf("%v, %+v", err, a)
			}
			call(t, s, "POST", "/v2/sandboxes", body).want(201)
			want := 2
			if c.effect {
				want = 3
			}
			if got := len(s.Billed()); got != want || in.Hits() != 1 {
				t.Errorf("%d sandboxes, want %d; %d hits", got, want, in.Hits())
			}
		})
	}
}

func TestHangEndsWithTheClient(t *testing.T) {
	t.Parallel()
	s := start(t)
	in := s.Inject(e2bsim.Fault{Kind: e2bsim.FaultHang, On: e2bsim.AnyControl, Count: -1})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL()+"/v2/sandboxes", nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	await(t, "the call has come", func() bool { return in.Hits() == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	in.Remove()
	call(t, s, "GET", "/v2/sandboxes", nil).want(200)
}

func TestDown(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	stream, _ := begin(t, t.Context(), s, box, "exec sleep 300")
	if err := s.Down(true); err != nil {
		t.Fatal(err)
	}
	if _, err := tryCall(t, s, "GET", "/v2/sandboxes", nil); err == nil {
		t.Error("it answers")
	}
	if stream.Receive() || stream.Err() == nil {
		t.Error("an open stream was not cut")
	}
	if err := s.Down(false); err != nil {
		t.Fatal(err)
	}
	if got := say(t, s, box, "for i in {1..500}; do n=$(pgrep -c sleep) && break; done; echo $n"); got != "1" { // bash may not be there yet
		t.Errorf("%s processes", got)
	}
}

// TestStreamFaults: a stream is cut, falls silent or loses its sandbox, after so
// many events; the first is that of the start.
func TestStreamFaults(t *testing.T) {
	t.Parallel()
	const text = "echo one; sleep 0.1; echo two; sleep 0.1; echo three; touch ended; exec sleep 300"
	for name, kind := range map[string]e2bsim.FaultKind{"cut": e2bsim.FaultCut, "stall": e2bsim.FaultStall, "kill": e2bsim.FaultKill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			box := create(t, s, nil)
			s.Inject(e2bsim.Fault{Kind: kind, On: e2bsim.CallStart, Frames: 2, Nth: 2, Sandbox: box.ID})
			say(t, s, box, "true")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, _ := begin(t, ctx, s, box, text)
			if !stream.Receive() || string(stream.Msg().GetEvent().GetData().GetStdout()) != "one\n" {
				t.Fatalf("no first line: %v", stream.Err())
			}
			switch kind {
			case e2bsim.FaultCut: // the process lives on
				if stream.Receive() || stream.Err() == nil {
					t.Errorf("not cut: %v", stream.Msg())
				}
				await(t, "the command went on", func() bool { return say(t, s, box, "ls") == "ended" })
			case e2bsim.FaultStall:
				await(t, "the command went on", func() bool { return say(t, s, box, "ls") == "ended" })
				cancel()
				if stream.Receive() {
					t.Errorf("not silent: %v", stream.Msg())
				}
			case e2bsim.FaultKill:
				if stream.Receive() || stream.Err() == nil {
					t.Errorf("not cut: %v", stream.Msg())
				}
				await(t, "the sandbox is gone", func() bool { return len(s.Billed()) == 0 })
			}
		})
	}
}

func TestDeathOfASandbox(t *testing.T) {
	t.Parallel()
	s := start(t)
	box, other := create(t, s, nil), create(t, s, nil)
	cut, _ := begin(t, t.Context(), s, box, "exec sleep 300")
	s.Kill(box.ID)
	if cut.Receive() || cut.Err() == nil {
		t.Error("the stream was not cut")
	}
	s.SilentDeath(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	silent, _ := begin(t, ctx, s, other, "exec sleep 300")
	ended := make(chan bool, 1)
	go func() { ended <- silent.Receive() }()
	s.Kill(other.ID)
	if _, _, err := run(t, s, other, "true"); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a command in a dead sandbox: %v", err)
	}
	select {
	case <-ended:
		t.Error("the stream did not stay open")
	default:
	}
	cancel()
	if <-ended {
		t.Error("the stream said something")
	}
}

// TestFailures: one copy of a fork, and a build, fail by themselves.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	s.Inject(e2bsim.Fault{Kind: e2bsim.FaultFail, On: e2bsim.CallFork, Status: 504, Slug: "sandbox_placement_timeout", Message: "Failed to place sandbox"})
	if got := call(t, s, "POST", "/sandboxes/"+box.ID+"/fork", map[string]any{"timeout": 60, "count": 2}).want(201); !strings.Contains(got.text, "sandbox_placement_timeout") || len(s.Billed()) != 2 {
		t.Errorf("%s; billed %v", got.text, s.Billed())
	}
	type build struct {
		Template string `json:"templateID"`
		Build    string `json:"buildID"`
	}
	s.Inject(e2bsim.Fault{Kind: e2bsim.FaultFail, On: e2bsim.CallBuild, Message: "no space"})
	b := as[build](call(t, s, "POST", "/v3/templates", map[string]any{"name": "mine"}).want(202))
	path := "/templates/" + b.Template + "/builds/" + b.Build
	call(t, s, "POST", "/v2"+path, map[string]any{"fromImage": "debian:12", "steps": []any{map[string]any{"type": "RUN", "args": []string{"true"}}}}).want(202)
	await(t, "the build failed", func() bool {
		got := call(t, s, "GET", path+"/status", nil).want(200).text
		return strings.Contains(got, `"status":"error"`) && strings.Contains(got, `"message":"400: no space"`)
	})
	call(t, s, "POST", "/v2/sandboxes", map[string]any{"templateID": "mine"}).want(404)
}

// TestFullDisk: a disk that is really full answers as the real one does.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *e2bsim.Options) { o.Templates = []e2bsim.Template{{Name: "base", DiskBytes: 4 << 20}} })
	box := create(t, s, nil)
	if got := file(t, s, box, "POST", "/files?path=big", strings.Repeat("x", 6<<20)); got.status != 507 {
		t.Errorf("%d: %s", got.status, got.text)
	}
	out, end, err := run(t, s, box, "head -c 6000000 /dev/zero >/tmp/big")
	if err != nil || end.GetExitCode() == 0 || !strings.Contains(out, "No space left") {
		t.Errorf("%v, %v: %s", err, end, out)
	}
}

// TestCrashOfTheDaemon: an interval below a second crashes the real one.
func TestCrashOfTheDaemon(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	r := connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "true"}})
	r.Header().Set("Keepalive-Ping-Interval", "0")
	stream, err := processes(s, box, "").Start(t.Context(), r)
	if err != nil || stream.Receive() {
		t.Errorf("%v, %v", err, stream.Msg())
	}
	if got := file(t, s, box, "GET", "/health", ""); got.status != 502 || !strings.Contains(got.text, "port is not open") {
		t.Errorf("%d: %s", got.status, got.text)
	}
	if len(s.Complaints()) != 1 {
		t.Errorf("complaints %q", s.Complaints())
	}
}
