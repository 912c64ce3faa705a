package command_test

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/sandbox/prime/command"
)

// TestVectors holds the generated code to frames that the official client and a
// server of its protocol exchanged: the bytes, both ways.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, frame string
		message     proto.Message
	}{
		{"start", "000000001c0a180a092f62696e2f6261736812022d6312076563686f2068692000", start(&command.CommandSpec{})},
		{"start with directory and environment", "00000000280a240a092f62696e2f6261736812022d6312076563686f2068691a060a014112016222022f772000",
			start(&command.CommandSpec{Cwd: proto.String("/w"), Envs: map[string]string{"A": "b"}})},
		{"started", "00000000060a040a02082a", event(&command.CommandSessionEvent{Event: &command.CommandSessionEvent_Start{
			Start: &command.CommandSessionEvent_StartEvent{Pid: 42}}})},
		{"stdout", "00000000090a0712050a0368690a", data(&command.CommandSessionEvent_DataEvent{
			Output: &command.CommandSessionEvent_DataEvent_Stdout{Stdout: []byte("hi\n")}})},
		{"stderr", "00000000080a0612041202780a", data(&command.CommandSessionEvent_DataEvent{
			Output: &command.CommandSessionEvent_DataEvent_Stderr{Stderr: []byte("x\n")}})},
		{"exit 0", "00000000150a131a1110011a0d65786974207374617475732030", end(&command.CommandSessionEvent_EndEvent{
			Exited: true, Status: "exit status 0"})},
		{"exit 3", "00000000170a151a13080610011a0d65786974207374617475732033", end(&command.CommandSessionEvent_EndEvent{
			ExitCode: 3, Exited: true, Status: "exit status 3"})},
		{"exit -1", "00000000060a041a020801", end(&command.CommandSessionEvent_EndEvent{ExitCode: -1})},
		{"keepalive", "00000000040a022200", event(&command.CommandSessionEvent{Event: &command.CommandSessionEvent_Keepalive{
			Keepalive: &command.CommandSessionEvent_KeepAlive{}}})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw, err := hex.DecodeString(c.frame)
			if err != nil || len(raw) < 5 || int(binary.BigEndian.Uint32(raw[1:5])) != len(raw)-5 {
				t.Fatalf("no frame: %x, %v", raw, err)
			}
			payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.message)
			if err != nil || hex.EncodeToString(payload) != hex.EncodeToString(raw[5:]) {
				t.Errorf("encoded %x, %v\nwant    %x", payload, err, raw[5:])
			}
			got := c.message.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(raw[5:], got); err != nil || !proto.Equal(got, c.message) {
				t.Errorf("decoded %v, %v\nwant    %v", got, err, c.message)
			}
		})
	}
}

func start(spec *command.CommandSpec) *command.StartRequest {
	spec.Cmd, spec.Args = "/bin/bash", []string{"-c", "echo hi"}
	return &command.StartRequest{Command: spec, Stdin: proto.Bool(false)}
}

func event(e *command.CommandSessionEvent) *command.StartResponse {
	return &command.StartResponse{Event: e}
}

func data(d *command.CommandSessionEvent_DataEvent) *command.StartResponse {
	return event(&command.CommandSessionEvent{Event: &command.CommandSessionEvent_Data{Data: d}})
}

func end(e *command.CommandSessionEvent_EndEvent) *command.StartResponse {
	return event(&command.CommandSessionEvent{Event: &command.CommandSessionEvent_End{End: e}})
}
