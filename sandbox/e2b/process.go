package e2b

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
)

// run starts a process and follows its stream to the end. No deadline travels with
// it: the daemon would kill the process by it. That there is no input is always said:
// without it the process has a pipe that nobody closes. When the context ends, the
// stream does, and the process goes on.
func (d *daemon) run(ctx context.Context, r *envd.StartRequest, user string, out func(stderr bool, data []byte)) (code int, err error) {
	if r.Stdin == nil {
		r.Stdin = proto.Bool(false)
	}
	var pid uint32
	start := func(ctx context.Context, c cloud.Doer) (*connect.ServerStreamForClient[envd.StartResponse], error) {
		return d.client(c).Start(ctx, connect.NewRequest(r))
	}
	err = cloud.Follow(ctx, d.provider.timing.silence, d.doer(user), start, func(r *envd.StartResponse) (last bool) {
		switch e := r.GetEvent().GetEvent().(type) {
		case *envd.ProcessEvent_Start:
			pid = e.Start.GetPid()
			d.unseen.Store(pid, true)
		case *envd.ProcessEvent_Data:
			out(false, e.Data.GetStdout())
			out(false, e.Data.GetPty())
			out(true, e.Data.GetStderr())
		case *envd.ProcessEvent_End:
			d.unseen.Delete(pid)
			code, last = exitCode(e.End), true
		}
		return last
	})
	return code, err
}

// exitCode is how a process ended as a shell reports it.
func exitCode(e *envd.ProcessEvent_EndEvent) int {
	if e.GetExited() {
		return int(e.GetExitCode())
	}
	name, killed := strings.CutPrefix(e.GetStatus(), "signal: ")
	if !killed {
		return max(int(e.GetExitCode()), 1)
	}
	name, _, _ = strings.Cut(name, " (core dumped)")
	const signals = 64
	for n := 1; n <= signals; n++ {
		if syscall.Signal(n).String() == name {
			return 128 + n
		}
	}
	return 128
}

// endOldViews ends the processes whose stream broke before their end was seen: views
// that nobody looks at. One that is captured with its stream comes back in every
// copy, and may silence others there.
func (d *daemon) endOldViews(ctx context.Context) (err error) {
	d.unseen.Range(func(pid, _ any) bool {
		err = errors.Join(err, d.kill(ctx, pid.(uint32)))
		return true
	})
	return err
}

// kill ends a process by its pid, and not its children. One that is gone is no error.
func (d *daemon) kill(ctx context.Context, pid uint32) error {
	p := &envd.ProcessSelector{Selector: &envd.ProcessSelector_Pid{Pid: pid}}
	r := connect.NewRequest(&envd.SendSignalRequest{Process: p, Signal: envd.Signal_SIGNAL_SIGKILL})
	_, err := d.client(d.doer("")).SendSignal(ctx, r)
	if cloud.HasStatus(err, http.StatusNotFound) {
		return nil
	}
	return cloud.CallError(err)
}

// outputCodec is the JSON of the protocol. It reads output as the daemon writes it
// ten times as fast as a reader of any JSON.
type outputCodec struct{}

// Name is that of the content type.
func (outputCodec) Name() string { return "json" }

// Marshal writes a message.
func (outputCodec) Marshal(m any) ([]byte, error) { return protojson.Marshal(m.(proto.Message)) }

// Unmarshal reads a message; fields that we do not know are left out.
func (outputCodec) Unmarshal(data []byte, m any) error {
	if r, ok := m.(*envd.StartResponse); ok && plainOutput(data, r) {
		return nil
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m.(proto.Message))
}

// plainOutput reads output, if it is written as the daemon writes it to the letter:
// JSON has many ways to write the same.
func plainOutput(data []byte, r *envd.StartResponse) bool {
	text, ok := bytes.CutPrefix(data, []byte(`{"event":{"data":{"std`))
	if !ok {
		return false
	}
	inner, stdout := bytes.CutPrefix(text, []byte(`out":"`))
	if !stdout {
		if inner, ok = bytes.CutPrefix(text, []byte(`err":"`)); !ok {
			return false
		}
	}
	inner, ok = bytes.CutSuffix(inner, []byte(`"}}}`))
	piece, err := base64.StdEncoding.AppendDecode(nil, inner)
	if !ok || err != nil {
		return false
	}
	output := &envd.ProcessEvent_DataEvent{Output: &envd.ProcessEvent_DataEvent_Stderr{Stderr: piece}}
	if stdout {
		output.Output = &envd.ProcessEvent_DataEvent_Stdout{Stdout: piece}
	}
	r.Event = &envd.ProcessEvent{Event: &envd.ProcessEvent_Data{Data: output}}
	return true
}
