package prime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/prime/command"
)

// machine is one virtual machine behind the gateway.
type machine struct {
	provider *provider
	id       string
	user     string // whom commands run as, once it is known; "" is root

	renewing *semaphore.Weighted // held by who reads or replaces current
	current  access
}

var _ cloud.Wire = (*machine)(nil)

func (p *provider) machine(n cloud.Note) *machine {
	return &machine{provider: p, id: n.ID, user: n.User, renewing: semaphore.NewWeighted(1)}
}

// fromFiles is the origin of what the gateway refuses about files.
const fromFiles = "gateway"

// startPath is the method that starts a command.
const startPath = "/command_session.CommandSession/Start"

// day is the longest that one stream is asked to last, in milliseconds. Shorter would
// end commands whose time is not over.
const day = "86400000"

// Start starts a program one time.
func (m *machine) Start(ctx context.Context, p guest.Process, out func(stderr bool, data []byte)) (code int, err error) {
	spec := &command.CommandSpec{Cmd: p.Argv[0], Args: p.Argv[1:]}
	if p.Root && m.user != "" {
		spec.User = proto.String("root")
	}
	a, err := m.access(ctx)
	if err != nil {
		return 0, err
	}
	doer := cloud.Doer(func(req *http.Request) (*http.Response, error) {
		return a.send(m.provider.streams, cloud.Stream, req)
	})
	r := &command.StartRequest{Command: spec, Stdin: proto.Bool(false)}
	err = events(ctx, m.provider.timing.silence, doer, a.base(), r, func(e *command.CommandSessionEvent) bool {
		out(false, e.GetData().GetStdout())
		out(true, e.GetData().GetStderr())
		if e.GetEnd() != nil {
			code = int(e.GetEnd().GetExitCode())
		}
		return e.GetEnd() != nil
	})
	m.forget(ctx, a, err)
	if err == nil && code < 0 {
		err = fmt.Errorf("%w: the launcher was killed", guest.ErrCut)
	}
	return code, err
}

// events makes the call that starts a program and reads its stream.
func events(ctx context.Context, silence time.Duration, client cloud.Doer, base string, r *command.StartRequest,
	event func(*command.CommandSessionEvent) (last bool),
) error {
	req := connect.NewRequest(r)
	req.Header().Set("Connect-Timeout-Ms", day)
	req.Header().Set("Connect-Accept-Encoding", "identity")
	req.Header().Set("Connect-Content-Encoding", "identity")
	start := func(ctx context.Context, c cloud.Doer) (*connect.ServerStreamForClient[command.StartResponse], error) {
		return connect.NewClient[command.StartRequest, command.StartResponse](c, base+startPath, cloud.ClientOptions()).CallServerStream(ctx, req)
	}
	return cloud.Follow(ctx, silence, client, start, func(r *command.StartResponse) bool { return event(r.GetEvent()) })
}

// Chowns reports whether uploaded files are another's than the commands' user's.
func (m *machine) Chowns() bool { return m.user != "" }

// Idle is how long a file may not move.
func (m *machine) Idle() time.Duration { return m.provider.timing.transfer }

