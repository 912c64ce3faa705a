package swerex

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// response is an answer, whole.
type response struct {
	status int
	body   []byte
	allow  string
}

func (a *response) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.allow != "" {
		h.Set("Allow", a.allow)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client may be gone; it may ask again
}

// encoded is a response with a JSON body.
func encoded(status int, v any) *response {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return &response{status: http.StatusInternalServerError, body: []byte(`{"detail":"the answer cannot be written"}`)}
	}
	return &response{status: status, body: []byte(strings.TrimSuffix(b.String(), "\n"))}
}

// detail is a requestError in the form of the original's framework.
func detail(status int, what any) *response {
	return encoded(status, map[string]any{"detail": what})
}

// exception is an error that the client raises again under the name of its class.
type exception struct {
	class   string
	message string
	extra   map[string]any
}

func (e *exception) Error() string { return e.message }

// The classes that clients know.
const (
	classTimeout     = "swerex.exceptions.CommandTimeoutError"
	classNonZero     = "swerex.exceptions.NonZeroExitCodeError"
	classNoExit      = "swerex.exceptions.NoExitCodeError"
	classSyntax      = "swerex.exceptions.BashIncorrectSyntaxError"
	classExists      = "swerex.exceptions.SessionExistsError"
	classNoSession   = "swerex.exceptions.SessionDoesNotExistError"
	classAny         = "swerex.exceptions.SwerexException"
	classEOF         = "pexpect.exceptions.EOF"
	classPatience    = "pexpect.exceptions.TIMEOUT"
	classPattern     = "re.error"
	classZip         = "zipfile.BadZipFile"
	classNotFound    = "builtins.FileNotFoundError"
	classDirectory   = "builtins.IsADirectoryError"
	classNoDirectory = "builtins.NotADirectoryError"
	classDenied      = "builtins.PermissionError"
	classOS          = "builtins.OSError"
	classValue       = "builtins.ValueError"
	classIndex       = "builtins.IndexError"
	classLookup      = "builtins.LookupError"
	classDecode      = "builtins.UnicodeError"
)

func raise(class, message string) *exception { return &exception{class: class, message: message} }

// errorResponse turns an error into the response that carries it.
func (s *Server) errorResponse(err error) *response {
	var refused *requestError
	if errors.As(err, &refused) {
		return detail(refused.status, refused.what)
	}
	var e *exception
	if !errors.As(err, &e) {
		s.failed(err)
		e = raise(classAny, err.Error())
	}
	if e.extra == nil {
		e.extra = map[string]any{}
	}
	return encoded(http.StatusNetworkAuthenticationRequired, map[string]any{"swerexception": map[string]any{
		"message": e.message, "class_path": e.class, "traceback": "", "extra_info": e.extra,
	}})
}

// requestError is an error about the request itself.
type requestError struct {
	status int
	what   any
}

func (r *requestError) Error() string { return http.StatusText(r.status) }

// invalid refuses a field of the request, as pydantic does.
func invalid(field, message string) error {
	loc := []any{"body"}
	if field != "" {
		loc = append(loc, field)
	}
	return &requestError{http.StatusUnprocessableEntity, []any{map[string]any{"type": "value_error", "loc": loc, "msg": message}}}
}

// replay answers a request that comes again, by its id, with the answer of the first
// time: of the last one, and of those that are still being worked on.
type replay struct {
	mu      sync.Mutex
	working map[string]*work
	lastID  string
	last    *response
}

type work struct {
	done   chan struct{}
	answer *response
}

func (o *replay) do(ctx context.Context, id string, serve func() *response) *response {
	if id == "" {
		return serve()
	}
	o.mu.Lock()
	if o.last != nil && o.lastID == id {
		defer o.mu.Unlock()
		return o.last
	}
	if w, ok := o.working[id]; ok {
		o.mu.Unlock()
		select {
		case <-w.done:
			return w.answer
		case <-ctx.Done():
			return detail(http.StatusRequestTimeout, "the client is gone")
		}
	}
	w := &work{done: make(chan struct{})}
	if o.working == nil {
		o.working = make(map[string]*work)
	}
	o.working[id] = w
	o.mu.Unlock()
	w.answer = serve()
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.working, id)
	o.lastID, o.last = id, w.answer
	close(w.done)
	return w.answer
}
