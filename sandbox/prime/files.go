package prime

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
)

// partSize is how much of a file goes in one upload; the gateway takes 16 MiB.
const partSize = 4 << 20

// Upload writes a file. A large one goes in parts, which are joined inside.
func (m *machine) Upload(ctx context.Context, to string, r io.Reader) error {
	var buf bytes.Buffer
	more, err := fill(&buf, r)
	if err != nil {
		return err
	}
	if !more {
		if err := m.put(ctx, to, buf.Bytes()); err != nil {
			return err
		}
		return m.settle(ctx, settleScript, to)
	}
	prefix, n := to+"."+strings.ToLower(rand.Text())+".", 0
	for {
		if err = m.put(ctx, fmt.Sprint(prefix, n), buf.Bytes()); err != nil {
			break
		}
		n++
		if !more {
			return m.settle(ctx, joinScript, to, prefix, fmt.Sprint(n-1))
		}
		buf.Reset()
		if more, err = fill(&buf, r); err != nil {
			break
		}
		if buf.Len() == 0 {
			return m.settle(ctx, joinScript, to, prefix, fmt.Sprint(n-1))
		}
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.control.pace.echo)
	defer cancel()
	_, _ = m.Run(clean, script(`rm -f -- "$1"*`, prefix), func(bool, []byte) {}) // what is left goes with the sandbox
	return err
}

// fill reads the next part, and reports whether there may be more.
func fill(buf *bytes.Buffer, r io.Reader) (more bool, err error) {
	switch _, err := io.CopyN(buf, r, partSize); {
	case err == nil:
		return true, nil
	case errors.Is(err, io.EOF):
		return false, nil
	default:
		return false, fmt.Errorf("read what to upload: %w", err)
	}
}

// What is done to an uploaded file, in bash. Both may run twice, and at once.
const (
	// settleScript gives $1 to the owner of its directory.
	settleScript = `chown --reference="${1%/*}" -- "$1"`
	// joinScript makes $1 of the parts $2 0 to $3. Where the first part is gone, somebody was faster.
	joinScript = `t=$2$$
for ((i = 0; i <= $3; i++)); do
  cat -- "$2$i" || { e=$?; [ -e "${2}0" ] || e=0; rm -f -- "$t"; exit $e; }
done >"$t"
chown --reference="${1%/*}" -- "$t" && mv -fT -- "$t" "$1" || exit 1
for ((i = 0; i <= $3; i++)); do rm -f -- "$2$i"; done`
)

func script(text string, args ...string) inside.Process {
	return inside.Process{Argv: append([]string{"/bin/bash", "-c", text, "yudai"}, args...), Root: true}
}

// settle runs one of the scripts. Where root's file is what is wanted, there is nothing to settle.
func (m *machine) settle(ctx context.Context, text string, args ...string) error {
	if m.user == "" && text == settleScript {
		return nil
	}
	var said strings.Builder
	for try := 1; ; try++ {
		said.Reset()
		code, err := m.Run(ctx, script(text, args...), func(_ bool, data []byte) {
			if said.Len() < 1000 {
				said.Write(data)
			}
		})
		switch {
		case errors.Is(err, errCut) && try < 4 && ctx.Err() == nil:
			continue
		case err != nil:
			return err
		case code != 0 && strings.Contains(said.String(), "No space left"):
			return fmt.Errorf("%w: no room is left in the sandbox (%slimits.disk_gb)", sandbox.ErrDisk, section)
		case code != 0:
			return fmt.Errorf("finish upload: exit %d: %s", code, plain(said.String()))
		}
		return nil
	}
}

