package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/meter"
)

// countTokens answers how many tokens a message has: the provider's count where it
// offers one, else an estimate. It costs nothing and is no step of the run.
func (c *call) countTokens(ctx context.Context, f *rewritten) {
	if !c.session.mayCount(time.Now()) {
		too := gatewayError(http.StatusTooManyRequests, "", "This run has its tokens counted too often; estimate them, or wait.")
		too.after, too.again = 10*time.Second, true
		too.write(c.w, c.api)
		return
	}
	if !c.up.CountsTokens() {
		c.w.Header().Set("Content-Type", "application/json")
		_, _ = c.w.Write(encoded(map[string]int64{"input_tokens": meter.Estimate(len(f.body))}))
		return
	}
	res, err := c.up.Send(ctx, model.Request{
		API: c.api, Count: true, Query: c.r.URL.RawQuery, Header: passed(c.r.Header), Body: f.body, Idle: c.g.cfg.IdleTimeout,
	})
	var data []byte
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		data, err = io.ReadAll(res.Body)
	}
	if err != nil {
		c.uncounted(ctx, err)
		return
	}
	c.answer(ctx, res, data)
}

func (c *call) uncounted(ctx context.Context, err error) {
	f, failure := c.explain(ctx, err)
	if me, ok := errors.AsType[*model.Error](failure); ok {
		c.session.setLastError(me)
	}
	c.log(Failed, failure)
	if f.status != statusGone {
		f.write(c.w, c.api)
	}
}
