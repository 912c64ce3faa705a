package primesim

import (
	"context"
	"net/http"
	"strings"
)

// boxOf is the key of a request's context under which its sandbox lies.
type boxOf struct{}

// commandService is the path of the command transport.
const commandService = "command_session.CommandSession/"

// resolveGateway finds what a request to the gateway asks for.
func (s *Server) resolveGateway(r *http.Request) (Call, *box, http.HandlerFunc) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
	unknown := func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, AnyGateway, http.StatusNotFound, "no such path")
	}
	if len(parts) < 3 {
		return callUnknown, nil, unknown
	}
	s.mu.Lock()
	b := s.byJob[parts[1]]
	s.mu.Unlock()
	if b != nil && b.user != parts[0] {
		b = nil
	}
	var c Call
	var do http.HandlerFunc
	if method, isCommand := strings.CutPrefix(parts[2], commandService); isCommand {
		c = Call("gateway/command/" + method)
		if h := s.rpc[method]; h != nil {
			do = h.ServeHTTP
		}
	} else {
		switch r.Method + " " + parts[2] {
		case "POST upload":
			c, do = CallUpload, s.upload
		case "GET download":
			c, do = CallDownload, s.download
		case "GET read-file":
			c, do = CallReadFile, s.readFile
		}
	}
	if do == nil {
		return callUnknown, b, unknown
	}
	return c, b, func(w http.ResponseWriter, r *http.Request) {
		if s.admit(w, r, c, b) {
			do(w, r.WithContext(context.WithValue(r.Context(), boxOf{}, b)))
		}
	}
}

// admit checks the token and that the gateway knows the sandbox, and answers if not.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, c Call, b *box) bool {
	value, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	s.stepAll()
	now := s.now()
	t, known := s.tokens[value]
	valid := known && t.box == b && now.Before(t.expires)
	var over, deleted, reachable bool
	if valid {
		over, deleted, reachable = b.over(), b.deleted, b.status == StatusRunning && !now.Before(b.reach)
		if reachable {
			b.used = now
		}
	}
	s.wake()
	s.mu.Unlock()
	switch {
	case !valid:
		s.refuse(w, c, http.StatusUnauthorized, "")
	case over && c.command():
		s.refuse(w, c, http.StatusNotFound, "sandbox not found")
	case deleted:
		s.refuse(w, c, http.StatusGone, "sandbox was deleted")
	case !reachable:
		refuseMissing(w, b)
	default:
		return true
	}
	return false
}

// forget ends the token of a request.
func (s *Server) forget(r *http.Request) {
	value, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, value)
}

// box is the sandbox of an admitted request.
func (s *Server) box(ctx context.Context) *box {
	b, _ := ctx.Value(boxOf{}).(*box)
	return b
}
