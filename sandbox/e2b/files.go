package e2b

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

// errInput says that the reader of an upload failed, not the way to the sandbox.
var errInput = errors.New("read the input")

// errClosed is what a source answers after the upload is over.
var errClosed = errors.New("the upload is over")

// input is what an upload reads from. It feeds the watchdog, keeps the reader's
// own error, and leaves the reader alone once the upload is over.
type input struct {
	dog *watchdog

	mu     sync.Mutex
	from   io.Reader
	err    error
	closed bool
}

// Read reads. A reader that takes its time is no silence.
func (s *input) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errClosed
	}
	s.dog.timer.Stop()
	n, err := s.from.Read(p)
	s.dog.stroke()
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// close ends it and returns the reader's own error.
func (s *input) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.err
}

// upload writes a file that belongs to the user. The daemon writes in place: who
// must not see half a file moves it afterwards.
func (d *daemon) upload(ctx context.Context, path, user string, r io.Reader) error {
	ctx, dog, stop := watch(ctx, d.rhythm.idle)
	defer stop()
	from := &input{from: r, dog: dog}
	req, err := d.request(ctx, http.MethodPost, "/files?"+fileQuery(path, user), "", from)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	if known, ok := r.(interface{ Len() int }); ok {
		req.ContentLength = int64(known.Len())
		if known.Len() == 0 {
			req.Body = http.NoBody
		}
	}
	resp, err := d.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
	}
	if own := from.close(); own != nil {
		return fmt.Errorf("upload: %w: %w", errInput, own)
	}
	if err != nil {
		return fmt.Errorf("upload: %w", cutBy(ctx, bare(err)))
	}
	if resp.StatusCode != http.StatusOK {
		return fileProblem(readProblem("upload", resp, d.secret()))
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)); err != nil {
		return fmt.Errorf("upload: read the answer: %w", cutBy(ctx, err))
	}
	return nil
}

func fileQuery(path, user string) string {
	query := url.Values{"path": {path}}
	if user != "" {
		query.Set("username", user)
	}
	return query.Encode()
}

// fileProblem gives the answers about files their names.
func fileProblem(p *problem) error {
	switch p.status {
	case http.StatusNotFound:
		return fmt.Errorf("%w: %w", fs.ErrNotExist, p)
	case http.StatusInsufficientStorage:
		return fmt.Errorf("%w: the disk of the template is full: %w", sandbox.ErrDisk, p)
	default:
		return p
	}
}

// download opens a file.
func (d *daemon) download(ctx context.Context, path, user string) (io.ReadCloser, error) {
	ctx, dog, stop := watch(ctx, d.rhythm.idle)
	req, err := d.request(ctx, http.MethodGet, "/files?"+fileQuery(path, user), "", nil)
	if err != nil {
		stop()
		return nil, err
	}
	resp, err := d.http.Do(req)
	if err != nil {
		defer stop()
		return nil, fmt.Errorf("download: %w", cutBy(ctx, bare(err)))
	}
	if resp.StatusCode != http.StatusOK {
		defer stop()
		defer resp.Body.Close()
		return nil, fileProblem(readProblem("download", resp, d.secret()))
	}
	dog.timer.Stop()
	return &download{ctx: ctx, body: resp.Body, dog: dog, stop: stop}, nil
}

// download is an open file. The watchdog is awake only while somebody reads.
type download struct {
	ctx  context.Context //nolint:containedctx // of the request that this is the body of
	body io.ReadCloser
	dog  *watchdog
	stop context.CancelFunc
}

// Read reads.
func (d *download) Read(p []byte) (int, error) {
	d.dog.stroke()
	n, err := d.body.Read(p)
	d.dog.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("download: %w", cutBy(d.ctx, err))
	}
	return n, err
}

// Close gives the connection back.
func (d *download) Close() error {
	err := d.body.Close()
	d.stop()
	return err
}
