package e2b

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
)

// remote is one machine of E2B as package inside wants it.
type remote struct {
	daemon  *daemon
	control *control
	config  Config
	// patience is how long a machine may be on its way between two states.
	patience time.Duration
}

// Run starts the program and shows what it prints.
func (r *remote) Run(ctx context.Context, p inside.Process, out func(stderr bool, data []byte)) (int, error) {
	user := plainUser
	if p.Root {
		user = rootUser
	}
	message := start{Process: command{Cmd: p.Argv[0], Args: p.Argv[1:], Cwd: "/"}} // a directory that nobody can remove
	var end ending
	err := r.try(ctx, func() (err error) {
		end, err = r.daemon.run(ctx, message, user, out)
		return err
	})
	if err != nil {
		return 0, r.lost(ctx, err)
	}
	return end.code(), nil
}

// keptInput is how much of an input is kept to be sent again.
const keptInput = 1 << 20

// Upload writes a file for the commands' user. An input that can be read again is
// sent again where only the connection broke: the file is replaced as a whole.
func (r *remote) Upload(ctx context.Context, path string, from io.Reader) error {
	from, again, err := rewindable(from)
	if err != nil {
		return fmt.Errorf("upload: %w: %w", errInput, err)
	}
	return r.repeat(ctx, again, func() error { return r.daemon.upload(ctx, path, plainUser, from) })
}

// rewindable returns a reader of the same, and what sets it back to where it is
// now; nil if nothing can.
func rewindable(from io.Reader) (io.Reader, func() error, error) {
	if seeker, ok := from.(io.Seeker); ok {
		if at, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			return from, func() error {
				_, err := seeker.Seek(at, io.SeekStart)
				return err
			}, nil
		}
	}
	head, err := io.ReadAll(io.LimitReader(from, keptInput))
	if err != nil {
		return nil, nil, err
	}
	if len(head) == keptInput {
		return io.MultiReader(bytes.NewReader(head), from), nil, nil
	}
	kept := bytes.NewReader(head)
	return kept, func() error {
		_, err := kept.Seek(0, io.SeekStart)
		return err
	}, nil
}

// repeat makes a call again while only the connection broke, if again can set its
// input back.
func (r *remote) repeat(ctx context.Context, again, call func() error) error {
	for try := 1; ; try++ {
		err := call()
		if err == nil {
			return nil
		}
		err = r.lost(ctx, err)
		if !errors.Is(err, inside.ErrCut) || again == nil || try == 5 || !wait(ctx, time.Duration(try*try)*100*time.Millisecond) {
			return err
		}
		if back := again(); back != nil {
			return errors.Join(err, back)
		}
	}
}

// Download opens a file.
func (r *remote) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	var file io.ReadCloser
	err := r.repeat(ctx, func() error { return nil }, func() error {
		return r.try(ctx, func() (err error) {
			file, err = r.daemon.download(ctx, path, plainUser)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return &watched{ReadCloser: file, ctx: ctx, remote: r}, nil
}

// watched is an open file that tells why it broke.
type watched struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the download, which lasts as long as the file is open
	remote *remote
}

// Read reads.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = w.remote.lost(w.ctx, err)
	}
	return n, err
}

// try calls again while the edge says that the machine is between two states, or
// that there is too much traffic: then nothing was started. A token that was
// replaced is fetched once.
func (r *remote) try(ctx context.Context, call func() error) error {
	began, fetched := time.Now(), false
	grow := backoff.ExponentialBackOff{InitialInterval: 200 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 3 * time.Second}
	grow.Reset()
	for {
		err := call()
		var p *problem
		if !errors.As(err, &p) {
			return err
		}
		switch {
		case p.status == http.StatusUnauthorized && !fetched:
			fetched = true
			if r.refresh(ctx) {
				continue
			}
			return err
		case p.status == http.StatusConflict, p.status == http.StatusTooManyRequests, notListening(p):
			d := max(grow.NextBackOff(), p.wait)
			if time.Since(began)+d > r.patience || !wait(ctx, d) {
				return err
			}
		default:
			return err
		}
	}
}

// notListening is the edge's word for a machine whose daemon is not up, yet.
func notListening(p *problem) bool {
	return p.status == http.StatusBadGateway && strings.Contains(p.message, "port is not open")
}

// refresh fetches the sandbox's token and reports whether it is another one.
func (r *remote) refresh(ctx context.Context) bool {
	m, err := r.control.get(ctx, r.daemon.id)
	if err != nil || m.Token == "" || m.Token == r.daemon.secret() {
		return false
	}
	r.daemon.setToken(m.Token)
	return true
}

// lost says what an error of the daemon means: sandbox.ErrGone where the machine
// is known to be gone, inside.ErrCut where only the connection broke, and itself
// where it is an answer.
func (r *remote) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var p *problem
	var refused *refusal
	switch {
	case errors.Is(err, sandbox.ErrDisk), errors.Is(err, fs.ErrNotExist), errors.Is(err, sandbox.ErrGone), errors.Is(err, inside.ErrCut), errors.Is(err, errInput):
		return err
	case errors.As(err, &refused):
		return r.refused(ctx, refused, err)
	case !errors.As(err, &p):
		return r.look(ctx, err)
	case p.status == http.StatusUnauthorized, p.status == http.StatusForbidden:
		return fmt.Errorf("%w: the sandbox does not accept the token that the service gave out for it: %w", sandbox.ErrUnavailable, err)
	case p.status >= 500, p.status == http.StatusConflict:
		return r.look(ctx, err)
	case p.status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %w", inside.ErrCut, err)
	default:
		return err
	}
}

// refused sorts the daemon's own errors: some mean that the machine is stopping.
func (r *remote) refused(ctx context.Context, refused *refusal, err error) error {
	switch refused.Code {
	case "unavailable", "canceled", "internal", "unknown", "resource_exhausted", "aborted", "deadline_exceeded":
		return r.look(ctx, err)
	default:
		return err
	}
}

// look asks the daemon whether it lives, after a connection broke or fell silent.
func (r *remote) look(ctx context.Context, err error) error {
	health := r.daemon.health(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case health == nil:
		return fmt.Errorf("%w: %w", inside.ErrCut, err)
	default:
		return r.reread(ctx, fmt.Errorf("%w (%w)", err, health))
	}
}

// reread asks the control plane what became of the machine. Without an answer the
// edge's word counts, if it gave one.
func (r *remote) reread(ctx context.Context, err error) error {
	look, cancel := context.WithTimeout(ctx, 3*r.daemon.rhythm.health)
	defer cancel()
	m, failed := r.control.get(look, r.daemon.id)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case status(failed) == http.StatusNotFound:
		return fmt.Errorf("%w: the service has ended it: %w", sandbox.ErrGone, err)
	case failed == nil && m.State == paused:
		return fmt.Errorf("%w: it was paused: %w", sandbox.ErrGone, err)
	case failed == nil:
		return fmt.Errorf("%w: %w", inside.ErrCut, err)
	case status(failed) == http.StatusUnauthorized:
		return fmt.Errorf("%w (%w)", r.config.explain(failed), err)
	case status(err) == http.StatusBadGateway && strings.Contains(err.Error(), "not found"):
		return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	default:
		return fmt.Errorf("%w: %w", inside.ErrCut, err)
	}
}
