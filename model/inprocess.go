package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// inProcess is a transport to a handler in this process: its answer is read while it is
// written.
type inProcess struct{ handler http.Handler }

// errGone ends the writing of an answer that nobody reads any more.
var errGone = errors.New("nobody reads the answer")

// RoundTrip runs the handler until its answer has been read or given up.
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	r, w := io.Pipe()
	out := &piped{header: http.Header{}, body: w, begun: make(chan struct{})}
	in := req.Clone(ctx)
	in.RequestURI = req.URL.RequestURI()
	go func() {
		defer func() {
			out.WriteHeader(http.StatusOK)
			_ = w.CloseWithError(endOf(recover()))
			_ = req.Body.Close()
		}()
		t.handler.ServeHTTP(out, in)
	}()
	stop := context.AfterFunc(ctx, func() { _ = w.CloseWithError(context.Cause(ctx)) })
	select {
	case <-out.begun:
	case <-ctx.Done():
		cancel()
		return nil, context.Cause(ctx)
	}
	return &http.Response{
		StatusCode: out.status, Status: http.StatusText(out.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: out.sent, ContentLength: -1, Request: req,
		Body: &pipedBody{PipeReader: r, end: func() { stop(); cancel() }},
	}, nil
}

// endOf is how the reader sees the end of a handler: one that panicked broke off.
func endOf(panicked any) error {
	if panicked != nil {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// piped is the writer of a handler's answer.
type piped struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	begun  chan struct{}
	status int         // set before begun is closed
	sent   http.Header // likewise
}

// Header implements [http.ResponseWriter].
func (p *piped) Header() http.Header { return p.header }

// WriteHeader implements [http.ResponseWriter].
func (p *piped) WriteHeader(status int) {
	p.once.Do(func() {
		p.status, p.sent = status, p.header.Clone()
		close(p.begun)
	})
}

// Write implements [http.ResponseWriter]. It returns when the bytes have been read.
func (p *piped) Write(data []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.body.Write(data)
}

// Flush implements [http.Flusher]: nothing waits.
func (p *piped) Flush() { p.WriteHeader(http.StatusOK) }

type pipedBody struct {
	*io.PipeReader
	end func()
}

// Close ends the handler.
func (b *pipedBody) Close() error {
	b.end()
	return b.CloseWithError(errGone)
}
