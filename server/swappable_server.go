package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// front is the listener with its web server. What it serves can be exchanged
// while it serves: the set-up hands over to the bot that way.
type front struct {
	listener net.Listener
	web      *http.Server
	handler  atomic.Pointer[http.Handler]
	once     sync.Once
	ended    chan struct{}
	err      error // set before ended is closed
}

// listen opens the address; nothing is answered before serve.
func listen(ctx context.Context, address string) (*front, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on server.address: %w", err)
	}
	f := &front{listener: l, ended: make(chan struct{})}
	f.web = newWebServer(f)
	return f, nil
}

// newWebServer is a web server with limits of time.
func newWebServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
}

// ServeHTTP answers with the present handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*f.handler.Load()).ServeHTTP(w, r)
}

// swap sets what new requests are answered with.
func (f *front) swap(h http.Handler) { f.handler.Store(&h) }

// serve serves until shutdown. Who calls it later waits for the same end.
func (f *front) serve() error {
	f.once.Do(func() {
		f.err = f.web.Serve(f.listener)
		close(f.ended)
	})
	<-f.ended
	if errors.Is(f.err, http.ErrServerClosed) {
		return nil
	}
	return f.err
}

// shutdown ends it, letting open requests end until ctx does.
func (f *front) shutdown(ctx context.Context) error { return f.web.Shutdown(ctx) }

// close ends a front that nobody served, or that failed. It may be called twice.
func (f *front) close() {
	_ = f.listener.Close() // mostly the web server did it already
}
