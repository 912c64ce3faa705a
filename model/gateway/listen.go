package gateway

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/unixsock"
)

// listening is a web server on one listener.
type listening struct {
	web  *http.Server
	addr net.Addr
	done chan struct{}
}

func listen(l net.Listener, h http.Handler) *listening {
	s := &listening{
		web: &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			ReadTimeout: time.Minute, WriteTimeout: time.Minute, // of all but calls, which set their own
		},
		addr: l.Addr(), done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		_ = s.web.Serve(l) // it ends when it is closed
	}()
	return s
}

// close lets answers that are being given end, for a moment, and waits.
func (s *listening) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.web.Shutdown(ctx)
	_ = s.web.Close()
	<-s.done
}

// listenLocal listens for agents on this machine, once, and returns a run's address. The
// lock must be held.
func (g *Gateway) listenLocal(run string) (string, error) {
	if g.local == nil {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", g.cfg.Address)
		if err != nil {
			return "", fmt.Errorf("listen on gateway.address: %w", err)
		}
		g.local = listen(l, g.handler(agent.AccessLoopback, splitRun))
	}
	return "http://" + g.local.addr.String() + "/" + run, nil
}

// listenSocket makes a run's socket, where nobody listens yet. The lock must be held.
func (g *Gateway) listenSocket(run string) error {
	if g.sockets[run] != nil {
		return nil
	}
	dir, err := g.Socket(run)
	if err != nil {
		return err
	}
	l, err := unixsock.Listen(dir)
	if err != nil {
		return err
	}
	g.sockets[run] = listen(l, g.handler(agent.AccessSocket, func(path string) (string, string) { return run, path }))
	return nil
}

// splitRun is the run that a path begins with, and the rest of it.
func splitRun(path string) (run, rest string) {
	run, rest, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return run, "/" + rest
}

// ServeHTTP is the public side: paths /gateway/{run}/v1/...
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.handler(agent.AccessPublic, func(path string) (string, string) { return splitRun(strings.TrimPrefix(path, PublicPath)) }).ServeHTTP(w, r)
}
