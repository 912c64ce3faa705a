package e2bsim

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
	"github.com/yudai-dev/yudai/test/machine"
)

// daemon is the envd of one sandbox, while it runs.
type daemon struct {
	machine *machine.Machine
	version string
	user    string // whom commands run as unless the client says otherwise
	workdir string
	envs    map[string]string
	routes  http.Handler

	complain func(string)
	die      func() // ends the sandbox, for faults
	now      func() time.Time

	mu        sync.Mutex
	token     string
	broken    bool
	streams   map[*stream]bool
	processes map[int]*process
	watchers  map[string]*watcher
	work      sync.WaitGroup  // the ends of processes
	life      context.Context // of what it started
	end       context.CancelFunc
}

// newDaemon makes the daemon of a sandbox. s.mu is held.
func newDaemon(s *Server, b *box) *daemon {
	envs := maps.Clone(b.envs)
	if envs == nil {
		envs = map[string]string{}
	}
	envs["E2B_SANDBOX"], envs["E2B_SANDBOX_ID"], envs["E2B_TEMPLATE_ID"] = "true", b.id, b.template.ID
	d := &daemon{
		machine: b.machine, version: b.template.Version, user: b.template.User, workdir: b.template.workdir, envs: envs, token: b.token,
		complain: s.complain, die: s.killer(b.id),
		now: func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.now()
		},
	}
	d.prepare()
	return d
}

// prepare makes what every daemon has.
func (d *daemon) prepare() {
	d.streams, d.processes, d.watchers = map[*stream]bool{}, map[int]*process{}, map[string]*watcher{}
	d.life, d.end = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.Handle(envd.NewProcessHandler(&processService{d: d}))
	mux.Handle(envd.NewFilesystemHandler(&filesystemService{d: d}))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /init", d.init)
	mux.HandleFunc("GET /envs", func(w http.ResponseWriter, _ *http.Request) { plain(w, d.envs) })
	mux.HandleFunc("GET /metrics", d.metrics)
	mux.HandleFunc("GET /files", d.download)
	mux.HandleFunc("POST /files", d.upload)
	mux.HandleFunc("POST /files/compose", d.compose)
	d.routes = mux
}

// plain writes JSON that must not be stored.
func plain(w http.ResponseWriter, body any) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// fault writes an error as the daemon does outside its remote procedures.
func fault(w http.ResponseWriter, status int, format string, args ...any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": status, "message": fmt.Sprintf(format, args...)})
}

// ServeHTTP checks the token and the user before anything else.
func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Origin")
	open := r.URL.Path == "/health" || r.URL.Path == "/files" // which looks at signatures, too
	if !open && !d.trusts(r) {
		fault(w, http.StatusUnauthorized, "unauthorized access, please provide a valid access token or method signing if supported")
		return
	}
	if strings.HasPrefix(r.URL.Path, "/process.") || strings.HasPrefix(r.URL.Path, "/filesystem.") {
		if name, _, given := r.BasicAuth(); given && !d.knows(name) {
			_ = connect.NewErrorWriter().Write(w, r, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("invalid username: '%s'", name)))
			return
		}
	}
	d.routes.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), writerKey{}, http.NewResponseController(w))))
}

// writerKey is the control of the answer's connection, in a request's context.
type writerKey struct{}

// trusts reports whether the request has the token, if one is needed.
func (d *daemon) trusts(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.token == "" || subtle.ConstantTimeCompare([]byte(d.token), []byte(r.Header.Get("X-Access-Token"))) == 1
}

// knows reports whether a user exists; no name means the default user.
func (d *daemon) knows(name string) bool {
	return name == "" && !older(d.version, "0.4.0") || name == machine.Root || name == machine.User
}

// userOf returns whom a request's name means.
func (d *daemon) userOf(name string) string {
	if name == "" {
		return d.user
	}
	return name
}

// homeOf returns a user's home directory.
func homeOf(user string) string {
	if user == machine.Root {
		return "/root"
	}
	return "/home/user"
}

// idOf returns the uid and gid of a user.
func idOf(user string) int {
	if user == machine.Root {
		return 0
	}
	return 1000
}

// absolute resolves a path as a user means it.
func absolute(name, user string) string {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		name = homeOf(user) + name[1:]
	case !strings.HasPrefix(name, "/"):
		name = homeOf(user) + "/" + name
	}
	return path.Clean(name)
}

// basicUser returns the user of a remote procedure.
func (d *daemon) basicUser(h http.Header) string {
	name, _, _ := (&http.Request{Header: h}).BasicAuth()
	return d.userOf(name)
}

// init is the control by which the platform sets the token.
func (d *daemon) init(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token string `json:"accessToken"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fault(w, http.StatusBadRequest, "%v", err)
		return
	}
	d.mu.Lock()
	d.token = body.Token
	d.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Envd-Version", d.version)
	w.WriteHeader(http.StatusNoContent)
}

// crash is what a keepalive interval below one second does to the real daemon.
func (d *daemon) crash(why string) {
	d.complain(why)
	d.mu.Lock()
	d.broken = true
	d.mu.Unlock()
	d.cut()
}

func (d *daemon) crashed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken
}

// stream is one open stream of events.
type stream struct {
	dead chan struct{} // closed when it has to end without a word
	mute chan struct{} // closed when it has to say nothing more
	once sync.Once
	rc   *http.ResponseController
}

// kill ends the stream without a word, also where its client does not read.
func (st *stream) kill() {
	st.once.Do(func() {
		close(st.dead)
		if st.rc != nil {
			_ = st.rc.SetWriteDeadline(time.Now()) // a connection that cannot do it is no worse off
		}
	})
}

// open registers the stream of a request.
func (d *daemon) open(ctx context.Context) *stream {
	st := &stream{dead: make(chan struct{}), mute: make(chan struct{})}
	st.rc, _ = ctx.Value(writerKey{}).(*http.ResponseController)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams[st] = true
	if d.life.Err() != nil || d.broken {
		st.kill()
	}
	return st
}

func (d *daemon) leave(st *stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.streams, st)
}

// cut breaks the connections of all open streams.
func (d *daemon) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for st := range d.streams {
		st.kill()
	}
}

// close ends the daemon; the processes end with the machine. Open streams are
// cut, or, if silent, left as they are.
func (d *daemon) close(silent bool) {
	d.mu.Lock()
	d.end()
	for _, w := range d.watchers {
		w.close()
	}
	d.mu.Unlock()
	if !silent {
		d.cut()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for st := range d.streams {
		st.once.Do(func() { close(st.mute) })
	}
}
