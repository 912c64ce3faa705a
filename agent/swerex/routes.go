package swerex

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// route is how one path is served: with the body of the request already read.
type route func(r *http.Request, body []byte) (any, error)

// route finds it, or says why not.
func (s *Server) route(r *http.Request) (route, *response) {
	get := map[string]route{
		"/":         func(*http.Request, []byte) (any, error) { return map[string]string{"message": "hello world"}, nil },
		"/is_alive": func(*http.Request, []byte) (any, error) { return s.isAlive(), nil },
	}
	post := map[string]route{
		"/create_session": decoded(createSession{Session: "default", SessionType: "bash", StartupTimeout: 1}, s.createSession),
		"/run_in_session": s.runInSession,
		"/close_session":  decoded(closeSession{Session: "default", SessionType: "bash"}, s.closeSession),
		"/execute":        decoded(command{}, s.execute),
		"/read_file":      decoded(readFile{}, s.readFile),
		"/write_file":     decoded(writeFile{}, s.writeFile),
		"/upload":         s.upload,
		"/close":          func(*http.Request, []byte) (any, error) { return s.closeAll() },
	}
	method, found := http.MethodGet, get[r.URL.Path]
	if found == nil {
		method, found = http.MethodPost, post[r.URL.Path]
	}
	switch {
	case found == nil:
		return nil, detail(http.StatusNotFound, "Not Found")
	case r.Method != method:
		a := detail(http.StatusMethodNotAllowed, "Method Not Allowed")
		a.allow = method
		return nil, a
	}
	return found, nil
}

// read reads the request. One that does not come whole has not been made: it may come
// again under the same id.
func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, *response) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.options.Body))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, detail(http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is larger than %d bytes", s.options.Body))
	}
	if err != nil {
		return nil, detail(http.StatusBadRequest, "the request was cut off")
	}
	return body, nil
}

// serve does the work and encodes what comes of it. A client that goes away does not end
// the work: it asks again under the same id.
func (s *Server) serve(r *http.Request, body []byte, do route) *response {
	out, err := do(r, body)
	if err != nil {
		return s.errorResponse(err)
	}
	return encoded(http.StatusOK, out)
}

// decoded is a route with a JSON body over its defaults.
func decoded[T interface{ check() error }](defaults T, do func(T) (any, error)) route {
	return func(_ *http.Request, body []byte) (any, error) {
		in := defaults
		if err := decode(body, &in); err != nil {
			return nil, err
		}
		if err := in.check(); err != nil {
			return nil, err
		}
		return do(in)
	}
}

// decode reads JSON; what it does not know is passed over, as the original does.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(wrong.Field, "Input should be a valid "+wrong.Type.String())
	}
	if err != nil {
		return invalid("", "JSON decode error")
	}
	return nil
}

// runInSession serves either kind of action.
func (s *Server) runInSession(_ *http.Request, body []byte) (any, error) {
	var kind struct {
		Type string `json:"action_type"`
	}
	if err := decode(body, &kind); err != nil {
		return nil, err
	}
	switch kind.Type {
	case "bash":
		return decoded(bashAction{Session: "default", Check: checkRaise}, s.run)(nil, body)
	case "bash_interrupt":
		return decoded(interruptAction{Session: "default", Timeout: 0.2, Retries: 3}, s.interrupt)(nil, body)
	}
	return nil, invalid("action_type", "Input should be 'bash' or 'bash_interrupt'")
}

// isAlive tells whether the sandbox has not failed so far.
func (s *Server) isAlive() alive {
	if err := s.Failure(); err != nil {
		return alive{Message: err.Error()}
	}
	return alive{Alive: true}
}
