package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/meter"
)

// relay passes the stream of a call on, event by event as they come.
type relay struct {
	call  *call
	res   *http.Response
	usage bool // the client asked for the usage of a chat stream
	after int  // bytes after the stream's end
	conn  *http.ResponseController
}

// mostAfter is how many bytes a stream may have after its end.
const mostAfter = 1 << 20

// run passes the stream on until its end.
func (s *relay) run(ctx context.Context) {
	s.conn = http.NewResponseController(s.call.w)
	stop := unblock(ctx, s.conn)
	defer stop()
	err := s.pass(ctx)
	stop() // a last word has its own time
	s.end(ctx, err)
}

// unblock lets nobody wait for a client that does not read once the context has ended,
// until the func is called. That may be done twice.
func unblock(ctx context.Context, conn *http.ResponseController) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetWriteDeadline(time.Now())
		close(done)
	})
	return sync.OnceFunc(func() {
		if !stop() {
			<-done
		}
	})
}

// pass passes events on until there are no more, and returns why.
func (s *relay) pass(ctx context.Context) error {
	events := newSplitter(s.res.Body, func() {
		if s.call.written {
			_ = s.conn.Flush()
		}
	})
	for {
		event, err := events.next()
		if err == nil {
			err = s.one(ctx, event)
		}
		if err != nil {
			return err
		}
	}
}

// one passes one event on. The last one waits until the call is settled, so that the
// client's next call finds it booked.
func (s *relay) one(ctx context.Context, event []byte) error {
	c := s.call
	ended := c.meter.Ended
	if !ended && !c.meter.Event(dataOf(event)) {
		return c.badAnswer("the stream holds something that is no JSON")
	}
	if c.meter.TooLong() {
		return c.badAnswer(meter.TextTooLong)
	}
	if c.meter.Ended && !ended {
		if err := c.book(ctx, s.res.StatusCode, s.failure()); err != nil {
			return errNotOpen
		}
	}
	if ended {
		if s.after += len(event); s.after > mostAfter {
			return io.EOF
		}
	}
	if c.meter.UsageOnly && !s.usage { // it is only there because the gateway wants it
		c.meter.UsageOnly = false
		return nil
	}
	return s.give(ctx, event)
}

// failure is the error that the stream told, nil if it told none.
func (s *relay) failure() error {
	if s.call.meter.Failure == "" {
		return nil
	}
	return s.call.up.Fail(agent.StatusInternal, "the model failed in the middle of its answer: %s", s.call.up.Clean(s.call.meter.Failure))
}

// give writes to the client, and waits for it no longer than for the provider.
func (s *relay) give(ctx context.Context, data []byte) error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.call.g.cfg.IdleTimeout)) // not every listener has deadlines
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !s.call.written {
		s.call.written = true
		answered(s.call.w.Header(), s.res.Header)
		s.call.w.Header().Set("Cache-Control", "no-cache")
		s.call.w.Header().Set("X-Accel-Buffering", "no") // a proxy in front must not gather events
		s.call.w.WriteHeader(s.res.StatusCode)
	}
	s.call.reply.add(data)
	if _, err := s.call.w.Write(data); err != nil {
		return errClient
	}
	return nil
}

// end ends the stream, whose reading or writing ended with err.
func (s *relay) end(ctx context.Context, err error) {
	switch {
	case s.call.meter.Ended && !s.call.open && !errors.Is(err, errNotOpen): // all that counts was said
		return
	case errors.Is(err, io.EOF) && s.call.meter.Complete():
		if s.call.book(ctx, s.res.StatusCode, nil) == nil {
			return
		}
		err = errNotOpen
	case errors.Is(err, io.EOF):
		err = s.call.up.Fail(agent.StatusConnection, "the provider's answer broke off")
	case errors.Is(err, bufio.ErrTooLong):
		err = s.call.badAnswer("the stream holds an event that never ends")
	}
	s.call.broken(ctx, err)
	_ = s.conn.Flush()
}
