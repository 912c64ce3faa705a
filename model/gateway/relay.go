package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// relay passes a stream on, event by event as they come.
type relay struct {
	*call
	res   *http.Response
	usage bool // the client asked for the usage of a chat stream
	conn  *http.ResponseController
}

// run passes the stream on until its end.
func (s *relay) run(ctx context.Context) {
	s.conn = http.NewResponseController(s.w)
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
	split := newSplitter(s.res.Body)
	for {
		e, err := split.next()
		if err != nil && (!errors.Is(err, io.EOF) || len(e.raw) == 0) {
			return err
		}
		if problem := s.one(ctx, e); problem != nil {
			return problem
		}
		if !split.more() {
			_ = s.conn.Flush()
		}
	}
}

// one passes one event on. The last one waits until the call is settled, so that the
// client's next call finds it booked.
func (s *relay) one(ctx context.Context, e frame) error {
	ended := s.meter.ended
	if !ended && !s.meter.event(e.data) {
		return s.up.Fail(agent.StatusBadResponse, "the stream holds something that is no JSON; check base_url and provider")
	}
	if s.meter.ended && !ended {
		if err := s.book(ctx, s.res.StatusCode, s.failure()); err != nil {
			return errNotOpen
		}
	}
	if s.meter.usageOnly && !s.usage { // it is only there because the gateway wants it
		s.meter.usageOnly = false
		return nil
	}
	return s.give(ctx, e.raw)
}

// failure is the error that the stream told, nil if it told none.
func (s *relay) failure() error {
	if s.meter.failure == "" {
		return nil
	}
	return s.up.Fail(agent.StatusInternal, "the model failed in the middle of its answer: %s", s.up.Clean(s.meter.failure))
}

// give writes to the client, and waits for it no longer than for the provider.
func (s *relay) give(ctx context.Context, data []byte) error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.g.cfg.IdleTimeout)) // not every listener has deadlines
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !s.written {
		s.written = true
		answered(s.w.Header(), s.res.Header)
		s.w.Header().Set("Cache-Control", "no-cache")
		s.w.Header().Set("X-Accel-Buffering", "no") // a proxy in front must not gather events
		s.w.WriteHeader(s.res.StatusCode)
	}
	s.reply.add(data)
	if _, err := s.w.Write(data); err != nil {
		return errClient
	}
	return nil
}

// end ends the stream, whose reading or writing ended with err.
func (s *relay) end(ctx context.Context, err error) {
	switch {
	case s.meter.ended && !s.open && !errors.Is(err, errNotOpen): // all that counts was said
		return
	case errors.Is(err, io.EOF) && s.meter.complete():
		if s.book(ctx, s.res.StatusCode, nil) == nil {
			return
		}
		err = errNotOpen
	case errors.Is(err, io.EOF):
		err = s.up.Fail(agent.StatusConnection, "the provider's answer broke off")
	case errors.Is(err, errFrame):
		err = s.up.Fail(agent.StatusBadResponse, "the stream holds an event that never ends; check base_url and provider")
	}
	s.broken(ctx, err)
	_ = s.conn.Flush()
}
