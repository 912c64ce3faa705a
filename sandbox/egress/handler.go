package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
)

// handler answers proxy requests (RFC 9110, sections 7 and 9.3.6).
func (p *Proxy) handler() http.Handler {
	plain := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.URL.Host },
		Transport: &http.Transport{
			DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return p.connect(ctx, address) },
			DisableKeepAlives: true,
		},
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, err) },
		FlushInterval: -1,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			p.tunnel(w, r)
		case r.URL.Scheme == "http" && r.URL.Host != "":
			plain.ServeHTTP(w, r)
		default:
			http.Error(w, "yudai: this is a proxy", http.StatusBadRequest)
		}
	})
}

// fail answers an error.
func fail(w http.ResponseWriter, err error) {
	var no refusal
	if errors.As(err, &no) {
		http.Error(w, no.text, http.StatusForbidden)
		return
	}
	http.Error(w, "yudai: "+err.Error(), http.StatusBadGateway)
}

// tunnel serves CONNECT.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	out, err := p.connect(r.Context(), r.Host)
	if err != nil {
		fail(w, err)
		return
	}
	defer func() { _ = out.Close() }()
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		fail(w, errors.New("connection cannot be taken over"))
		return
	}
	in, buffered, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer func() { _ = in.Close() }()
	if !p.track(in, out) {
		return
	}
	defer p.untrack(in, out)
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pipe(out, buffered.Reader) })
	both.Go(func() { pipe(in, out) })
	both.Wait()
}

// pipe copies until the end and passes the end on.
func pipe(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	if w, ok := to.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
		return
	}
	_ = to.Close()
}

// track remembers connections that the HTTP server no longer knows.
func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	for _, c := range conns {
		p.tunnels[c] = struct{}{}
	}
	return true
}

func (p *Proxy) untrack(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.tunnels, c)
	}
}
