package primesim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/sandbox/prime/command"
	"github.com/yudai-dev/yudai/test/primesim"
)

const (
	firstUUID  = "11111111-2222-4333-8444-555555555555"
	secondUUID = "11111111-2222-4333-8444-666666666666"
)

// sessionOf is the request that runs a text in a session of that uuid, with an input.
func sessionOf(uuid, text string) *command.StartRequest {
	r := shell(text)
	r.SessionUuid, r.Stdin = proto.String(uuid), proto.Bool(true)
	return r
}

func wants(t *testing.T, want connect.Code, err error) {
	t.Helper()
	if connect.CodeOf(err) != want || err == nil {
		t.Errorf("the error is %v, not %v", err, want)
	}
}

// TestSessionsAttach: a session goes on while nobody looks, is attached to by the
// same Start or by Connect, and its end is kept for a while.
func TestSessionsAttach(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{Retain: time.Minute})
	in := c.running(nil)
	r := sessionOf(firstUUID, `echo first; read -r a; echo "got $a"; exit 4`)
	ctx, leave := context.WithCancel(t.Context())
	seen, err := in.start(ctx, r, func(e *command.CommandSessionEvent) {
		if e.GetData() != nil {
			leave()
		}
	})
	if seen.ended || seen.out != "first\n" || err == nil {
		t.Fatalf("before leaving: %+v, %v", seen, err)
	}
	list, err := unary[command.ListRequest, command.ListResponse](in, "List", &command.ListRequest{})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].GetPid() != seen.pid || list.Sessions[0].GetSessionUuid() != firstUUID {
		t.Errorf("listed %v, %v", list, err)
	}
	_, err = in.start(t.Context(), sessionOf(firstUUID, "echo other"), nil)
	wants(t, connect.CodeFailedPrecondition, err)
	_, err = in.start(t.Context(), sessionOf(strings.ToUpper("abcdefab-2222-4333-8444-555555555555"), "true"), nil)
	wants(t, connect.CodeInvalidArgument, err)

	input := &command.SendInputRequest{Session: session(firstUUID), InputUuid: proto.String("one"),
		Input: &command.CommandInput{Input: &command.CommandInput_Stdin{Stdin: []byte("a line\n")}}}
	again, err := in.start(t.Context(), r, func(e *command.CommandSessionEvent) {
		if e.GetStart() == nil {
			return
		}
		for range 2 { // the second is known already
			if _, err := unary[command.SendInputRequest, command.SendInputResponse](in, "SendInput", input); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || again.pid != seen.pid || again.out != "got a line\n" || again.code != 4 {
		t.Errorf("attached by the same Start: %+v, %v", again, err)
	}
	if end, err := in.attach(t.Context(), firstUUID, nil); err != nil || end.pid != seen.pid || end.out != "" || !end.ended || end.code != 4 {
		t.Errorf("the end that is kept: %+v, %v", end, err)
	}
	if n := len(c.Starts()); n != 1 {
		t.Errorf("%d commands were started", n)
	}
	c.Advance(2 * time.Minute)
	_, err = in.attach(t.Context(), firstUUID, nil)
	wants(t, connect.CodeNotFound, err)
	_, err = in.start(t.Context(), r, nil)
	wants(t, connect.CodeNotFound, err)
	_, err = in.attach(t.Context(), secondUUID, nil)
	wants(t, connect.CodeNotFound, err)
}

func TestSignals(t *testing.T) {
	t.Parallel()
	in := setup(t, primesim.Options{}).running(nil)
	signal := func(selector *command.CommandSessionSelector, s command.Signal) error {
		_, err := unary[command.SendSignalRequest, command.SendSignalResponse](in, "SendSignal", &command.SendSignalRequest{Session: selector, Signal: s})
		return err
	}
	r, err := in.start(t.Context(), sessionOf(firstUUID, `trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep .01; done`), func(e *command.CommandSessionEvent) {
		if strings.HasPrefix(string(e.GetData().GetStdout()), "ready") {
			if err := signal(session(firstUUID), command.Signal_SIGNAL_SIGTERM); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || r.out != "ready\ncaught\n" || r.code != 9 {
		t.Errorf("after SIGTERM: %+v, %v", r, err)
	}
	r, err = in.start(t.Context(), shell(`exec sleep 60`), func(e *command.CommandSessionEvent) {
		if pid := e.GetStart().GetPid(); pid != 0 {
			byPID := &command.CommandSessionSelector{Selector: &command.CommandSessionSelector_Pid{Pid: pid}}
			if err := signal(byPID, command.Signal_SIGNAL_SIGKILL); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || r.code != -1 || r.status != "signal: killed" {
		t.Errorf("after SIGKILL: %+v, %v", r, err)
	}
	wants(t, connect.CodeNotFound, signal(session(firstUUID), command.Signal_SIGNAL_SIGKILL))
	if _, err := in.start(t.Context(), sessionOf(secondUUID, `true`), func(e *command.CommandSessionEvent) {
		if e.GetStart() != nil {
			wants(t, connect.CodeInvalidArgument, signal(session(secondUUID), command.Signal_SIGNAL_UNSPECIFIED))
		}
	}); err != nil {
		t.Error(err)
	}
}

// TestCommandsOutliveTheirCall: neither a deadline nor a client that leaves ends a command.
func TestCommandsOutliveTheirCall(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{})
	in := c.running(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	_, err := in.start(ctx, shell(`for i in $(seq 500); do test -e /tmp/go && break; sleep .01; done; echo x >/tmp/done`), nil)
	wants(t, connect.CodeDeadlineExceeded, err)
	in.run("touch /tmp/go")
	c.until(func() bool { status, _ := in.get("read-file", "/tmp/done"); return status == 200 })
}

func TestCommandsThatCannotStart(t *testing.T) {
	t.Parallel()
	in := setup(t, primesim.Options{}).running(nil)
	for name, change := range map[string]func(*command.StartRequest){
		"program":   func(r *command.StartRequest) { r.Command.Cmd = "/bin/none" },
		"directory": func(r *command.StartRequest) { r.Command.Cwd = proto.String("/none") },
		"user":      func(r *command.StartRequest) { r.Command.User = proto.String("nobody-here") },
		"command":   func(r *command.StartRequest) { r.Command = nil },
	} {
		r := shell("true")
		change(r)
		if _, err := in.start(t.Context(), r, nil); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("without a %s: %v", name, err)
		}
	}
}

// TestMuchOutput comes through whole and in order, also past a slow reader.
func TestMuchOutput(t *testing.T) {
	t.Parallel()
	in := setup(t, primesim.Options{}).running(nil)
	n := 0
	r, err := in.start(t.Context(), shell("seq 300000"), func(*command.CommandSessionEvent) {
		if n++; n == 2 {
			<-time.After(50 * time.Millisecond)
		}
	})
	if err != nil || !r.ended || strings.Count(r.out, "\n") != 300000 || !strings.HasSuffix(r.out, "\n299999\n300000\n") {
		t.Errorf("%d bytes, %+v, %v", len(r.out), r.ended, err)
	}
}
