package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// ErrInFlight says that a call was given up while the provider worked on it.
var ErrInFlight = errors.New("given up while the provider worked")

// errIdle is the cause with which an answer ends that went silent.
var errIdle = errors.New("answer went silent")

// answer is the body of a good answer whose first byte is there.
type answer struct {
	up     *Upstream
	body   io.ReadCloser
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	quiet  atomic.Bool // it went silent for too long
	first  []byte
}

func newAnswer(u *Upstream, res *http.Response, cancel context.CancelCauseFunc, first byte, idle time.Duration) *answer {
	a := &answer{up: u, body: res.Body, cancel: cancel, idle: idle, first: []byte{first}}
	if idle > 0 {
		a.timer = time.AfterFunc(idle, func() {
			a.quiet.Store(true)
			cancel(errIdle)
		})
		a.timer.Stop()
	}
	return a
}

// Read reads what has come. Its errors are of type [*Error], but for io.EOF.
func (a *answer) Read(p []byte) (int, error) {
	if len(a.first) > 0 && len(p) > 0 {
		n := copy(p, a.first)
		a.first = a.first[n:]
		return n, nil
	}
	if a.timer != nil {
		a.timer.Reset(a.idle)
	}
	n, err := a.body.Read(p)
	if a.timer != nil {
		a.timer.Stop()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, a.broken(err)
	}
	return n, err
}

func (a *answer) broken(err error) *Error {
	switch {
	case a.quiet.Load():
		return a.up.client.fail(agent.StatusTimeout, false, "the provider went silent for %s in the middle of its answer", a.idle)
	case tooLong(err):
		return a.up.client.fail(agent.StatusBadResponse, false, "the answer never ends; check base_url and provider")
	}
	return a.up.client.fail(agent.StatusConnection, false, "the provider's answer broke off")
}

// Close ends the call: what the provider has not said yet it need not say.
func (a *answer) Close() error {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.cancel(nil)
	return a.body.Close()
}
