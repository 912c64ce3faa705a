package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/meter"
	"github.com/yudai-dev/yudai/solve"
)

// errClient says that the client does not take its answer.
var errClient = errors.New("answer not taken")

// statusGone is what logs and records say of a client that went away.
const statusGone = 499

// call is one call of a run's agent.
type call struct {
	g       *Gateway
	session *session
	api     string
	count   bool
	w       http.ResponseWriter
	r       *http.Request

	begun   time.Time
	up      *model.Upstream
	meter   meter.Meter
	request record
	reply   record
	open    bool // leave was given, and it is not settled yet
	written bool // the answer has begun
}

// serve answers the call.
func (c *call) serve() {
	c.begun = time.Now()
	ctx, cancel := context.WithCancelCause(c.r.Context())
	defer cancel(nil)
	done, err := c.session.begin(cancel)
	if err != nil {
		c.refuse(err)
		return
	}
	defer done()
	if c.g.cfg.Record && !c.count {
		c.request.most, c.reply.most = c.g.cfg.RecordKiB<<10, c.g.cfg.RecordKiB<<10
	}
	held := c.size()
	if err := c.session.room.Acquire(ctx, held); err != nil {
		c.refuse(context.Cause(ctx))
		return
	}
	defer c.session.room.Release(held)
	f, err := c.prepare()
	switch {
	case err != nil:
		c.refuse(err)
		return
	case c.count:
		c.countTokens(ctx, f)
		return
	}
	c.request.add(f.body)
	if err := c.session.allowance.Begin(ctx, c.meter.Bound()); err != nil {
		c.refuse(errors.Join(err, context.Cause(ctx)))
		return
	}
	c.open = true
	defer func() {
		if c.open { // a fault of ours: what may have been used is booked
			_ = c.book(ctx, http.StatusInternalServerError, errors.New("the gateway failed"))
		}
	}()
	c.forward(ctx, f)
}

// prepare reads the request and makes it one of the experiment.
func (c *call) prepare() (*rewritten, error) {
	body, no := c.read()
	if no != nil {
		return nil, no
	}
	up, err := c.g.models.Upstream(c.session.x.Model, c.session.x)
	if err != nil {
		return nil, model.NotReady(err)
	}
	c.up = up
	if offers := up.APIs(); !slices.Contains(offers, c.api) {
		return nil, rejectAs(http.StatusNotFound, "model", "The model "+c.session.x.Model+" is not called by "+c.api+" here, but by "+
			strings.Join(offers, ", ")+"; where its server offers more, set apis of the model in models.models.")
	}
	terms := up.Terms(c.api)
	f, no := rewrite(body, c.api, c.count, terms)
	if no != nil {
		return nil, no
	}
	if terms.MaxTokens == 0 { // the agent's word is no bound
		f.reply = min(f.reply, meter.LongestReply)
	}
	c.meter.Call = meter.Call{API: c.api, Price: up.Price(), Bytes: int64(len(f.body)), Reply: f.reply}
	return &f, nil
}

// size is how many bytes the request may have: without a length, or with one that is too
// much, as many as are read.
func (c *call) size() int64 {
	most := c.g.cfg.requestBytes()
	if n := c.r.ContentLength; n >= 0 && n < most {
		return n
	}
	return most
}

// read reads the body, and no more than may be. What is too much is read away, so that
// the client comes to hear why.
func (c *call) read() ([]byte, *clientError) {
	const patience = 2 * time.Minute
	conn := http.NewResponseController(c.w)
	_ = conn.SetReadDeadline(time.Now().Add(patience)) // not every listener has deadlines
	defer func() {
		_ = conn.SetReadDeadline(time.Time{})  // or the server would take the end of patience for the client's leaving
		_ = conn.SetWriteDeadline(time.Time{}) // how long an answer takes is limited otherwise
	}()
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, rejectAs(http.StatusUnsupportedMediaType, "", "yudai's gateway reads no compressed requests; send it as plain JSON")
	}
	most := c.g.cfg.requestBytes()
	if c.r.ContentLength <= most {
		const usual = 1 << 20 // what a client merely announces costs no more memory than this
		body := bytes.NewBuffer(make([]byte, 0, min(max(c.r.ContentLength, 0), usual)+2*bytes.MinRead))
		_, err := body.ReadFrom(io.LimitReader(c.r.Body, most+1))
		switch {
		case err != nil:
			return nil, reject("", "its body broke off")
		case int64(body.Len()) <= most:
			return body.Bytes(), nil
		}
	}
	if c.r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, c.r.Body, 4*most)
	}
	return nil, rejectAs(http.StatusRequestEntityTooLarge, "", fmt.Sprintf(
		"yudai's gateway does not pass this request on: it has more than %d MiB (gateway.max_request_mib)", most>>20))
}

