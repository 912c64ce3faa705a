// Package primesim is a stub of Prime Sandboxes: the control plane, the gateway
// with its files, and the command stream, on one address of this host. Commands
// are real ones in a [machine.Machine], as root, as in a virtual machine of the
// service. There is no network inside, but the egress policies are kept and logged, and
// the names in [Options].Hosts are reached while the allow-list in force names them: not
// where everything is allowed, by their own ports only, and what is open stays open when
// the policy changes.
//
// It answers as the service does: statuses advance with time, tokens run out,
// limits hold, and whatever [Server.Inject] says goes wrong. The official Python
// SDK and command line work against it (folder pysdk). It never needs a
// testing.T, so that benchmarks and end-to-end tests use the same one.
package primesim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/test/machine"
)

// DefaultKey is the API key where Options.Keys is empty.
const DefaultKey = "pit-stub-key"

// DefaultImage is the only image where Options.Images is empty.
const DefaultImage = "yudai/sandbox:stub"

// Image is one image that sandboxes can have.
type Image struct {
	Name string
	// Build is how long its first sandbox waits for the image of the machine.
	Build time.Duration
	// Hide are programs that it lacks.
	Hide []string
}

// Options of a Server. The zero value is a service with one image, without limits
// of the plan and without delays.
type Options struct {
	Dir    string   // where the files of machines go, in a directory of their own; the system's place if empty
	Keys   []string // API keys that are valid
	Team   string   // the only team that exists; sandboxes may also have none
	Images []Image

	Concurrent int     // sandboxes at once, 0 for no limit
	Full       int     // the status of a create beyond Concurrent, 429 if 0
	MaxCores   float64 // 0 is the service's own limit, as below
	MaxMemory  float64 // GB
	MaxDisk    float64 // GB
	// DiskBytes really bounds the files of every machine, which are in memory then.
	DiskBytes int64

	Provision time.Duration // until a sandbox is RUNNING, at least
	Reach     time.Duration // RUNNING, but unknown to the gateway
	Apply     time.Duration // until an egress policy is applied
	Durable   time.Duration // until a checkpoint can be restored, at least
	Latency   time.Duration // added to every call
	Token     time.Duration // how long a gateway token is valid, 10 minutes if 0
	KeepAlive time.Duration // between two keepalives of a silent stream, 10 seconds if 0
	Retain    time.Duration // how long the end of a command session is kept, 5 minutes if 0

	NoCheckpoints bool // checkpoints are not offered
	NoBatch       bool // batches of statuses are not offered
	InlineAuth    bool // a create also answers a gateway token

	// Hosts are "name:port" that sandboxes reach where their policies name them, each
	// with the address of this machine that answers; none means no network.
	Hosts map[string]string
}

// Server is the stub at work. All methods may be called concurrently.
type Server struct {
	o        Options
	dir      string
	url      string
	listener net.Listener
	http     *http.Server
	routes   []route
	rpc      map[string]http.Handler
	work     sync.WaitGroup // goroutines of ours
	kick     chan struct{}  // something is due at another time
	stop     chan struct{}
	close    sync.Once

	mu sync.Mutex // guards all below, and every box and checkpoint
	state
	faultState
}

// New starts a stub on a free port of the loopback interface.
func New(o Options) (*Server, error) {
	if err := machine.Supported(); err != nil {
		return nil, fmt.Errorf("start the stub of Prime: %w", err)
	}
	dir, err := os.MkdirTemp(o.Dir, "primesim-")
	if err != nil {
		return nil, fmt.Errorf("start the stub of Prime: %w", err)
	}
	s := &Server{o: defaults(o), dir: dir, kick: make(chan struct{}, 1), stop: make(chan struct{})}
	s.state = newState(s.o)
	s.routes, s.rpc = s.controlRoutes(), s.commandHandlers()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the stub of Prime: %w", err), os.RemoveAll(dir))
	}
	s.listener, s.url = listener, "http://"+listener.Addr().String()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, Protocols: protocols}
	s.work.Go(func() { _ = s.http.Serve(listener) })
	s.work.Go(s.watch)
	return s, nil
}

func defaults(o Options) Options {
	if len(o.Keys) == 0 {
		o.Keys = []string{DefaultKey}
	}
	if len(o.Images) == 0 {
		o.Images = []Image{{Name: DefaultImage}}
	}
	for _, d := range []struct {
		value    *float64
		standard float64
	}{{&o.MaxCores, 16}, {&o.MaxMemory, 64}, {&o.MaxDisk, 1000}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Token, 10 * time.Minute}, {&o.KeepAlive, 10 * time.Second}, {&o.Retain, 5 * time.Minute}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	if o.Full == 0 {
		o.Full = http.StatusTooManyRequests
	}
	return o
}

// URL is the base address of the control plane, for PRIME_API_BASE_URL, and of the gateway.
func (s *Server) URL() string { return s.url }

// Close ends every sandbox and the stub. It is safe twice.
func (s *Server) Close() error {
	var err error
	s.close.Do(func() {
		s.mu.Lock()
		s.closed = true
		for _, b := range s.boxes {
			s.end(b, StatusTerminated, "", "the stub was closed")
		}
		s.mu.Unlock()
		close(s.stop)
		err = s.http.Close()
		s.work.Wait()
		err = errors.Join(err, os.RemoveAll(s.dir))
	})
	return err
}
