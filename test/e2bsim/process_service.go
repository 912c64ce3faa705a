package e2bsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
	"github.com/yudai-dev/yudai/test/machine"
)

// processService answers what concerns processes.
type processService struct{ d *daemon }

var _ envd.ProcessHandler = (*processService)(nil)

// Start starts a process and streams its output. A deadline kills the process;
// the client's going away does not.
func (s *processService) Start(ctx context.Context, r *connect.Request[envd.StartRequest], out *connect.ServerStream[envd.StartResponse]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	every, err := s.d.keepalive(r.Header())
	if err != nil {
		return err
	}
	p, closers, pumps, err := s.d.start(r.Msg, s.d.basicUser(r.Header()))
	if err != nil {
		return err
	}
	sub, leave := p.subscribe()
	defer leave()
	if end, ok := ctx.Deadline(); ok {
		// A moment later, so that the stream ends for the deadline and not for the kill.
		p.limit = time.AfterFunc(time.Until(end)+10*time.Millisecond, func() { _ = p.signal(syscall.SIGKILL) })
	}
	s.d.run(p, closers, pumps)
	return s.d.follow(ctx, p, sub, every, func(e *envd.ProcessEvent) error { return out.Send(&envd.StartResponse{Event: e}) })
}

// Connect streams the output of a running process from now on, or only its end.
func (s *processService) Connect(ctx context.Context, r *connect.Request[envd.ConnectRequest], out *connect.ServerStream[envd.ConnectResponse]) error {
	every, err := s.d.keepalive(r.Header())
	if err != nil {
		return err
	}
	p, err := s.d.find(r.Msg.GetProcess(), true)
	if err != nil {
		return err
	}
	sub, leave := p.subscribe()
	defer leave()
	return s.d.follow(ctx, p, sub, every, func(e *envd.ProcessEvent) error { return out.Send(&envd.ConnectResponse{Event: e}) })
}

// keepalive reads how often a silent stream says that it lives.
func (d *daemon) keepalive(h http.Header) (time.Duration, error) {
	text := h.Get("Keepalive-Ping-Interval")
	if text == "" {
		return 90 * time.Second, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 90 * time.Second, nil //nolint:nilerr // the daemon takes what it cannot read for nothing
	}
	if n < 1 {
		d.crash(fmt.Sprintf("Keepalive-Ping-Interval is %d, which crashes the daemon", n))
		return 0, connect.NewError(connect.CodeUnavailable, errors.New("the daemon crashed"))
	}
	return time.Duration(n) * time.Second, nil
}

// follow streams the events of a process to one client.
func (d *daemon) follow(ctx context.Context, p *process, sub *subscriber, every time.Duration, to func(*envd.ProcessEvent) error) error {
	st := d.open(ctx)
	defer d.leave(st)
	send := d.acting(ctx, sub, to)
	if err := send(&envd.ProcessEvent{Event: &envd.ProcessEvent_Start{Start: &envd.ProcessEvent_StartEvent{Pid: uint32(p.pid)}}}); err != nil {
		return err
	}
	alive := time.NewTicker(every)
	defer alive.Stop()
	for drained := false; !drained; {
		select {
		case e := <-sub.events:
			if err := send(e); err != nil {
				return err
			}
			alive.Reset(every)
		case <-alive.C:
			if err := send(&envd.ProcessEvent{Event: &envd.ProcessEvent_Keepalive{Keepalive: &envd.ProcessEvent_KeepAlive{}}}); err != nil {
				return err
			}
		case <-p.drained:
			drained = true
		case <-ctx.Done():
			return ctx.Err()
		case <-st.dead:
			panic(http.ErrAbortHandler)
		case <-st.mute:
			mute(ctx, sub)
		}
	}
	if err := d.last(ctx, p, sub, st); err != nil {
		return err
	}
	return send(&envd.ProcessEvent{Event: &envd.ProcessEvent_End{End: p.ended}})
}

// last waits for the end of a process whose output has ended. Nothing is said
// meanwhile, no keepalives either.
func (d *daemon) last(ctx context.Context, p *process, sub *subscriber, st *stream) error {
	ended := p.done
	for {
		select {
		case <-ended:
			if d.life.Err() == nil {
				return ctx.Err()
			}
			ended = nil // with the sandbox, which tells nobody
		case <-ctx.Done():
			return ctx.Err()
		case <-st.dead:
			panic(http.ErrAbortHandler)
		case <-st.mute:
			mute(ctx, sub)
		}
	}
}