// File downloads a file, or uploads one as a form. The path is in the query.
func (m *machine) File(ctx context.Context, method, file string, data []byte) (*http.Response, error) {
	a, err := m.access(ctx)
	if err != nil {
		return nil, err
	}
	path, kind := "/download", ""
	var body bytes.Buffer
	if method == http.MethodPost {
		path = "/upload"
		if kind, err = form(&body, data); err != nil {
			return nil, fmt.Errorf("make upload: %w", err)
		}
	}
	query := url.Values{"path": {file}, "sandbox_id": {m.id}}
	req, err := http.NewRequestWithContext(ctx, method, a.base()+path+"?"+query.Encode(), bytes.NewReader(body.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("make request to the gateway: %w", err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := a.send(m.provider.files, fromFiles, req)
	m.forget(ctx, a, err)
	switch {
	case err == nil && method == http.MethodPost:
		if err = readUpload(ctx, res.Body, int64(len(data))); err != nil {
			return nil, errors.Join(err, res.Body.Close())
		}
	case method == http.MethodGet && cloud.StatusOf(err) == http.StatusNotFound && !isGone(err):
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return res, err
}

// form writes a form with one file. The name in it says nothing.
func form(to io.Writer, data []byte) (kind string, err error) {
	w := multipart.NewWriter(to)
	file, err := w.CreateFormFile("file", "file")
	if err == nil {
		_, err = file.Write(data)
	}
	return w.FormDataContentType(), errors.Join(err, w.Close())
}

// readUpload reads the gateway's answer to so many bytes.
func readUpload(ctx context.Context, body io.Reader, sent int64) error {
	var answer struct {
		Success *bool  `json:"success"`
		Size    *int64 `json:"size"`
		Message string `json:"message"`
	}
	switch err := json.NewDecoder(io.LimitReader(body, 64<<10)).Decode(&answer); {
	case err != nil:
		return cloud.Missed(ctx, fmt.Errorf("read the gateway's answer: %w", err))
	case answer.Success != nil && !*answer.Success:
		return &cloud.Refusal{Origin: fromFiles, Status: http.StatusInternalServerError, Message: answer.Message}
	case answer.Size != nil && *answer.Size != sent:
		return &cloud.Lost{Cause: fmt.Errorf("%d bytes of %d arrived", *answer.Size, sent)}
	}
	return nil
}

// Backoff tells which refusals of the gateway pass. The client of the control plane has
// waited for its own.
func (m *machine) Backoff(ctx context.Context, err error) *cloud.Backoff {
	var r *cloud.Refusal
	control := errors.As(err, &r) && r.Origin == cloud.Control
	switch s := cloud.StatusOf(err); {
	case sandbox.Explained(err) || isGone(err) || outOfSpace(err):
		return nil
	case s == http.StatusConflict:
		if _, ended := m.provider.hasEnded(ctx, m.id); ended {
			return nil
		}
		return &m.provider.timing.conflict
	case control && s != http.StatusRequestTimeout:
		return nil
	case s == http.StatusTooManyRequests:
		return &m.provider.timing.throttled
	case cloud.Transient(err) || s == http.StatusRequestTimeout:
		return &m.provider.timing.failed
	}
	return nil
}

// Explain turns an error of the gateway into one of the contract. Whoever is cut off
// is told whether the sandbox is there at all.
func (m *machine) Explain(ctx context.Context, err error) error {
	var r *cloud.Refusal
	refused := errors.As(err, &r) && !errors.Is(err, guest.ErrCut)
	switch {
	case errors.Is(err, fs.ErrNotExist) || sandbox.Explained(err):
		return err
	case isGone(err):
		if n, ended := m.provider.hasEnded(ctx, m.id); ended && n.Status != "" {
			return fmt.Errorf("%w: %s", sandbox.ErrGone, n)
		}
		return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	case outOfSpace(err):
		return fmt.Errorf("%w: no room is left in the sandbox (%slimits.disk_gb): %w", sandbox.ErrDisk, section, err)
	case refused && (r.Status == http.StatusTooManyRequests || r.Code == "resource_exhausted"):
		return fmt.Errorf("%w: Prime gets too many requests: %w", sandbox.ErrCapacity, err)
	case refused && r.Origin == cloud.Control && !cloud.Transient(err) &&
		!cloud.HasStatus(err, http.StatusConflict, http.StatusRequestTimeout):
		return m.provider.Explain(err)
	case refused && slices.Contains([]string{"unimplemented", "invalid_argument", "permission_denied", "failed_precondition"}, r.Code):
		return fmt.Errorf("%w: the gateway does not start commands: %w", sandbox.ErrUnavailable, err)
	}
	if n, ended := m.provider.hasEnded(ctx, m.id); ended {
		return fmt.Errorf("%w: %s", sandbox.ErrGone, n)
	}
	if errors.Is(err, guest.ErrCut) {
		return err
	}
	return fmt.Errorf("%w: %w", guest.ErrCut, err)
}

// isGone reports whether the gateway, or the control plane about the way to it, says
// that the sandbox does not exist.
func isGone(err error) bool {
	var r *cloud.Refusal
	if !errors.As(err, &r) {
		return false
	}
	switch {
	case r.Origin == cloud.Control:
		return cloud.IsMissing(err)
	case r.Origin == cloud.Stream && r.Code == "not_found":
		return true
	}
	return r.Status == http.StatusGone || r.Code == "sandbox_not_found" || r.Code == "sandbox_terminated"
}

// outOfSpace reports whether a file could not be written for want of room.
func outOfSpace(err error) bool {
	var r *cloud.Refusal
	return errors.As(err, &r) && (r.Status == http.StatusInsufficientStorage || r.Says("no space left"))
}

// passes reports whether an error may pass by itself in a sandbox that has just begun to run.
func passes(err error) bool {
	var r *cloud.Refusal
	if !errors.As(err, &r) {
		return cloud.Transient(err) || errors.Is(err, guest.ErrCut)
	}
	return isGone(err) && r.Status != http.StatusGone || cloud.Transient(err) ||
		cloud.HasStatus(err, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests) ||
		slices.Contains([]string{"unavailable", "aborted", "deadline_exceeded", "not_found"}, r.Code)
}

// noProgram reports whether a program that is not in the image was to be run.
func noProgram(err error) bool {
	var r *cloud.Refusal
	return errors.As(err, &r) && r.Origin == cloud.Stream && r.Says("no such file", "executable file not found")
}

// echo runs a first command, for not longer than limit.
func (m *machine) echo(ctx context.Context, limit time.Duration) (said string, code int, expired bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out strings.Builder
	code, err = m.Start(ctx, guest.Process{Argv: []string{"/bin/bash", "-c", `echo "$EUID:$(id -un)"`}}, func(stderr bool, data []byte) {
		if !stderr && out.Len() < 1000 {
			out.Write(data)
		}
	})
	return out.String(), code, ctx.Err() != nil, err
}
