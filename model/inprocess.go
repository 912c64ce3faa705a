package model

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// inProcess is a transport to a handler in this process. The answer is complete when it comes.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	in, out := req.Clone(req.Context()), &recorder{header: http.Header{}, status: http.StatusOK}
	in.RequestURI = req.URL.RequestURI()
	t.handler.ServeHTTP(out, in)
	_ = req.Body.Close()
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: out.status, Status: http.StatusText(out.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: out.header, ContentLength: int64(out.body.Len()), Body: io.NopCloser(&out.body), Request: req,
	}, nil
}

// recorder keeps what a handler answers.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements [http.ResponseWriter].
func (r *recorder) Write(data []byte) (int, error) { return r.body.Write(data) }
