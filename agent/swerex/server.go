// Package swerex is an endpoint that speaks the protocol of SWE-ReX 1.4 in front of one
// sandbox, as far as SWE-agent uses it: SWE-agent works in the sandbox as if
// swerex-remote ran there.
//
// Nothing of SWE-ReX is installed in the sandbox. Shells are real bash processes that
// a small script of ours holds there (directory shell); everything else is one operation
// of the sandbox each. A command has an empty input and no terminal, so that nothing waits
// for keys, pages or colours, and there are no interactive commands.
package swerex

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

const (
	// mostBody is the most bytes of a request.
	mostBody = 64 << 20
	// mostOutput is the most bytes that are kept of a command's output.
	mostOutput = 4 << 20
	// mostFile is the most bytes of a file that is read.
	mostFile = 32 << 20
	// mostUnpacked is the most bytes of an archive's files, mostFiles how many they are.
	mostUnpacked, mostFiles = 4 * mostBody, 20_000
)

// Server is the endpoint.
type Server struct {
	box    sandbox.Sandbox
	token  string
	output int64 // most bytes that are kept of a command's output
	routes *http.ServeMux

	life context.Context // of the work, which outlives a client's connection; ends with Close
	end  context.CancelFunc
	busy sync.WaitGroup

	launching sync.Mutex
	launcher  sandbox.Launcher // of the process that holds the shells; nil before the first shell

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session
	opened   int // shells, ever
	failure  error
}

// New returns an endpoint in front of a sandbox. A request needs the token in its
// header X-API-Key.
func New(box sandbox.Sandbox, token string) *Server {
	s := &Server{box: box, token: token, output: mostOutput, sessions: make(map[string]*session), routes: http.NewServeMux()}
	s.life, s.end = context.WithCancel(context.Background())
	s.routes.Handle("GET /is_alive", route(s, s.isAlive))
	s.routes.Handle("POST /create_session", route(s, s.createSession))
	s.routes.Handle("POST /run_in_session", route(s, s.runInSession))
	s.routes.Handle("POST /close_session", route(s, s.closeSession))
	s.routes.Handle("POST /execute", route(s, s.execute))
	s.routes.Handle("POST /read_file", route(s, s.readFile))
	s.routes.Handle("POST /write_file", route(s, s.writeFile))
	s.routes.HandleFunc("POST /upload", s.upload)
	s.routes.Handle("POST /close", route(s, s.closeSessions))
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-API-Key")), []byte(s.token)) != 1 {
		refuse(w, http.StatusUnauthorized, "Invalid API Key")
		return
	}
	if !s.begin() {
		refuse(w, http.StatusServiceUnavailable, "the endpoint is closed")
		return
	}
	defer s.busy.Done()
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	s.routes.ServeHTTP(w, r)
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

// isAlive tells whether the sandbox has not failed so far.
func (s *Server) isAlive(nothing) (alive, error) {
	failure := s.Failure()
	if failure == nil {
		return alive{Alive: true}, nil
	}
	return alive{Message: failure.Error()}, nil
}

// Failure is the first failure of the sandbox itself that a client was told of; nil if
// there was none.
func (s *Server) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// failed remembers a failure of the sandbox.
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
	if err := s.haltShells(ctx); err != nil {
		return fmt.Errorf("close shells: %w", err)
	}
	return nil
}
