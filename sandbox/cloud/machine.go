package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// Wire is what a provider does inside one machine, each time with one request.
type Wire interface {
	// Start starts a program and sees it to its end. guest.ErrCut may have started it,
	// other errors have not. Pieces of output may be empty.
	Start(ctx context.Context, p guest.Process, out func(stderr bool, data []byte)) (code int, err error)
	// File opens a file (GET; fs.ErrNotExist if there is none), or writes one of at most
	// PartSize bytes over what is there (POST). The answer is a success.
	File(ctx context.Context, method, path string, data []byte) (*http.Response, error)
	// Idle is how long a file may not move.
	Idle() time.Duration
	// Renew is called where the token was refused. It reports whether there is a new one to try.
	Renew(ctx context.Context) bool
	// Backoff tells how an error is waited for, nil for not at all.
	Backoff(ctx context.Context, err error) *Backoff
	// Explain makes an error the contract's: sandbox.ErrGone where the machine is known
	// to be gone, guest.ErrCut where only the connection broke.
	Explain(ctx context.Context, err error) error
	// Chowns reports whether files have to be given to the commands' user.
	Chowns() bool
}

// PartSize is how much of a file goes in one upload.
const PartSize = 4 << 20

// Machine is one machine as package guest wants it.
type Machine struct{ Wire Wire }

var _ guest.Remote = Machine{}

// Run starts a program and sees it to its end.
func (m Machine) Run(ctx context.Context, p guest.Process, out func(stderr bool, data []byte)) (int, error) {
	code, begun := 0, false
	err := Retry(ctx, func() error {
		return m.authorized(ctx, func() (err error) {
			code, err = m.Wire.Start(ctx, p, func(stderr bool, data []byte) {
				if len(data) > 0 {
					begun = true
					out(stderr, data)
				}
			})
			return err
		})
	}, func(err error) *Backoff {
		if begun { // it is for package guest to repeat what has begun
			return nil
		}
		return m.Wire.Backoff(ctx, err)
	})
	if err == nil {
		return code, nil
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return 0, m.Wire.Explain(ctx, err)
}

// authorized does something, once more where the token was refused and there is a new one.
func (m Machine) authorized(ctx context.Context, do func() error) error {
	err := do()
	if TokenRefused(err) && m.Wire.Renew(ctx) {
		return do()
	}
	return err
}

// TokenRefused reports whether a machine does not accept the token that it was sent.
func TokenRefused(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Origin != Control && (r.Status == http.StatusUnauthorized || r.Code == "unauthenticated")
}

// Upload writes a file. A large one goes in parts, which are joined inside.
func (m Machine) Upload(ctx context.Context, to string, r io.Reader) error {
	prefix, n := to+"."+NewKey()+".", 0
	var buf bytes.Buffer
	for {
		buf.Reset()
		size, err := io.CopyN(&buf, r, PartSize)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			m.drop(ctx, prefix)
			return fmt.Errorf("upload: read the input: %w", err)
		}
		if last && n == 0 {
			return m.whole(ctx, to, buf.Bytes())
		}
		if size > 0 {
			if err := m.put(ctx, fmt.Sprint(prefix, n), buf.Bytes()); err != nil {
				m.drop(ctx, prefix)
				return err
			}
			n++
		}
		if last {
			return m.script(ctx, joinScript, to, prefix, fmt.Sprint(n-1))
		}
	}
}

// whole writes a small file.
func (m Machine) whole(ctx context.Context, to string, data []byte) error {
	if err := m.put(ctx, to, data); err != nil || !m.Wire.Chowns() {
		return err
	}
	return m.script(ctx, chownScript, to)
}

