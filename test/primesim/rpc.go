package primesim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/sandbox/prime/command"
	"github.com/yudai-dev/yudai/test/machine"
)

// commandHandlers are the methods of the command transport.
func (s *Server) commandHandlers() map[string]http.Handler {
	plain := connect.WithCompression("gzip", nil, nil) // output is sent as it is
	name := func(method string) string { return "/" + commandService + method }
	return map[string]http.Handler{
		"Start": connect.NewServerStreamHandler(name("Start"), func(ctx context.Context, r *connect.Request[command.StartRequest], out *connect.ServerStream[command.StartResponse]) error {
			return s.rpcStart(ctx, r.Msg, func(e *command.CommandSessionEvent) error { return out.Send(&command.StartResponse{Event: e}) })
		}, plain),
		"Connect": connect.NewServerStreamHandler(name("Connect"), func(ctx context.Context, r *connect.Request[command.ConnectRequest], out *connect.ServerStream[command.ConnectResponse]) error {
			c, err := s.selected(ctx, r.Msg.GetSession())
			if err != nil {
				return err
			}
			return s.show(ctx, c, c.view(), func(e *command.CommandSessionEvent) error { return out.Send(&command.ConnectResponse{Event: e}) })
		}, plain),
		"List":       connect.NewUnaryHandler(name("List"), s.rpcList, plain),
		"SendInput":  connect.NewUnaryHandler(name("SendInput"), s.rpcInput, plain),
		"SendSignal": connect.NewUnaryHandler(name("SendSignal"), s.rpcSignal, plain),
	}
}

var canonicalUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func refused(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

// rpcStart starts a command and shows it; with a session_uuid that is known it
// attaches instead.
func (s *Server) rpcStart(ctx context.Context, r *command.StartRequest, send func(*command.CommandSessionEvent) error) error {
	b := s.box(ctx)
	id := r.GetSessionUuid()
	switch {
	case r.GetCommand().GetCmd() == "":
		return refused(connect.CodeInvalidArgument, "command is required")
	case r.Pty != nil:
		return refused(connect.CodeUnimplemented, "terminals are not offered by the stub")
	case r.SessionUuid != nil && !canonicalUUID.MatchString(id):
		return refused(connect.CodeInvalidArgument, "session_uuid is not a canonical UUID")
	}
	s.mu.Lock()
	m := b.machine
	if m == nil {
		s.mu.Unlock()
		return refused(connect.CodeNotFound, "sandbox not found")
	}
	if c := b.sessions[id]; c != nil && id != "" {
		forgotten := c.over() && s.now().After(c.until)
		s.mu.Unlock()
		switch {
		case !proto.Equal(c.spec, r):
			return refused(connect.CodeFailedPrecondition, "session_uuid belongs to another command")
		case forgotten:
			return refused(connect.CodeNotFound, "session expired")
		}
		return s.show(ctx, c, c.view(), send)
	}
	c := &session{uuid: id, spec: r, ready: make(chan struct{}), done: make(chan struct{}), viewers: map[*viewer]bool{}, controls: map[string]bool{}}
	if id == "" {
		id = newID()
	}
	b.sessions[id] = c
	b.starts++
	s.starts = append(s.starts, b.began(r))
	s.mu.Unlock()
	v := c.view()
	s.work.Go(func() { s.start(b, m, c) })
	return s.show(ctx, c, v, send)
}

// began is the note of a command.
func (b *box) began(r *command.StartRequest) Start {
	e := &b.egress
	st := Start{
		Sandbox: b.id, Name: b.req.Name, Program: append([]string{r.GetCommand().GetCmd()}, r.GetCommand().GetArgs()...),
		Env: r.GetCommand().GetEnvs(), Applied: e.applied == e.generation,
	}
	if e.inForce.allow != nil {
		st.Allow = append([]string{}, *e.inForce.allow...)
	}
	if e.inForce.deny != nil {
		st.Deny = append([]string{}, *e.inForce.deny...)
	}
	return st
}

// startable says why a command cannot be started, nil if it can.
func startable(m *machine.Machine, spec *command.CommandSpec) error {
	if u := spec.GetUser(); spec.User != nil && u != machine.Root && u != machine.User {
		return refused(connect.CodeInvalidArgument, "user %q does not exist", u)
	}
	for _, check := range []struct {
		name  string
		flags int
	}{{spec.GetCwd(), syscall.O_DIRECTORY}, {spec.GetCmd(), 0}} {
		if !strings.HasPrefix(check.name, "/") {
			continue
		}
		f, err := m.OpenFile(check.name, check.flags, 0)
		if err != nil {
			return refused(connect.CodeInvalidArgument, "start %s: %w", check.name, err)
		}
		f.Close()
	}
	return nil
}

// selected finds the session that a request means.
func (s *Server) selected(ctx context.Context, which *command.CommandSessionSelector) (*session, error) {
	s.mu.Lock()
	var found *session
	for _, c := range s.box(ctx).sessions {
		select {
		case <-c.ready:
		default:
			if c.uuid == "" || c.uuid != which.GetSessionUuid() {
				continue
			}
		}
		byPID := which.GetPid() != 0 && c.pid == which.GetPid() && !c.over()
		if byPID || which.GetSessionUuid() != "" && c.uuid == which.GetSessionUuid() {
			found = c
		}
	}
	expired := found != nil && found.over() && s.now().After(found.until)
	s.mu.Unlock()
	if found == nil || expired {
		return nil, refused(connect.CodeNotFound, "session not found")
	}
	select {
	case <-found.ready:
		return found, nil
	case <-ctx.Done():
		return nil, lost(ctx)
	}
}

// rpcList lists the commands that run.
func (s *Server) rpcList(ctx context.Context, _ *connect.Request[command.ListRequest]) (*connect.Response[command.ListResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &command.ListResponse{}
	for _, c := range s.box(ctx).sessions {
		select {
		case <-c.ready:
		default:
			continue
		}
		if c.over() {
			continue
		}
		info := &command.CommandSessionInfo{Command: c.spec.GetCommand(), Pid: c.pid}
		if c.uuid != "" {
			info.SessionUuid = proto.String(c.uuid)
		}
		answer.Sessions = append(answer.Sessions, info)
	}
	return connect.NewResponse(answer), nil
}

// rpcInput writes to the input of a command; the same input_uuid writes once.
func (s *Server) rpcInput(ctx context.Context, r *connect.Request[command.SendInputRequest]) (*connect.Response[command.SendInputResponse], error) {
	c, err := s.selected(ctx, r.Msg.GetSession())
	if err != nil {
		return nil, err
	}
	if c.stdin == nil {
		return nil, refused(connect.CodeFailedPrecondition, "the command has no input")
	}
	if !c.first("input " + r.Msg.GetInputUuid()) {
		return connect.NewResponse(&command.SendInputResponse{}), nil
	}
	if _, err := c.stdin.Write(r.Msg.GetInput().GetStdin()); err != nil {
		return nil, refused(connect.CodeNotFound, "the command has ended")
	}
	return connect.NewResponse(&command.SendInputResponse{}), nil
}

// first reports whether a control with this key was not done before; one without a key never was.
func (c *session) first(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.HasSuffix(key, " ") {
		return true
	}
	done := c.controls[key]
	c.controls[key] = true
	return !done
}

// rpcSignal signals a command itself, not what it started.
func (s *Server) rpcSignal(ctx context.Context, r *connect.Request[command.SendSignalRequest]) (*connect.Response[command.SendSignalResponse], error) {
	c, err := s.selected(ctx, r.Msg.GetSession())
	if err != nil {
		return nil, err
	}
	signal := map[command.Signal]syscall.Signal{command.Signal_SIGNAL_SIGTERM: syscall.SIGTERM, command.Signal_SIGNAL_SIGKILL: syscall.SIGKILL}[r.Msg.GetSignal()]
	if signal == 0 {
		return nil, refused(connect.CodeInvalidArgument, "signal is not known")
	}
	if !c.first("signal " + r.Msg.GetSignalUuid()) {
		return connect.NewResponse(&command.SendSignalResponse{}), nil
	}
	c.mu.Lock()
	err = os.ErrProcessDone
	if c.proc != nil {
		err = c.proc.Signal(signal)
	}
	c.mu.Unlock()
	if errors.Is(err, os.ErrProcessDone) {
		return nil, refused(connect.CodeNotFound, "the command has ended")
	}
	return connect.NewResponse(&command.SendSignalResponse{}), err
}
