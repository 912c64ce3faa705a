package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/guest"
)

// ErrStalled ends a stream or a transfer that has not moved for too long.
var ErrStalled = errors.New("nothing came for too long")

// Watchdog ends a context when it was not reset for so long.
type Watchdog struct {
	timer *time.Timer
	limit time.Duration
	off   atomic.Bool
}

// Watch returns a context that ends when nothing moves, or with ctx. It has no
// deadline: clients would send it, and some services kill a process by it.
func Watch(ctx context.Context, limit time.Duration) (context.Context, *Watchdog, context.CancelFunc) {
	watched, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	w := &Watchdog{limit: limit, timer: time.AfterFunc(limit, func() { cancel(ErrStalled) })}
	return watched, w, func() {
		w.off.Store(true)
		w.timer.Stop()
		stop()
		cancel(nil)
	}
}

// Reset says that something came.
func (w *Watchdog) Reset() {
	if !w.off.Load() {
		w.timer.Reset(w.limit)
	}
}

// Pause waits for nothing until the next Reset.
func (w *Watchdog) Pause() { w.timer.Stop() }

// Body is an answer's body under a watchdog, which is awake only while somebody reads.
func (w *Watchdog) Body(body io.ReadCloser) io.ReadCloser { return watchedBody{body, w} }

type watchedBody struct {
	io.ReadCloser
	dog *Watchdog
}

// Read implements io.Reader.
func (b watchedBody) Read(p []byte) (int, error) {
	b.dog.Reset()
	n, err := b.ReadCloser.Read(p)
	b.dog.Pause()
	return n, err
}

// Download is an open file: Explain tells why it broke.
type Download struct {
	Body    io.ReadCloser
	Stop    context.CancelFunc
	Explain func(error) error
}

// Read implements io.Reader.
func (d *Download) Read(p []byte) (int, error) {
	n, err := d.Body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("download: %w", d.Explain(err))
	}
	return n, err
}

// Close ends the download.
func (d *Download) Close() error {
	err := d.Body.Close()
	d.Stop()
	return err
}

// Doer sends the requests of a generated client. Answers that are no success it
// returns as errors, with what Connect would drop of them.
type Doer func(*http.Request) (*http.Response, error)

// Do implements connect.HTTPClient.
func (d Doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

// ClientOptions of all generated clients: nothing is compressed, and what a message
// claims to hold is bounded.
func ClientOptions() connect.ClientOption {
	return connect.WithClientOptions(connect.WithAcceptCompression("gzip", nil, nil), connect.WithReadMaxBytes(16<<20))
}

// Drain reads a stream to its end. What is not the word of the other side is
// guest.ErrCut: only a stream that was ended by it has ended.
func Drain[Event any](s *connect.ServerStreamForClient[Event], err error, event func(*Event)) error {
	if err != nil {
		return CallError(err)
	}
	defer s.Close() //nolint:errcheck // what matters is how the stream ended
	for s.Receive() {
		event(s.Msg())
	}
	return CallError(s.Err())
}

// CallError is the error of a generated client as a [Refusal] where somebody refused,
// and guest.ErrCut where the request may have been carried out.
func CallError(err error) error {
	var r *Refusal
	var c *connect.Error
	switch {
	case err == nil || errors.As(err, &r) || Unsent(err):
		return err
	case errors.As(err, &c) && connect.IsWireError(err):
		return &Refusal{Origin: Stream, Status: http.StatusOK, Code: c.Code().String(), Message: c.Message()}
	}
	return fmt.Errorf("%w: %w", guest.ErrCut, err)
}

// Stream is the origin of what the other side of a stream refuses.
const Stream = "stream"