// put writes one part. It may be repeated: the same bytes come to the same place.
func (m Machine) put(ctx context.Context, to string, data []byte) error {
	err := m.repeat(ctx, func() error {
		within, cancel := Within(ctx, 5*m.Wire.Idle())
		defer cancel()
		res, err := m.Wire.File(within, http.MethodPost, to, data)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)); err != nil {
			return Missed(within, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	return nil
}

// repeat does what may be repeated.
func (m Machine) repeat(ctx context.Context, do func() error) error {
	broken := &Backoff{First: 100 * time.Millisecond, Most: 2 * time.Second, Tries: 5}
	err := Retry(ctx, func() error { return m.authorized(ctx, do) }, func(err error) *Backoff {
		if b := m.Wire.Backoff(ctx, err); b != nil {
			return b
		}
		var lost *Lost
		if errors.Is(err, guest.ErrCut) || errors.As(err, &lost) {
			return broken
		}
		return nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return transferError(m.Wire.Explain(ctx, err))
}

// What is done to an uploaded file, in bash. Both may run twice, and at once.
const (
	// chownScript gives $1 to the owner of its directory.
	chownScript = `chown --reference="${1%/*}" -- "$1"`
	// joinScript makes $1 of the parts $2 0 to $3. Where the first part is gone, somebody was faster.
	joinScript = `t=$2$$
for ((i = 0; i <= $3; i++)); do
  cat -- "$2$i" || { e=$?; [ -e "${2}0" ] || e=0; rm -f -- "$t"; exit $e; }
done >"$t"
chown --reference="${1%/*}" -- "$t" && mv -fT -- "$t" "$1" || exit 1
for ((i = 0; i <= $3; i++)); do rm -f -- "$2$i"; done`
	// dropScript removes the parts $1.
	dropScript = `rm -f -- "$1"*`
)

// script runs one of them as root.
func (m Machine) script(ctx context.Context, text string, args ...string) error {
	p := guest.Process{Argv: append([]string{"/bin/bash", "-c", text, "yudai"}, args...), Root: true}
	for try := 1; ; try++ {
		var said strings.Builder
		code, err := m.Run(ctx, p, func(_ bool, data []byte) {
			if said.Len() < 1000 {
				said.Write(data)
			}
		})
		switch {
		case errors.Is(err, guest.ErrCut) && try < 4 && ctx.Err() == nil:
			continue
		case err != nil:
			return err
		case code != 0 && strings.Contains(said.String(), "No space left"):
			return fmt.Errorf("finish upload: no room is left in the sandbox: %w", sandbox.ErrDisk)
		case code != 0:
			return fmt.Errorf("finish upload: exit %d: %s", code, Plain(said.String()))
		}
		return nil
	}
}

// drop removes parts, best effort: what is left goes with the sandbox.
func (m Machine) drop(ctx context.Context, prefix string) {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = m.script(clean, dropScript, prefix)
}

// transferError is the error of a transfer, which is no view that could be had again.
func transferError(err error) error {
	if errors.Is(err, guest.ErrCut) {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return err
}

// Download opens a file.
func (m Machine) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	var d *download
	err := m.repeat(ctx, func() error {
		within, dog, stop := watch(ctx, m.Wire.Idle())
		res, err := m.Wire.File(within, http.MethodGet, path, nil) //nolint:bodyclose // download.Close closes it
		if err != nil {
			stop()
			return err
		}
		dog.timer.Stop()
		d = &download{body: watchedBody{res.Body, dog}, ctx: within, caller: ctx, stop: stop, wire: m.Wire}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	return d, nil
}

// download is an open file, which must keep coming while somebody reads.
type download struct {
	body        io.ReadCloser
	ctx, caller context.Context //nolint:containedctx // of the request that this is the body of, and of who made it
	stop        context.CancelFunc
	wire        Wire
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if cause := context.Cause(d.ctx); cause != nil {
		err = cause
	}
	return n, fmt.Errorf("download: %w", transferError(d.wire.Explain(d.caller, err)))
}

// Close ends the download.
func (d *download) Close() error {
	defer d.stop()
	return d.body.Close()
}
