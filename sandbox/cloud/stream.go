package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/guest"
)

// ErrStalled ends a stream or a transfer that has not moved for too long.
var ErrStalled = errors.New("nothing came for too long")

// watchdog ends a context when nothing moves for so long.
type watchdog struct {
	timer *time.Timer
	limit time.Duration
}

// watch returns a context that ends when nothing moves, or with ctx. It has no
// deadline: clients would send it, and some services kill a process by it.
func watch(ctx context.Context, limit time.Duration) (context.Context, watchdog, context.CancelFunc) {
	watched, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	dog := watchdog{limit: limit, timer: time.AfterFunc(limit, func() { cancel(ErrStalled) })}
	return watched, dog, func() {
		dog.timer.Stop()
		stop()
		cancel(nil)
	}
}

// watchedBody is an answer's body under a watchdog, which is awake only while somebody reads.
type watchedBody struct {
	body io.ReadCloser
	dog  watchdog
}

// Read implements io.Reader.
func (b watchedBody) Read(p []byte) (int, error) {
	b.dog.timer.Reset(b.dog.limit)
	defer b.dog.timer.Stop()
	return b.body.Read(p)
}

// Close implements io.Closer.
func (b watchedBody) Close() error { return b.body.Close() }

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
	ctx, dog, stop := watch(ctx, silence)
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
