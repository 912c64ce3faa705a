// Package swerex is an endpoint that speaks the protocol of SWE-ReX 1.4 in front of one
// sandbox: a client of SWE-ReX (its RemoteRuntime, and so SWE-agent) works in the
// sandbox as if swerex-remote ran there.
//
// Nothing of SWE-ReX is installed in the sandbox. Shells are real bash processes that
// a small script of ours holds there (directory shell); everything else is one command
// of the sandbox each. Some differences from the original are intended: a
// command has an empty input and no terminal, so that nothing waits for keys, pages or
// colours, and there are no interactive commands, which SWE-agent never uses.
package swerex

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
)

// Options of an endpoint; the zero value is good.
type Options struct {
	// Dir is where the shells' files are, default [agent.RunDir] + "/rex".
	Dir string
	// Tree is where shells begin, default the work tree.
	Tree string
	// Paths are absolute paths that the client takes for granted and the sandbox does
	// not have, each with where it really is. They are replaced in paths, in commands and
	// in text files that are uploaded below one of them.
	Paths map[string]string
	// Body is the most bytes of a request, default 64 MiB.
	Body int64
	// Output is the most bytes of a command's output that are kept, default 4 MiB.
	Output int64
	// File is the most bytes of a file that is read, default 32 MiB.
	File int64
}

// withDefaults fills in what is missing.
func (o Options) withDefaults() Options {
	set := func(n *int64, v int64) {
		if *n <= 0 {
			*n = v
		}
	}
	set(&o.Body, 64<<20)
	set(&o.Output, 4<<20)
	set(&o.File, 32<<20)
	if o.Dir == "" {
		o.Dir = agent.RunDir + "/rex"
	}
	if o.Tree == "" {
		o.Tree = sandbox.RepoDir
	}
	return o
}

// Server is the endpoint.
type Server struct {
	box     sandbox.Sandbox
	token   string
	options Options
	paths   paths

	life context.Context // of the work, which outlives a client's connection; ends with Close
	end  context.CancelFunc
	busy sync.WaitGroup

	shells shells
	replay replay

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session
	opened   int // shells, ever
	failure  error
}

// New returns an endpoint in front of a sandbox. A request needs the token in its
// header X-API-Key.
func New(box sandbox.Sandbox, token string, o Options) *Server {
	s := &Server{box: box, token: token, options: o.withDefaults(), sessions: make(map[string]*session)}
	s.paths = newPaths(o.Paths)
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if answer := s.checkToken(r); answer != nil {
		answer.write(w)
		return
	}
	if !s.begin() {
		detail(http.StatusServiceUnavailable, "the endpoint is closed").write(w)
		return
	}
	defer s.busy.Done()
	route, answer := s.route(r)
	var body []byte
	if answer == nil {
		body, answer = s.read(w, r)
	}
	if answer == nil {
		answer = s.replay.do(r.Context(), r.Header.Get("X-Request-ID"), func() *response { return s.serve(r, body, route) })
	}
	answer.write(w)
}

// checkToken checks the token, and answers as the original does.
func (s *Server) checkToken(r *http.Request) *response {
	key := r.Header.Get("X-API-Key")
	switch {
	case key == "":
		return detail(http.StatusForbidden, "Not authenticated")
	case subtle.ConstantTimeCompare([]byte(key), []byte(s.token)) != 1:
		return detail(http.StatusUnauthorized, "Invalid API Key")
	}
	return nil
}

// begin counts a request, unless the endpoint is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Add(1)
	}
	return !s.closed
}

// Failure is the first fault of the sandbox itself that a client was told of; nil if
// there was none.
func (s *Server) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// failed remembers a fault of the sandbox.
func (s *Server) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil && s.life.Err() == nil {
		s.failure = err
	}
}

// Close ends what runs and all shells, and returns when they are gone. It may be called
// twice.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	clear(s.sessions)
	s.mu.Unlock()
	s.end()
	s.busy.Wait()
	if err := s.shells.halt(ctx); err != nil {
		return fmt.Errorf("close shells: %w", err)
	}
	return nil
}

// errLost says that the server of the shells does not answer.
var errLost = errors.New("the shells of the sandbox are lost")
