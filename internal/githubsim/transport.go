package githubsim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Transport is an http.RoundTripper that calls the hub in process: no sockets,
// so it works inside a testing/synctest bubble. The host of a request is not
// looked at. Git needs a listener.
func (h *Hub) Transport() http.RoundTripper { return direct{h} }

type direct struct{ hub *Hub }

// RoundTrip answers req. A cut connection is an error, as it is over a socket.
func (d direct) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	in := req.Clone(req.Context())
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	defer func() {
		if p := recover(); p != nil {
			if cause, ok := p.(error); !ok || !errors.Is(cause, http.ErrAbortHandler) {
				panic(p)
			}
			resp, err = nil, fmt.Errorf("emulator cut the connection: %w", io.ErrUnexpectedEOF)
			if cause := req.Context().Err(); cause != nil {
				err = cause
			}
		}
	}()
	out := &holder{header: http.Header{}}
	d.hub.ServeHTTP(out, in)
	return out.response(req), nil
}

// holder is a ResponseWriter that keeps the answer instead of sending it.
type holder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (o *holder) Header() http.Header { return o.header }

func (o *holder) WriteHeader(status int) {
	if o.status == 0 {
		o.status = status
	}
}

func (o *holder) Write(p []byte) (int, error) {
	o.WriteHeader(http.StatusOK)
	return o.body.Write(p)
}

func (o *holder) response(req *http.Request) *http.Response {
	o.WriteHeader(http.StatusOK)
	return &http.Response{
		Status:        http.StatusText(o.status),
		StatusCode:    o.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        o.header,
		Body:          io.NopCloser(bytes.NewReader(o.body.Bytes())),
		ContentLength: int64(o.body.Len()),
		Request:       req,
	}
}