// mute keeps a stream open without a word until the client goes away, and lets
// the process go on meanwhile.
func mute(ctx context.Context, sub *subscriber) {
	for {
		select {
		case <-sub.events:
		case <-ctx.Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// acting acts out the fault of a stream, if there is one.
func (d *daemon) acting(ctx context.Context, sub *subscriber, to func(*envd.ProcessEvent) error) func(*envd.ProcessEvent) error {
	f := faultOf(ctx)
	if f == nil {
		return to
	}
	left := f.Frames
	return func(e *envd.ProcessEvent) error {
		if left > 0 || f.Kind != FaultCut && f.Kind != FaultStall && f.Kind != FaultKill {
			left--
			return to(e)
		}
		switch f.Kind {
		case FaultStall:
			mute(ctx, sub)
		case FaultKill:
			d.die()
		}
		panic(http.ErrAbortHandler)
	}
}

// List returns the running processes.
func (s *processService) List(context.Context, *connect.Request[envd.ListRequest]) (*connect.Response[envd.ListResponse], error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	r := &envd.ListResponse{}
	for _, p := range s.d.processes {
		if p.alive() {
			r.Processes = append(r.Processes, &envd.ProcessInfo{Config: p.config, Pid: uint32(p.pid), Tag: p.tag})
		}
	}
	slices.SortFunc(r.Processes, func(a, b *envd.ProcessInfo) int { return cmp.Compare(a.GetPid(), b.GetPid()) })
	return connect.NewResponse(r), nil
}

// Update resizes a terminal.
func (s *processService) Update(_ context.Context, r *connect.Request[envd.UpdateRequest]) (*connect.Response[envd.UpdateResponse], error) {
	p, err := s.d.find(r.Msg.GetProcess(), false)
	if err != nil {
		return nil, err
	}
	if size := r.Msg.GetPty().GetSize(); size != nil {
		if p.terminal == nil {
			return nil, connect.NewError(connect.CodeInternal, errors.New("tty not assigned to process"))
		}
		if err := machine.Resize(p.terminal, uint16(size.GetCols()), uint16(size.GetRows())); err != nil {
			return nil, connect.NewError(connect.CodeInternal, err)
		}
	}
	return connect.NewResponse(&envd.UpdateResponse{}), nil
}

// feed writes to a process's input.
func (p *process) feed(in *envd.ProcessInput) error {
	var err error
	switch data := in.GetInput().(type) {
	case *envd.ProcessInput_Stdin:
		if p.input == nil {
			err = errors.New("stdin not enabled or closed")
		} else {
			err = p.input.write(data.Stdin)
		}
	case *envd.ProcessInput_Pty:
		if p.terminal == nil {
			err = errors.New("pty not assigned to process")
		} else {
			_, err = p.terminal.Write(data.Pty)
		}
	default:
		return connect.NewError(connect.CodeUnimplemented, errors.New("invalid input"))
	}
	if err != nil {
		return connect.NewError(connect.CodeInternal, fmt.Errorf("error writing to process: %w", err))
	}
	return nil
}

// SendInput writes to a process's input.
func (s *processService) SendInput(_ context.Context, r *connect.Request[envd.SendInputRequest]) (*connect.Response[envd.SendInputResponse], error) {
	p, err := s.d.find(r.Msg.GetProcess(), false)
	if err == nil {
		err = p.feed(r.Msg.GetInput())
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&envd.SendInputResponse{}), nil
}

// StreamInput writes to a process's input what comes on the stream.
func (s *processService) StreamInput(_ context.Context, in *connect.ClientStream[envd.StreamInputRequest]) (*connect.Response[envd.StreamInputResponse], error) {
	var p *process
	for in.Receive() {
		var err error
		switch e := in.Msg().GetEvent().(type) {
		case *envd.StreamInputRequest_Start:
			p, err = s.d.find(e.Start.GetProcess(), false)
		case *envd.StreamInputRequest_Data:
			if p == nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("data before start"))
			}
			err = p.feed(e.Data.GetInput())
		}
		if err != nil {
			return nil, err
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return connect.NewResponse(&envd.StreamInputResponse{}), nil
}

// SendSignal signals the leader of a process.
func (s *processService) SendSignal(_ context.Context, r *connect.Request[envd.SendSignalRequest]) (*connect.Response[envd.SendSignalResponse], error) {
	p, err := s.d.find(r.Msg.GetProcess(), false)
	if err != nil {
		return nil, err
	}
	switch sig := r.Msg.GetSignal(); sig {
	case envd.Signal_SIGNAL_SIGKILL:
		err = p.signal(syscall.SIGKILL)
	case envd.Signal_SIGNAL_SIGTERM:
		err = p.signal(syscall.SIGTERM)
	default:
		err = connect.NewError(connect.CodeUnimplemented, fmt.Errorf("invalid signal: %s", sig))
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&envd.SendSignalResponse{}), nil
}

// CloseStdin ends a process's input.
func (s *processService) CloseStdin(_ context.Context, r *connect.Request[envd.CloseStdinRequest]) (*connect.Response[envd.CloseStdinResponse], error) {
	if older(s.d.version, "0.5.2") {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("unknown method"))
	}
	p, err := s.d.find(r.Msg.GetProcess(), false)
	if err != nil {
		return nil, err
	}
	if p.input == nil {
		return nil, connect.NewError(connect.CodeInternal, errors.New("stdin not enabled or closed"))
	}
	p.input.close()
	return connect.NewResponse(&envd.CloseStdinResponse{}), nil
}
