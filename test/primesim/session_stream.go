package primesim

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/prime/command"
)

// show sends the events of a session until it ends, the client leaves or the
// sandbox is gone.
func (s *Server) show(ctx context.Context, c *session, v *viewer, send func(*command.CommandSessionEvent) error) error {
	defer c.leave(v)
	b := s.box(ctx)
	out := s.faulty(ctx, b, send)
	select {
	case <-c.ready:
	case <-ctx.Done():
		return lost(ctx)
	}
	if c.err != nil {
		select {
		case <-b.gone:
			panic(http.ErrAbortHandler)
		default:
			return c.err
		}
	}
	first := &command.CommandSessionEvent{Event: &command.CommandSessionEvent_Start{Start: &command.CommandSessionEvent_StartEvent{Pid: c.pid}}}
	if err := out(first, false); err != nil {
		return err
	}
	alive := time.NewTicker(s.o.KeepAlive)
	defer alive.Stop()
	for {
		var err error
		select {
		case e := <-v.events:
			err = out(e, false)
		case <-c.done:
			select {
			case <-b.gone:
				panic(http.ErrAbortHandler)
			default:
				return out(c.end, true)
			}
		case <-b.gone:
			panic(http.ErrAbortHandler)
		case <-alive.C:
			err = out(&command.CommandSessionEvent{Event: &command.CommandSessionEvent_Keepalive{Keepalive: &command.CommandSessionEvent_KeepAlive{}}}, false)
		case <-ctx.Done():
			return lost(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// lost is the end of a stream whose time is over, or whose client left.
func lost(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return refused(connect.CodeDeadlineExceeded, "the call's time is over")
	}
	return refused(connect.CodeCanceled, "the client left")
}

// faulty lets a stream go wrong as the call's fault says.
func (s *Server) faulty(ctx context.Context, b *box, send func(*command.CommandSessionEvent) error) func(e *command.CommandSessionEvent, last bool) error {
	in, frames := fault(ctx), 0
	if in == nil {
		return func(e *command.CommandSessionEvent, _ bool) error { return send(e) }
	}
	f := in.fault
	return func(e *command.CommandSessionEvent, last bool) error {
		if f.Kind == FaultCutEnd && last || f.Kind == FaultCut && f.Frames == 0 || f.Kind == FaultLost {
			panic(http.ErrAbortHandler)
		}
		if f.Kind == FaultStall && frames >= f.Frames {
			select {
			case <-in.ended:
			case <-b.gone:
			case <-ctx.Done():
				return lost(ctx)
			}
		}
		if err := send(e); err != nil {
			return err
		}
		if frames++; frames < f.Frames || f.Kind != FaultCut && f.Kind != FaultKill {
			return nil
		}
		if f.Kind == FaultKill {
			s.Kill(b.id, f.Reason)
		}
		panic(http.ErrAbortHandler)
	}
}
