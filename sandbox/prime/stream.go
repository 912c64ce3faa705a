package prime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/inside"
)

// machine is one virtual machine, as inside wants it.
type machine struct {
	config  Config
	control *control
	gateway *gateway
	id      string
	user    string // whom commands run as, once it is known; "" is root
}

var _ inside.Remote = (*machine)(nil)

// errCut says that a stream was lost.
var errCut = inside.ErrCut

// day is the longest that one stream is asked to last. Shorter would end commands
// whose time is not over.
const day = 24 * time.Hour

// startPath is the method that starts a command.
const startPath = "/command_session.CommandSession/Start"

// Run starts a program and sees it to its end.
func (m *machine) Run(ctx context.Context, p inside.Process, out func(stderr bool, data []byte)) (int, error) {
	var code int
	begun := false
	err := m.gateway.persist(ctx, m.id, func() (err error) {
		code, err = m.once(ctx, p.Argv, p.Root, func(stderr bool, data []byte) {
			begun = true
			out(stderr, data)
		})
		if err == nil && code < 0 {
			err = fmt.Errorf("%w: the launcher was killed", errCut)
		}
		if begun && err != nil && !errors.Is(err, errCut) && !departed(err) {
			err = fmt.Errorf("%w: %w", errCut, err) // it is the launcher's to repeat what has begun
		}
		return err
	})
	if err != nil {
		return 0, m.translate(ctx, err)
	}
	return code, nil
}

// once starts a program one time. An errCut may have started it; a refusal has not.
func (m *machine) once(ctx context.Context, argv []string, root bool, out func(stderr bool, data []byte)) (int, error) {
	s := spec{cmd: argv[0], args: argv[1:]}
	if root && m.user != "" {
		s.user = "root"
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := time.AfterFunc(m.control.pace.silence, func() { cancel(errSilent) })
	defer dog.Stop()
	for try := 1; ; try++ {
		a, err := m.gateway.access(ctx, m.id)
		if err != nil {
			return 0, cutIfSilent(ctx, err)
		}
		code, heard, err := m.stream(ctx, a, s, dog, out)
		var r *refusal
		if errors.As(err, &r) && (r.status == http.StatusUnauthorized || r.code == "unauthenticated") && !heard {
			m.gateway.drop(m.id, a)
			if try == 1 {
				continue
			}
		}
		return code, cutIfSilent(ctx, err)
	}
}

// errSilent ends a stream that has not said anything for too long.
var errSilent = errors.New("the stream is silent")

func cutIfSilent(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return fmt.Errorf("%w: %w", errCut, errSilent)
	}
	return err
}

// stream sends the request and reads what comes. heard says that an event came.
func (m *machine) stream(ctx context.Context, a access, s spec, dog *time.Timer, out func(stderr bool, data []byte)) (code int, heard bool, err error) {
	body := frame(0, s.encode())
	t := trip{method: http.MethodPost, path: startPath, client: m.gateway.streams, header: streamHeader()}
	t.body = func() (io.Reader, int64) { return bytes.NewReader(body), int64(len(body)) }
	res, err := m.gateway.try(ctx, a, t)
	var l *lost
	switch {
	case errors.As(err, &l) && !unsent(err):
		return 0, false, fmt.Errorf("%w: %w", errCut, l.cause)
	case err != nil:
		return 0, false, err
	}
	defer res.Body.Close()
	in := &frames{r: watched{res.Body, dog, m.control.pace.silence}}
	ended := false
	for {
		flags, message, err := in.next()
		if err != nil {
			if ctx.Err() != nil {
				return 0, heard, context.Cause(ctx)
			}
			return 0, heard, fmt.Errorf("%w: %w", errCut, err)
		}
		if flags&frameEnd != 0 {
			return code, heard, endOfStream(message, ended)
		}
		e, err := decodeEvent(message)
		if err != nil {
			return 0, heard, fmt.Errorf("%w: %w", errCut, err)
		}
		heard = true
		if len(e.stdout) > 0 {
			out(false, e.stdout)
		}
		if len(e.stderr) > 0 {
			out(true, e.stderr)
		}
		if e.ended {
			ended, code = true, e.code
		}
	}
}

func streamHeader() http.Header {
	return http.Header{
		"Content-Type":             {"application/connect+proto"},
		"Connect-Protocol-Version": {"1"},
		"Connect-Timeout-Ms":       {fmt.Sprint(day.Milliseconds())},
		"Connect-Accept-Encoding":  {"identity"},
		"Connect-Content-Encoding": {"identity"},
	}
}

// watched tells the dog about everything that comes.
type watched struct {
	r       io.Reader
	dog     *time.Timer
	silence time.Duration
}

// Read implements io.Reader.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.dog.Reset(w.silence)
	}
	return n, err
}

// endOfStream reads the last frame. Only with the command's end before it is it a good one.
func endOfStream(message []byte, ended bool) error {
	var last struct {
		Error *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(message, &last); err != nil {
		return fmt.Errorf("%w: its end cannot be read: %w", errCut, err)
	}
	switch {
	case last.Error != nil:
		return &refusal{from: fromStream, status: http.StatusOK, code: last.Error.Code, detail: last.Error.Message}
	case !ended:
		return fmt.Errorf("%w: it ended before the command", errCut)
	}
	return nil
}

// translate turns an error of the gateway into one of the contract. Whoever is cut
// off is told whether the sandbox is there at all.
func (m *machine) translate(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		if err != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	switch {
	case departed(err):
		return m.gone(ctx, err)
	case outOfSpace(err):
		return fmt.Errorf("%w: no room is left in the sandbox (%slimits.disk_gb): %w", sandbox.ErrDisk, section, err)
	}
	if known := m.known(err); known != nil {
		return known
	}
	if m.over(ctx) {
		return m.gone(ctx, err)
	}
	if errors.Is(err, errCut) {
		return err
	}
	return fmt.Errorf("%w: %w", errCut, err)
}

// known is the error for a refusal that does not pass, nil for all others.
func (m *machine) known(err error) error {
	var r *refusal
	if errors.Is(err, errCut) || !errors.As(err, &r) || transient(err) {
		return nil
	}
	if r.status == http.StatusTooManyRequests || r.code == "resource_exhausted" {
		return fmt.Errorf("%w: Prime gets too many requests: %w", sandbox.ErrCapacity, err)
	}
	if r.from == fromControl && r.status != http.StatusConflict && r.status != http.StatusRequestTimeout {
		return m.config.explain(err)
	}
	switch r.code {
	case "unimplemented":
		return fmt.Errorf("%w: the gateway does not offer command sessions: %w", sandbox.ErrUnavailable, err)
	case "invalid_argument", "permission_denied", "failed_precondition":
		return fmt.Errorf("%w: the gateway refuses a command: %w", sandbox.ErrUnavailable, err)
	}
	return nil
}

// gone is the error for a sandbox that is not there, with what ended it where that is known.
func (m *machine) gone(ctx context.Context, err error) error {
	n, e := m.control.why(ctx, m.id)
	if e == nil && n.Status.ended() {
		return fmt.Errorf("%w: %s", sandbox.ErrGone, n)
	}
	return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
}
