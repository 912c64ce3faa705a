package primesim_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/prime/command"
	"github.com/yudai-dev/yudai/test/primesim"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestFaultsOfTheControlPlane(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{})
	id := c.create(nil)["id"].(string)
	statuses := func(n int) (got []int) {
		for range n {
			status, _ := c.ask("GET", "sandbox/"+id, nil)
			got = append(got, status)
		}
		return got
	}
	for _, f := range []struct {
		fault primesim.Fault
		want  [4]int
	}{
		{primesim.Fault{Kind: primesim.FaultStatus, Status: 429, Count: 2}, [4]int{429, 429, 200, 200}},
		{primesim.Fault{Kind: primesim.FaultStatus, Status: 503, Nth: 2, On: primesim.AnyControl}, [4]int{200, 503, 200, 200}},
		{primesim.Fault{Kind: primesim.FaultStatus, Status: 402, Nth: 3, Count: -1, On: primesim.CallGet}, [4]int{200, 200, 402, 402}},
		{primesim.Fault{Kind: primesim.FaultDrop, Sandbox: "test"}, [4]int{0, 200, 200, 200}},
		{primesim.Fault{Kind: primesim.FaultSlow, Delay: time.Millisecond, Count: -1}, [4]int{200, 200, 200, 200}},
		{primesim.Fault{Kind: primesim.FaultStatus, Status: 500, On: primesim.CallList, Count: -1}, [4]int{200, 200, 200, 200}},
	} {
		in := c.Inject(f.fault)
		if got := [4]int(statuses(4)); got != f.want {
			t.Errorf("%+v: %v", f.fault, got)
		}
		in.Remove()
	}
	c.SetDown(true)
	if got := statuses(1); got[0] != 0 {
		t.Errorf("down: %v", got)
	}
	c.SetDown(false)

	lost := c.Inject(primesim.Fault{Kind: primesim.FaultLost, On: primesim.CallCreate})
	if status, answer := c.ask("POST", "sandbox", request(dict{"name": "lost", "idempotency_key": "lost"})); status != 0 || lost.Hits() != 1 {
		t.Errorf("the answer came: %d %v", status, answer)
	}
	if again := c.create(dict{"name": "lost", "idempotency_key": "lost"}); len(c.IDs("lost")) != 1 || again["id"] != c.IDs("lost")[0] {
		t.Errorf("the lost create: %v", c.IDs("lost"))
	}
	c.Inject(primesim.Fault{Kind: primesim.FaultLostStatus, Status: 502, On: primesim.CallDelete})
	c.call(502, "DELETE", "sandbox/"+id, nil)
	if status, _ := c.Status(id); status != primesim.StatusTerminated {
		t.Errorf("the delete whose answer was lost did nothing: %s", status)
	}
	c.Inject(primesim.Fault{Kind: primesim.FaultFail, On: primesim.CallCreate, Reason: "OOM_KILLED"})
	failing := c.create(nil)["id"].(string)
	c.until(func() bool {
		status, errorType := c.Status(failing)
		return status == "ERROR" && errorType == "OOM_KILLED"
	})
	if n := c.Calls(primesim.CallCreate); n != 4 {
		t.Errorf("%d creates were counted", n)
	}
}

func TestFaultsOfTheGateway(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{Token: time.Minute})
	in := c.running(nil)
	for _, f := range []struct {
		fault primesim.Fault
		want  int
	}{
		{primesim.Fault{Kind: primesim.FaultStatus, Status: 409, On: primesim.CallUpload}, 409},
		{primesim.Fault{Kind: primesim.FaultStatus, Status: 429, On: primesim.AnyGateway}, 429},
		{primesim.Fault{Kind: primesim.FaultMissing, On: primesim.CallUpload}, 502},
		{primesim.Fault{Kind: primesim.FaultLost, On: primesim.CallUpload}, 0},
	} {
		c.Inject(f.fault)
		if status, body := in.upload("/tmp/f", []byte("x")); status != f.want {
			t.Errorf("%+v: %d %s", f.fault, status, body)
		}
	}
	if r := in.run("cat /tmp/f"); r.out != "x" {
		t.Errorf("the upload whose answer was lost wrote %q", r.out)
	}
	c.Inject(primesim.Fault{Kind: primesim.FaultStatus, Status: 401, On: primesim.CallDownload})
	for range 2 { // the token is gone, not only refused
		if status, _ := in.get("download", "/tmp/f"); status != 401 {
			t.Errorf("status %d", status)
		}
	}
	in.auth()
	if status, body := in.get("download", "/tmp/f"); status != 200 || body != "x" {
		t.Errorf("with a new token: %d %s", status, body)
	}
	c.Advance(2 * time.Minute)
	_, err := in.start(t.Context(), shell("true"), nil)
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("with an old token: %v", err)
	}
	in.auth()
	c.Inject(primesim.Fault{Kind: primesim.FaultStatus, Status: 503, On: primesim.CallStart})
	if _, err := in.start(t.Context(), shell("true"), nil); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a gateway that is not well: %v", err)
	}
}

