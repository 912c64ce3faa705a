// Package e2bsim is a stub of E2B: the control plane and, in each sandbox, the
// daemon envd. Its sandboxes are real enough to work in: their commands run in
// machines of package machine, their files are files.
//
// A test starts a server, points a client at its two URLs, and looks afterwards at
// what would still be billed:
//
//	s, err := e2bsim.New(e2bsim.Options{})
//	defer s.Close()
//	cfg.APIURL, cfg.SandboxURL = s.URL(), s.SandboxURL() // and the key e2bsim.Key
//	s.Inject(e2bsim.Fault{On: e2bsim.CallCreate, Kind: e2bsim.FaultRate, RetryAfter: 1})
//	...
//	s.Billed() // must be empty
//
// What differs from the service: machines have no network, whatever the rules say
// (Network tells the rules), but for the names in Options.Hosts. Such a name is reached
// where allowOut names it, and not where everything is allowed; by its own port only; what
// is open stays open when the rules change; and the name in TLS or in the Host header is
// not looked at. Processes do not survive a fork, a snapshot or a pause in the copy,
// they live on in the original of a fork and a snapshot; the files may change while
// they are captured; steps of template builds that run commands are noted and not run,
// unless Options.RunSteps asks for it.
package e2bsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/test/machine"
)

// Key is the API key that a server knows unless Options.Keys says otherwise.
const Key = "e2b_0123456789abcdef0123456789abcdef01234567"

// Options of a server. The zero value is a plan of its own size with the template "base".
type Options struct {
	// Dir is the parent of the server's files; empty is the system's.
	Dir string
	// Keys are the API keys; none means Key.
	Keys []string
	Plan Plan
	// Templates are known from the start; none means one called "base".
	Templates []Template
	// Latency is added to every request.
	Latency time.Duration
	// NoV2 leaves out the second version of making and listing sandboxes.
	NoV2 bool
	// NoFork answers forks and snapshots as a server does that lacks them.
	NoFork bool
	// RunSteps runs the RUN steps of template builds.
	RunSteps bool
	// Hosts are "name:port" that sandboxes reach where their rules name them, each
	// with the address of this machine that answers; none means no network.
	Hosts map[string]string
}

// Plan are the limits of an account; zero values are those of DefaultPlan.
type Plan struct {
	Concurrent int           // running sandboxes
	Session    time.Duration // the longest life of one
	Creations  int           // in a second, 0 is no limit
	ForkCap    int           // copies that one fork may ask for
	CPUs       int
	MemoryMiB  int
}

// DefaultPlan is the limits that hold where a Plan says nothing.
func DefaultPlan() Plan {
	return Plan{Concurrent: 20, Session: time.Hour, ForkCap: 100, CPUs: 8, MemoryMiB: 8192}
}

func (p Plan) filled() Plan {
	d := DefaultPlan()
	p.Creations = max(p.Creations, 0)
	for _, f := range []struct {
		value *int
		other int
	}{{&p.Concurrent, d.Concurrent}, {&p.ForkCap, d.ForkCap}, {&p.CPUs, d.CPUs}, {&p.MemoryMiB, d.MemoryMiB}} {
		if *f.value == 0 {
			*f.value = f.other
		}
	}
	if p.Session == 0 {
		p.Session = d.Session
	}
	return p
}

// Server is a running stub. All methods may be called concurrently.
type Server struct {
	o    Options
	dir  string
	api  *door
	edge *door
	work sync.WaitGroup // what runs beside calls

	mu         sync.Mutex
	ahead      time.Duration
	timer      *time.Timer
	closed     bool
	keys       map[string]bool
	boxes      map[string]*box
	templates  map[string]*template
	uploads    map[string]string // tickets of uploads: the file's hash
	creations  []time.Time
	calls      map[Call]int
	faults     []*Injection
	complaints []string
	silent     bool
	latency    time.Duration
}

// New starts a server on free ports of the loopback.
func New(o Options) (*Server, error) {
	if err := machine.Supported(); err != nil {
		return nil, err
	}
	o.Plan = o.Plan.filled()
	if len(o.Keys) == 0 {
		o.Keys = []string{Key}
	}
	if len(o.Templates) == 0 {
		o.Templates = []Template{{Name: "base"}}
	}
	dir, err := os.MkdirTemp(o.Dir, "e2bsim-")
	if err != nil {
		return nil, fmt.Errorf("make the directory of the E2B stub: %w", err)
	}
	s := &Server{
		o: o, dir: dir, latency: o.Latency, keys: map[string]bool{}, boxes: map[string]*box{}, templates: map[string]*template{},
		uploads: map[string]string{}, calls: map[Call]int{},
	}
	for _, k := range o.Keys {
		s.keys[k] = true
	}
	for _, t := range o.Templates {
		known := newTemplate(t.filled())
		s.templates[known.ID] = known
	}
	s.timer = time.AfterFunc(time.Hour, s.sweep)
	s.api, err = openDoor(s.apiHandler())
	if err == nil {
		s.edge, err = openDoor(s.proxyHandler())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the E2B stub: %w", err), s.Close())
	}
	return s, nil
}

// URL is the base of the control plane.
func (s *Server) URL() string { return "http://" + s.api.address }

// SandboxURL is the shared base of all sandboxes, which are told apart by the header
// E2b-Sandbox-Id or by a host name that begins "49983-ID.".
func (s *Server) SandboxURL() string { return "http://" + s.edge.address }

// Close ends all sandboxes and removes all files. It is safe twice.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed, s.silent = true, false
	s.timer.Stop()
	var ids []string
	for id := range s.boxes {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	for _, d := range []*door{s.api, s.edge} {
		if d != nil {
			d.close()
			d.release()
		}
	}
	var errs []error
	for _, id := range ids {
		if _, err := s.remove(id); err != nil {
			errs = append(errs, err)
		}
	}
	s.work.Wait()
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// door is a listener that can be shut and opened again at the same address.
type door struct {
	handler http.Handler
	address string

	mu     sync.Mutex
	server *http.Server
	held   int // a socket that is bound and does not listen: a shut door's address stays its own; 0 is none
}

func openDoor(h http.Handler) (*door, error) {
	d := &door{handler: h, address: "127.0.0.1:0"}
	return d, d.open()
}

// open listens, unless it does already.
func (d *door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil {
		return nil
	}
	d.letGo()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", d.address)
	if err != nil {
		return err
	}
	d.address = l.Addr().String()
	server := &http.Server{Handler: d.handler, ReadHeaderTimeout: time.Minute, ErrorLog: nil}
	d.server = server
	go func() { _ = server.Serve(l) }()
	return nil
}

// close refuses connections, and cuts those that are open.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil {
		_ = d.server.Close()
		d.server = nil
		d.hold()
	}
}

// hold keeps others from listening at the address: whoever calls is to be refused.
func (d *door) hold() {
	at, err := netip.ParseAddrPort(d.address)
	if err != nil {
		return
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		_ = syscall.Close(fd)
		return
	}
	d.held = fd
}

// release gives the address up.
func (d *door) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.letGo()
}

func (d *door) letGo() {
	if d.held != 0 {
		_ = syscall.Close(d.held)
		d.held = 0
	}
}
