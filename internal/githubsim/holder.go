package githubsim

import (
	"bytes"
	"io"
	"net/http"
)

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