func TestStreamsThatBreak(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{})
	in := c.running(nil)
	text := "echo a; for i in $(seq 50); do test -e /tmp/go && break; sleep .1; done; echo b"
	for frames, want := range []string{"", "", "a\n"} {
		c.Inject(primesim.Fault{Kind: primesim.FaultCut, On: primesim.CallStart, Frames: frames})
		if r, err := in.start(t.Context(), shell(text), nil); err == nil || r.ended || (r.pid != 0) != (frames > 0) || r.out != want {
			t.Errorf("cut after %d: %+v, %v", frames, r, err)
		}
	}
	in.run("touch /tmp/go")
	c.Inject(primesim.Fault{Kind: primesim.FaultCutEnd, On: primesim.CallStart})
	if r, err := in.start(t.Context(), shell("echo a"), nil); err == nil || r.ended || r.out != "a\n" {
		t.Errorf("cut before the end: %+v, %v", r, err)
	}

	stall := c.Inject(primesim.Fault{Kind: primesim.FaultStall, On: primesim.CallStart, Frames: 1})
	done := make(chan result, 1)
	go func() {
		r, _ := in.start(t.Context(), shell("echo late"), nil)
		done <- r
	}()
	c.until(func() bool { return stall.Hits() == 1 })
	stall.Remove()
	if r := <-done; !r.ended || r.out != "late\n" {
		t.Errorf("after the stall: %+v", r)
	}
}

func TestKeepAlives(t *testing.T) {
	t.Parallel()
	in := setup(t, primesim.Options{KeepAlive: 5 * time.Millisecond}).running(nil)
	r, err := in.start(t.Context(), shell("until test -e /tmp/go; do sleep .01; done"), func(e *command.CommandSessionEvent) {
		if e.GetKeepalive() != nil {
			in.run("touch /tmp/go")
		}
	})
	if err != nil || !r.ended || r.kept == 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestSandboxesThatDie(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{})
	in := c.running(nil)
	c.Inject(primesim.Fault{Kind: primesim.FaultKill, On: primesim.CallStart, Nth: 2, Frames: 2, Reason: "OOM_KILLED"})
	in.run("echo first")
	if r, err := in.start(t.Context(), shell("echo second; sleep 60"), nil); err == nil || r.out != "second\n" || r.ended {
		t.Errorf("got %+v, %v", r, err)
	}
	if status, errorType := c.Status(in.id); status != primesim.StatusError || errorType != "OOM_KILLED" {
		t.Errorf("it is %s (%s)", status, errorType)
	}
}

func TestKillWhileACommandRuns(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{})
	in := c.running(nil)
	r, err := in.start(t.Context(), shell("echo here; sleep 60"), func(e *command.CommandSessionEvent) {
		if e.GetData() != nil {
			c.Kill(in.id, "OOM_KILLED")
		}
	})
	if err == nil || r.ended || r.out != "here\n" {
		t.Errorf("the stream of a dead sandbox: %+v, %v", r, err)
	}
	if got := c.call(http.StatusOK, "GET", "sandbox/"+in.id, nil); got["status"] != "ERROR" || got["errorType"] != "OOM_KILLED" || got["terminatedAt"] == nil {
		t.Errorf("a killed sandbox is %v", got)
	}
	if status, body := c.try("POST", in.base+"/command_session.CommandSession/Start", in.token, "application/connect+proto", nil); status != 404 || !contains(string(body), `"code":"not_found"`) {
		t.Errorf("a command in a dead sandbox: %d %s", status, body)
	}
	if status, body := in.get("download", "/etc/hostname"); status != 502 || !contains(body, "sandbox_not_found") {
		t.Errorf("a file of a dead sandbox: %d %s", status, body)
	}
	c.call(200, "DELETE", "sandbox/"+in.id, nil)
	if status, body := in.get("download", "/etc/hostname"); status != 410 || !contains(body, "sandbox_terminated") {
		t.Errorf("a file of a deleted sandbox: %d %s", status, body)
	}
	if len(c.Billed()) > 0 {
		t.Errorf("billed: %v", c.Billed())
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{DiskBytes: 16 << 20})
	in := c.running(nil)
	if r := in.run("head -c 30000000 /dev/zero >/tmp/big"); r.code == 0 || !contains(r.errs, "No space left") {
		t.Errorf("a large file: %+v", r)
	}
	in.run("rm /tmp/big")
	if err := c.FillDisk(in.id); err != nil {
		t.Fatal(err)
	}
	if r := in.run("echo x >/tmp/small"); r.code == 0 {
		t.Errorf("a full disk takes more: %+v", r)
	}
	if status, body := in.upload("/tmp/up", []byte("x")); status != 500 || !contains(body, "no space left") {
		t.Errorf("an upload to a full disk: %d %s", status, body)
	}
}
