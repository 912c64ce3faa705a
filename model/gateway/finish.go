package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// broken ends a call of which nothing, or not all, could be given to the client.
func (c *call) broken(ctx context.Context, err error) {
	f, failure := c.explain(ctx, err)
	if _, ok := errors.AsType[*model.Error](failure); ok && !c.meter.Begun { // nothing came of it
		c.meter.Failure = "failed"
	}
	if c.book(ctx, f.status, failure) != nil {
		f = callDenied(errNotOpen)
	}
	if f.status == statusGone {
		return
	}
	const lastWord = 5 * time.Second
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(lastWord))
	if c.written {
		_, _ = c.w.Write(f.event(c.api, c.meter.Events))
		return
	}
	f.again = f.again || c.meter.Begun
	f.write(c.w, c.api)
}

// explain is what a client is told of the end of its call, and what is kept of it.
func (c *call) explain(ctx context.Context, err error) (clientError, error) {
	if e, ok := errors.AsType[*model.Error](err); ok && ctx.Err() == nil {
		return clientErrorOf(e), e
	}
	if c.r.Context().Err() != nil || errors.Is(err, errClient) {
		return clientError{status: statusGone}, errors.New("the agent gave the call up")
	}
	if cause := context.Cause(ctx); cause != nil {
		return callDenied(cause), errors.New("the run ended or moved in the middle of the call")
	}
	e := c.badAnswer("the answer is not what the API documents")
	return clientErrorOf(e), e
}

// book counts the call, once.
func (c *call) book(ctx context.Context, status int, failure error) error {
	if !c.open {
		return nil
	}
	c.open = false
	bill := c.meter.Bill()
	me, failed := errors.AsType[*model.Error](failure)
	switch {
	case failed:
		c.session.setLastError(me)
	case failure == nil:
		c.session.setLastError(nil)
	}
	outcome := OK
	switch {
	case failed && c.meter.Begun:
		outcome = Cut
	case failed:
		outcome = Failed
	case failure != nil:
		outcome = Gone
	}
	err := c.session.book(ctx, agent.Call{
		At: c.begun, Duration: time.Since(c.begun), API: c.api, Worst: c.meter.Bound(),
		Usage: bill.Usage, Estimated: bill.Marked, Status: status, Err: failure,
		Request: c.request.text(c.g.token(c.session.run), c.up), Response: c.reply.text(c.g.token(c.session.run), c.up),
	})
	if err != nil {
		c.g.log.Warn().Err(err).Str(logkey.Run, c.session.run).Msg("call of a run could not be stored")
	}
	c.report(outcome, bill.Usage, bill.Marked)
	if bill.Unbooked > 0 {
		c.g.log.Warn().Str(logkey.Run, c.session.run).Stringer(logkey.Cost, bill.Unbooked).
			Msg("call cost more than its bound; the rest is not booked")
	}
	c.log(outcome, failure)
	return err
}

func (c *call) report(outcome string, u solve.Usage, estimated bool) {
	if !c.count {
		c.g.counter(Count{Model: c.session.x.Model, API: c.api, Outcome: outcome, Estimated: estimated, Usage: u})
	}
}

// log writes the one line of the call.
func (c *call) log(outcome string, err error) {
	line := c.g.log.Debug()
	if err != nil {
		line = c.g.log.Info()
	}
	line.Str(logkey.Run, c.session.run).Str(logkey.Event, c.api).Str(logkey.State, outcome).
		Dur(logkey.Duration, time.Since(c.begun)).Err(err).Msg("model called through the gateway")
}