// refuse answers a call that is not made: because of what it says (a *clientError), because
// its model cannot be called (a *model.Error), or because there is no leave for it.
func (c *call) refuse(err error) {
	outcome, answer, lastErr := Denied, callDenied(err), err
	no, rejected := errors.AsType[*clientError](err)
	e, unready := errors.AsType[*model.Error](err)
	switch {
	case rejected:
		outcome, answer, lastErr = Refused, *no, model.NotPassed(c.session.x.Model, no.status, no.Message)
	case unready:
		outcome, answer = Failed, modelNotReady(e)
	case c.r.Context().Err() != nil:
		c.log(Gone, nil)
		return
	case !errors.Is(err, agent.ErrBudget) && !errors.Is(err, agent.ErrLimit):
		lastErr = nil
	}
	if lastErr != nil {
		c.session.setLastError(lastErr)
	}
	c.report(outcome, solve.Usage{}, false)
	c.log(outcome, lastErr)
	answer.write(c.w, c.api)
}

// forward makes the call and gives its answer to the client.
func (c *call) forward(ctx context.Context, f *rewritten) {
	ask := model.Request{API: c.api, Header: passed(c.r.Header), Body: f.body, Idle: c.g.cfg.IdleTimeout, Lost: c.meter.Lose}
	if anthropicStyle(c.api) {
		ask.Query = c.r.URL.RawQuery
	}
	f.body = nil // a stream may last long
	res, err := c.up.Send(ctx, ask)
	ask.Body = nil
	if err != nil {
		if !errors.Is(err, model.ErrInFlight) { // no attempt came to anything
			c.meter.Failure = "failed"
		}
		c.broken(ctx, err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch packed := res.Header.Get("Content-Encoding"); {
	case packed != "" && packed != "identity": // the model's work, which cannot be read
		c.meter.Begun = true
		c.broken(ctx, c.badAnswer("the answer is compressed (%s), and nobody asked for that", short(packed)))
	case kind == "text/event-stream" && f.stream:
		(&relay{call: c, res: res, usage: f.usage}).run(ctx)
	case kind == "application/json":
		c.whole(ctx, res)
	default: // a page of something that is no model: nothing was used
		c.meter.Failure = "wrong content type"
		c.broken(ctx, c.badAnswer("the answer is not what the API documents (%s)", short(kind)))
	}
}

// badAnswer is the error of an answer that no model gives.
func (c *call) badAnswer(format string, args ...any) *model.Error {
	return c.up.Fail(agent.StatusBadResponse, format+"; check base_url and provider", args...)
}

// whole passes on an answer that is no stream.
func (c *call) whole(ctx context.Context, res *http.Response) {
	data, err := io.ReadAll(res.Body)
	c.meter.Came(len(data))
	if err != nil {
		c.broken(ctx, err)
		return
	}
	if !c.meter.Whole(data) {
		if json.Valid(data) { // something that is no model: nothing was used
			c.meter.Begun, c.meter.Failure = false, "no answer"
		}
		c.broken(ctx, c.badAnswer("the answer is not what the API documents"))
		return
	}
	if c.meter.TooLong() {
		c.broken(ctx, c.badAnswer(meter.TextTooLong))
		return
	}
	c.reply.add(data)
	var failure error
	if c.meter.Failure != "" {
		failure = c.up.Fail(agent.StatusInternal, "the model failed: %s", c.up.Clean(c.meter.Failure))
	}
	if err := c.book(ctx, res.StatusCode, failure); err != nil {
		callDenied(errNotOpen).write(c.w, c.api)
		return
	}
	c.answer(ctx, res, data)
}

// answer gives the client an answer that is no stream, and waits for it no longer than
// for the provider.
func (c *call) answer(ctx context.Context, res *http.Response, data []byte) {
	conn := http.NewResponseController(c.w)
	_ = conn.SetWriteDeadline(time.Now().Add(c.g.cfg.IdleTimeout)) // not every listener has deadlines
	defer unblock(ctx, conn)()
	answered(c.w.Header(), res.Header)
	c.w.WriteHeader(res.StatusCode)
	_, _ = c.w.Write(data)
}
