package ghapp

import (
	"sync"
	"time"
)

// memory is what a writer knows of effects between their tries. A restart
// forgets it, which costs requests and time, never a double.
type memory struct {
	mu   sync.Mutex
	seen map[string]*recollection // by effect
}

type recollection struct {
	failures int
	// objects are the git objects made so far: a pace slower than a claim would make
	// them again with every try.
	objects map[string]string
	// until and evictions: the effect waits for a right, see [memory.hold].
	until     time.Time
	evictions uint64
}

func newMemory() *memory { return &memory{seen: map[string]*recollection{}} }

// of needs the lock.
func (m *memory) of(key string) *recollection {
	r := m.seen[key]
	if r == nil {
		r = &recollection{objects: map[string]string{}}
		m.seen[key] = r
	}
	return r
}

// failed counts one more failure of an effect.
func (m *memory) failed(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of(key)
	r.failures++
	return r.failures
}

// object is a git object made by an earlier try, "" if it was not.
func (m *memory) object(key, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.seen[key]; r != nil {
		return r.objects[name]
	}
	return ""
}

func (m *memory) keep(key, name, sha string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(key).objects[name] = sha
}

// hold lets an effect that lacks a right wait until a time, or until the
// installation's clients are forgotten once more: its owner changed something.
func (m *memory) hold(key string, until time.Time, evictions uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of(key)
	r.until, r.evictions = until, evictions
}

func (m *memory) held(key string, now time.Time, evictions uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.seen[key]
	return r != nil && now.Before(r.until) && r.evictions == evictions
}

// forget ends the memory of an effect: it was written, or given up.
func (m *memory) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, key)
}
