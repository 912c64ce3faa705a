package e2bsim_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
	"github.com/yudai-dev/yudai/test/e2bsim"
)

// TestWayIn: which requests reach the daemon of which sandbox.
func TestWayIn(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	for _, c := range []struct {
		name, base, host, path string
		header                 map[string]string
		want                   int
		says                   string
	}{
		{"host", s.SandboxURL(), "49983-" + box.ID + ".e2b.app", "/health", nil, 204, ""},
		{"host at the other address", s.URL(), "49983-" + box.ID + ".e2b.app", "/health", nil, 204, ""},
		{"header", s.SandboxURL(), "", "/health", map[string]string{"E2b-Sandbox-Id": box.ID}, 204, ""},
		{"neither", s.SandboxURL(), "", "/health", nil, 400, "missing header"},
		{"another port", s.SandboxURL(), "8080-" + box.ID + ".e2b.app", "/", nil, 502, "port is not open"},
		{"no such sandbox", s.SandboxURL(), "49983-iaaaaaaaaaaaaaaaaaaaa.e2b.app", "/health", nil, 502, "was not found"},
		{"a browser", s.SandboxURL(), "49983-iaaaaaaaaaaaaaaaaaaaa.e2b.app", "/health", map[string]string{"User-Agent": "knowledge/1"}, 502, "<!DOCTYPE html>"},
		{"closed control", s.SandboxURL(), "49983-" + box.ID + ".e2b.app", "/init", map[string]string{"X-Access-Token": box.Token}, 404, "not found"},
		{"no token", s.SandboxURL(), "49983-" + box.ID + ".e2b.app", "/envs", nil, 401, "valid access token"},
		{"token", s.SandboxURL(), "49983-" + box.ID + ".e2b.app", "/envs", map[string]string{"X-Access-Token": box.Token}, 200, box.ID},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", c.base+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		for k, v := range c.header {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text := new(strings.Builder)
		_ = resp.Write(text)
		_ = resp.Body.Close()
		if resp.StatusCode != c.want || !strings.Contains(text.String(), c.says) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

// TestGoingAway: a client that goes away leaves the process running, and what it
// says while nobody listens is lost.
func TestGoingAway(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	stream, pid := begin(t, ctx, s, box, "until [ -e go ]; do sleep 0.02; done; echo lost; touch said; until [ -e on ]; do sleep 0.02; done; echo seen; exit 3")
	cancel()
	for stream.Receive() {
	}
	await(t, "the stream is gone at the other side, too", func() bool {
		return s.Calls()[e2bsim.CallStart] >= 1 && say(t, s, box, "touch go; until [ -e said ]; do sleep 0.02; done; echo said") == "said"
	})
	sel := &envd.ProcessSelector{Selector: &envd.ProcessSelector_Pid{Pid: pid}}
	again, err := processes(s, box, "").Connect(t.Context(), connect.NewRequest(&envd.ConnectRequest{Process: sel}))
	if err != nil || !again.Receive() {
		t.Fatal(err)
	}
	defer again.Close()
	say(t, s, box, "touch on")
	out := ""
	var end *envd.ProcessEvent_EndEvent
	for again.Receive() {
		out += string(again.Msg().GetEvent().GetData().GetStdout())
		end = again.Msg().GetEvent().GetEnd()
	}
	if out != "seen\n" || end.GetExitCode() != 3 || again.Err() != nil {
		t.Errorf("%q, %v, %v", out, end, again.Err())
	}
	// The end is remembered for half a minute.
	for _, later := range []time.Duration{0, time.Minute} {
		s.Advance(later)
		late, err := processes(s, box, "").Connect(t.Context(), connect.NewRequest(&envd.ConnectRequest{Process: sel}))
		if err != nil {
			t.Fatal(err)
		}
		if found := late.Receive(); found != (later == 0) || !found && connect.CodeOf(late.Err()) != connect.CodeNotFound {
			t.Errorf("after %s: %v, %v", later, found, late.Err())
		}
		_ = late.Close()
	}
}

// TestSlowReader: a client that stays and does not read holds the process up, and
// the end of the sandbox ends it all the same.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	begin(t, t.Context(), s, box, "echo $$ >pid; head -c 100000000 /dev/zero; touch through")
	pid := ""
	await(t, "it runs", func() bool { pid = say(t, s, box, "cat pid 2>/dev/null || true"); return pid != "" })
	state := ""
	await(t, "the process stands still", func() bool {
		before := state
		state = say(t, s, box, "grep wchar /proc/$(pgrep -x head)/io 2>/dev/null || true")
		return state == before && state != ""
	})
	if got := say(t, s, box, "ls"); got != "pid" {
		t.Errorf("it came through: %s", got)
	}
	call(t, s, "DELETE", "/sandboxes/"+box.ID, nil).want(204)
}

// TestDeadlineKillsTheLeader: and what it started lives on.
func TestDeadlineKillsTheLeader(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	off := false
	r := connect.NewRequest(&envd.StartRequest{Stdin: &off, Process: &envd.ProcessConfig{
		Cmd: "/bin/bash", Args: []string{"-c", "sleep 301 >/dev/null 2>&1 & exec sleep 300"},
	}})
	stream, err := processes(s, box, "").Start(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
	}
	if connect.CodeOf(stream.Err()) != connect.CodeDeadlineExceeded {
		t.Error(stream.Err())
	}
	await(t, "only the child lives", func() bool {
		return say(t, s, box, "pgrep -a -x sleep") != "" && !strings.Contains(say(t, s, box, "pgrep -a -x sleep"), "300")
	})
}

// TestTags: looking a process up by its tag is as unreliable as in the real daemon.
func TestTags(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	for i := range 5 {
		tag := fmt.Sprint("tag", i)
		stream, err := processes(s, box, "").Start(t.Context(), connect.NewRequest(&envd.StartRequest{
			Tag: &tag, Process: &envd.ProcessConfig{Cmd: "sleep", Args: []string{"300"}},
		}))
		if err != nil || !stream.Receive() {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	missed := 0
	for range 50 {
		sel := &envd.ProcessSelector{Selector: &envd.ProcessSelector_Tag{Tag: "tag3"}}
		_, err := processes(s, box, "").Update(t.Context(), connect.NewRequest(&envd.UpdateRequest{Process: sel}))
		if connect.CodeOf(err) == connect.CodeNotFound {
			missed++
		}
	}
	if missed == 0 || missed == 50 {
		t.Errorf("%d of 50 look-ups failed", missed)
	}
}

// TestUsersAndLimits of a start.
func TestUsersAndLimits(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *e2bsim.Options) {
		o.Templates = []e2bsim.Template{{Name: "base", Hide: []string{"git"}}}
	})
	box := create(t, s, nil)
	for _, c := range []struct {
		user, cmd, arg string
		code           connect.Code
	}{
		{"root", "/bin/true", "", 0},
		{"nobody-here", "/bin/true", "", connect.CodeUnauthenticated},
		{"", "/bin/echo", strings.Repeat("x", 140<<10), connect.CodeInvalidArgument},
	} {
		stream, err := processes(s, box, c.user).Start(t.Context(), connect.NewRequest(&envd.StartRequest{
			Process: &envd.ProcessConfig{Cmd: c.cmd, Args: []string{c.arg}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		for stream.Receive() {
		}
		if err := stream.Err(); err != nil && connect.CodeOf(err) != c.code || err == nil && c.code != 0 {
			t.Errorf("%s %s: %v", c.user, c.cmd, err)
		}
	}
	if _, end, err := run(t, s, box, "git --version"); err != nil || end.GetExitCode() != 127 {
		t.Errorf("git in a template that lacks it: %v, %v", end, err)
	}
}

// TestSignedFiles: a signature is as good as the token, for its file, its direction
// and its time.
func TestSignedFiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	open := func(method, path, op string, expiry int64, signed string) int {
		q := url.Values{"path": {path}, "signature": {e2bsim.Signature(signed, op, "", box.Token, expiry)}}
		if expiry != 0 {
			q.Set("signature_expiration", fmt.Sprint(expiry))
		}
		return file(t, s, made{box.ID, ""}, method, "/files?"+q.Encode(), "x").status
	}
	soon := time.Now().Add(time.Minute).Unix()
	for name, got := range map[string][2]int{
		"write":           {open("POST", "/tmp/f", "write", 0, "/tmp/f"), 200},
		"read":            {open("GET", "/tmp/f", "read", soon, "/tmp/f"), 200},
		"wrong direction": {open("GET", "/tmp/f", "write", 0, "/tmp/f"), 401},
		"wrong file":      {open("GET", "/etc/passwd", "read", 0, "/tmp/f"), 401},
		"too late":        {open("GET", "/tmp/f", "read", soon-120, "/tmp/f"), 401},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", name, got[0], got[1])
		}
	}
}

// TestFilesKeepToTheMachine: a link in a sandbox does not lead to the host, and a
// file keeps its mode when it is written again.
func TestFilesKeepToTheMachine(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	say(t, s, box, "ln -s /proc/1/root/etc/shadow l; ln -s /../../etc up; echo x >run.sh; chmod 750 run.sh")
	for _, path := range []string{"l", "up/shadow"} {
		if got := file(t, s, box, "GET", "/files?path="+path, ""); got.status == 200 {
			t.Errorf("%s: %q", path, got.text)
		}
	}
	file(t, s, box, "POST", "/files?path=/home/user/run.sh&username=root", "y").want(200)
	if got := say(t, s, box, "stat -c %U:%a run.sh"); got != "root:750" {
		t.Errorf("%q", got)
	}
}
