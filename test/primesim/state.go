package primesim

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// userID is the only person's id.
const userID = "cstubuser0000000000000000"

// state is what the service knows.
type state struct {
	closed      bool
	ahead       time.Duration
	keys        map[string]bool // valid or revoked
	images      map[string]*image
	boxes       []*box // in the order of their creation
	byID        map[string]*box
	byJob       map[string]*box
	byKey       map[string]*box // idempotency keys
	checkpoints []*checkpoint
	tokens      map[string]token
	calls       map[Call]int
	starts      []Start
}

// token is what a gateway token opens.
type token struct {
	box     *box
	expires time.Time
}

func newState(o Options) state {
	st := state{
		keys: map[string]bool{}, images: map[string]*image{}, byID: map[string]*box{}, byJob: map[string]*box{},
		byKey: map[string]*box{}, tokens: map[string]token{}, calls: map[Call]int{},
	}
	for _, k := range o.Keys {
		st.keys[k] = true
	}
	for _, i := range o.Images {
		st.images[i.Name] = &image{Image: i}
	}
	return st
}

// newID is an id as the service makes them: 24 lower-case letters and digits.
func newID() string {
	return "c" + strings.ToLower(rand.Text())[:23]
}

// newToken looks like the service's tokens: three parts with dots.
func newToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return "eyJhbGciOiJub25lIn0." + hex.EncodeToString(b) + "." + strings.ToLower(rand.Text())
}

// Start is a command that began, with the network of the sandbox at that moment.
type Start struct {
	Sandbox string // its id
	Name    string // its name
	Program []string
	Env     map[string]string
	// Allow and Deny are the policy in force, Applied whether it was the newest one.
	Allow, Deny []string
	Applied     bool
}

// Billed returns the ids of the sandboxes that cost money now.
func (s *Server) Billed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepAll()
	var ids []string
	for _, b := range s.boxes {
		if !b.over() {
			ids = append(ids, b.id)
		}
	}
	return ids
}

// Stored returns the ids of the checkpoints that cost money now.
func (s *Server) Stored() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepAll()
	var ids []string
	for _, c := range s.checkpoints {
		if c.State != checkpointFailed {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Calls returns how often a call was made; [Any], [AnyControl] and [AnyGateway] add up.
func (s *Server) Calls(c Call) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for made, count := range s.calls {
		if c.matches(made) {
			n += count
		}
	}
	return n
}

// Starts returns the commands that began, in order.
func (s *Server) Starts() []Start {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.starts)
}

// IDs returns the ids of all sandboxes of that name, the ended ones too.
func (s *Server) IDs(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, b := range s.boxes {
		if b.req.Name == name {
			ids = append(ids, b.id)
		}
	}
	return ids
}

// Status returns the status and the error type of a sandbox, "" if there is none.
func (s *Server) Status(id string) (status, errorType string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepAll()
	if b := s.byID[id]; b != nil {
		return b.status, b.errorType
	}
	return "", ""
}
