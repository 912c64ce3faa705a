package e2bsim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/test/machine"
)

// state of a sandbox. Only the first two are seen from outside.
type state string

const (
	running  state = "running"
	paused   state = "paused"
	starting state = "starting" // holds a slot, is in no list
)

// box is one sandbox.
type box struct {
	id       string
	template *template
	dir      string
	// change serialises what ends, copies, stops and starts it.
	change sync.Mutex

	// Under Server.mu:
	state     state
	capturing bool // missing from lists
	token     string
	traffic   string
	started   time.Time // of this run
	end       time.Time
	metadata  map[string]string
	envs      map[string]string
	network   network
	autoPause bool
	daemon    *daemon // nil unless it runs
	machine   *machine.Machine
}

// network are the rules of what a sandbox may reach.
type network struct {
	AllowOut           []string       `json:"allowOut,omitempty"`
	DenyOut            []string       `json:"denyOut,omitempty"`
	Rules              map[string]any `json:"rules,omitempty"`
	AllowPublicTraffic *bool          `json:"allowPublicTraffic,omitempty"`
	Internet           *bool          `json:"allow_internet_access,omitempty"`
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

// code returns n random characters of [a-z0-9].
func code(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[rand.IntN(len(letters))]
	}
	return string(text)
}

// now is the stub's time: the host's, and what Advance added. s.mu is held.
func (s *Server) now() time.Time { return time.Now().Add(s.ahead).UTC() }

// Advance moves the stub's clock forward, and returns when what is due has happened.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	s.ahead += d
	s.mu.Unlock()
	s.sweep()
}

// arm sets the timer to the next end of a sandbox. s.mu is held.
func (s *Server) arm() {
	next := time.Hour
	for _, b := range s.boxes {
		if b.state == running {
			next = min(next, max(b.end.Sub(s.now()), time.Millisecond))
		}
	}
	if !s.closed {
		s.timer.Reset(next)
	}
}

// over reports whether the time of a sandbox is up. s.mu is held.
func (s *Server) over(b *box) bool { return b.state == running && !s.now().Before(b.end) }

// sweep ends or pauses the sandboxes whose time is up.
func (s *Server) sweep() {
	s.mu.Lock()
	var due []*box
	for _, b := range s.boxes {
		if s.over(b) {
			due = append(due, b)
		}
	}
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.work.Add(1)
	s.mu.Unlock()
	defer s.work.Done()
	for _, b := range due {
		b.change.Lock()
		s.mu.Lock()
		still, pause := s.over(b), b.autoPause
		s.mu.Unlock()
		switch {
		case still && pause:
			s.stop(b)
		case still:
			_ = s.end(b) // files that are left go with the server's
		}
		b.change.Unlock()
	}
	s.mu.Lock()
	s.arm()
	s.mu.Unlock()
}

// find returns a sandbox that runs or is paused. s.mu is held.
func (s *Server) find(id string) *box {
	b := s.boxes[id]
	if b == nil || b.state == starting || s.over(b) && !b.autoPause {
		return nil
	}
	return b
}

// boot starts the machine of a new or paused sandbox, from files if it is new.
func (s *Server) boot(b *box, from string) error {
	t := b.template
	m, err := machine.Start(machine.Options{
		Dir: b.dir, From: from, Hide: t.Hide, DiskBytes: t.DiskBytes, Hostname: "e2b",
		Hosts: s.o.Hosts, Allowed: func() []string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return b.network.AllowOut // replaced as a whole, never changed
		},
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.machine = m
	b.daemon = newDaemon(s, b)
	b.state = running
	s.arm()
	return nil
}

// unplug takes the machine and the daemon of a sandbox away. s.mu is held.
func (b *box) unplug() (*machine.Machine, *daemon) {
	m, d := b.machine, b.daemon
	b.machine, b.daemon = nil, nil
	return m, d
}

// stop pauses a sandbox: its processes end, its files stay. b.change is held.
func (s *Server) stop(b *box) {
	s.mu.Lock()
	m, d := b.unplug()
	b.state = paused
	silent := s.silent
	s.arm()
	s.mu.Unlock()
	d.close(silent)
	_ = m.Stop()
	if !silent {
		d.work.Wait()
	}
}

// end removes a sandbox. b.change is held.
func (s *Server) end(b *box) error {
	s.mu.Lock()
	if s.boxes[b.id] != b {
		s.mu.Unlock()
		return nil
	}
	delete(s.boxes, b.id)
	m, d := b.unplug()
	silent := s.silent
	s.arm()
	s.mu.Unlock()
	if d != nil {
		d.close(silent)
	}
	var err error
	if m != nil {
		err = m.Close()
	}
	if d != nil && !silent {
		d.work.Wait()
	}
	if err = errors.Join(err, os.RemoveAll(b.dir)); err != nil {
		return fmt.Errorf("end sandbox %s: %w", b.id, err)
	}
	return nil
}

// remove ends a sandbox, and reports whether there was one.
func (s *Server) remove(id string) (bool, error) {
	s.mu.Lock()
	b := s.boxes[id]
	found := s.find(id) != nil
	s.mu.Unlock()
	if b == nil {
		return false, nil
	}
	b.change.Lock()
	defer b.change.Unlock()
	return found, s.end(b)
}

// Kill ends a sandbox at once, as a failure of its host would.
func (s *Server) Kill(id string) { _, _ = s.remove(id) }

// killer returns what ends a sandbox beside the call that asks for it.
func (s *Server) killer(id string) func() {
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			s.work.Go(func() { s.Kill(id) })
		}
	}
}

// Billed returns the ids of the sandboxes that cost money now.
func (s *Server) Billed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id, b := range s.boxes {
		if b.state == starting || b.state == running && !s.over(b) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Stored returns the ids of what is kept without running: snapshots and paused sandboxes.
func (s *Server) Stored() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id, b := range s.boxes {
		if b.state == paused || s.over(b) && b.autoPause {
			ids = append(ids, id)
		}
	}
	for _, t := range s.templates {
		if t.snapshot {
			ids = append(ids, t.name())
		}
	}
	slices.Sort(ids)
	return ids
}

// Network returns the rules of a sandbox: what it may reach and what not, and
// whether the rest is open.
func (s *Server) Network(id string) (allow, deny []string, internet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[id]
	if b == nil {
		return nil, nil, false
	}
	n := b.network
	return slices.Clone(n.AllowOut), slices.Clone(n.DenyOut), n.Internet == nil || *n.Internet
}

// Metadata returns the metadata of a sandbox.
func (s *Server) Metadata(id string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[id]; b != nil {
		return maps.Clone(b.metadata)
	}
	return nil
}

// Machine returns the machine of a running sandbox, nil if there is none: for
// tests that look into it or change it behind the client's back.
func (s *Server) Machine(id string) *machine.Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[id]; b != nil {
		return b.machine
	}
	return nil
}

// place returns where the files of a new thing go.
func (s *Server) place(kind string) string { return filepath.Join(s.dir, kind+"-"+code(20)) }