// put uploads one part. It may be repeated: the same bytes come to the same place.
func (m *machine) put(ctx context.Context, to string, data []byte) error {
	head, tail, kind, err := form()
	if err != nil {
		return err
	}
	length := int64(len(head) + len(data) + len(tail))
	t := trip{
		method: http.MethodPost, path: "/upload", query: m.query(to), client: m.gateway.client,
		header: http.Header{"Content-Type": {kind}},
		body: func() (io.Reader, int64) {
			return io.MultiReader(bytes.NewReader(head), bytes.NewReader(data), bytes.NewReader(tail)), length
		},
	}
	err = m.gateway.persist(ctx, m.id, func() error {
		within, cancel := context.WithTimeout(ctx, 5*m.control.pace.transfer)
		defer cancel()
		res, err := m.gateway.send(within, m.id, t)
		if err != nil {
			return expired(ctx, err)
		}
		var answer struct {
			Success *bool  `json:"success"`
			Size    *int64 `json:"size"`
			Message string `json:"message"`
		}
		if err := readAnswer(within, res, &answer); err != nil {
			return expired(ctx, err)
		}
		if answer.Success != nil && !*answer.Success {
			return &refusal{from: fromFiles, status: http.StatusInternalServerError, detail: answer.Message}
		}
		if answer.Size != nil && *answer.Size != int64(len(data)) {
			return &lost{fmt.Errorf("%d bytes of %d arrived", *answer.Size, len(data))}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("upload: %w", m.fileError(ctx, err))
	}
	return nil
}

// expired makes a lost answer of a time that was up while the caller's context lives.
func expired(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return &lost{err}
	}
	return err
}

// form is what stands around the bytes of a multipart upload. The name says nothing: the path is in the query.
func form() (head, tail []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	h := textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="file"`},
		"Content-Type":        {"application/octet-stream"},
	}
	if _, err := w.CreatePart(h); err != nil {
		return nil, nil, "", fmt.Errorf("make upload: %w", err)
	}
	head = bytes.Clone(b.Bytes())
	b.Reset()
	if err := w.Close(); err != nil {
		return nil, nil, "", fmt.Errorf("make upload: %w", err)
	}
	return head, b.Bytes(), w.FormDataContentType(), nil
}

func (m *machine) query(path string) url.Values {
	return url.Values{"path": {path}, "sandbox_id": {m.id}}
}

// fileError is translate for files: a cut is no view that could be had again.
func (m *machine) fileError(ctx context.Context, err error) error {
	err = m.translate(ctx, err)
	if errors.Is(err, errCut) {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return err
}

// Download opens a file.
func (m *machine) Download(ctx context.Context, from string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	stall := m.control.pace.transfer
	dog := time.AfterFunc(stall, func() { cancel(errStalled) })
	t := trip{method: http.MethodGet, path: "/download", query: m.query(from), client: m.gateway.client}
	var res *http.Response
	err := m.gateway.persist(ctx, m.id, func() (err error) {
		dog.Reset(stall)
		res, err = m.gateway.send(ctx, m.id, t) //nolint:bodyclose // download.Close closes it
		return err
	})
	if err == nil {
		dog.Reset(stall)
		return &download{ctx: ctx, body: res.Body, dog: dog, stall: stall, cancel: cancel}, nil
	}
	dog.Stop()
	defer cancel(nil)
	var r *refusal
	if errors.As(err, &r) && r.from == fromFiles && r.status == http.StatusNotFound {
		return nil, fmt.Errorf("download: %w", fs.ErrNotExist)
	}
	if errors.Is(context.Cause(ctx), errStalled) {
		return nil, fmt.Errorf("download: %w: %w", sandbox.ErrUnavailable, errStalled)
	}
	return nil, fmt.Errorf("download: %w", m.fileError(ctx, err))
}

// errStalled ends a transfer that does not move.
var errStalled = errors.New("the transfer does not move")

// download is the body of an answer that must keep coming while somebody reads.
type download struct {
	ctx    context.Context // the life of the reader
	body   io.ReadCloser
	dog    *time.Timer
	stall  time.Duration
	cancel context.CancelCauseFunc
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	d.dog.Reset(d.stall)
	n, err := d.body.Read(p)
	d.dog.Stop() // a slow reader is no stalled transfer
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if cause := context.Cause(d.ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errStalled) {
		err = fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return n, fmt.Errorf("download: %w", err)
}

// Close ends the download.
func (d *download) Close() error {
	d.dog.Stop()
	d.cancel(nil)
	return d.body.Close()
}
