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

	"github.com/yudai-dev/yudai/sandbox"
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

// watchedBody is an answer's body under a watchdog, which is awake only while somebody reads.
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

// Open opens a file by a request whose answer must keep coming while somebody reads.
// explain tells why it broke.
func Open(ctx context.Context, idle time.Duration, get func(context.Context) (*http.Response, error), explain func(error) error) (io.ReadCloser, error) {
	within, dog, stop := Watch(ctx, idle)
	res, err := get(within) //nolint:bodyclose // download.Close closes it
	if err != nil {
		stop()
		return nil, err
	}
	dog.Pause()
	return &download{ReadCloser: watchedBody{res.Body, dog}, ctx: within, stop: stop, explain: explain}, nil
}

// download is an open file.
type download struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the request that this is the body of
	stop    context.CancelFunc
	explain func(error) error
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if cause := context.Cause(d.ctx); cause != nil {
		err = cause
	}
	return n, fmt.Errorf("download: %w", transferError(d.explain(err)))
}

// Close ends the download.
func (d *download) Close() error {
	err := d.ReadCloser.Close()
	d.stop()
	return err
}

// transferError is the error of a transfer, which is no view that could be had again.
func transferError(err error) error {
	if errors.Is(err, guest.ErrCut) {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
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

// Follow makes a call that answers with a stream, through client, and reads it to its
// end. event tells which event is the last one: only that and the stream's end
// together are an end. guest.ErrCut where it is lost, or silent for too long.
func Follow[Event any](ctx context.Context, silence time.Duration, client Doer,
	call func(context.Context, Doer) (*connect.ServerStreamForClient[Event], error), event func(*Event) (last bool),
) error {
	ctx, dog, stop := Watch(ctx, silence)
	defer stop()
	ended := false
	s, err := call(ctx, func(req *http.Request) (*http.Response, error) {
		res, err := client(req)
		if err == nil {
			res.Body = watchedBody{res.Body, dog}
		}
		return res, err
	})
	if err == nil {
		defer s.Close() //nolint:errcheck // what matters is how the stream ended
		for s.Receive() {
			ended = event(s.Msg()) || ended
		}
		err = s.Err()
	}
	cause := context.Cause(ctx)
	switch {
	case err == nil && ended:
		return nil
	case err == nil:
		return fmt.Errorf("%w: the stream ended before the command", guest.ErrCut)
	case errors.Is(cause, ErrStalled):
		return fmt.Errorf("%w: %w", guest.ErrCut, cause)
	case cause != nil:
		return cause
	}
	return CallError(err)
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
