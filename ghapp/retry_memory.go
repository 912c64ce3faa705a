package ghapp

import (
	"sync"
	"time"
)

// memory is what a writer knows of effects between their tries. A restart
// forgets it, which costs requests and time, never a double.
type retryMemory struct {
	mu   sync.Mutex
	seen map[string]*effectMemory // by effect
}

type effectMemory struct {
	failures int
	// objects are the git objects made so far: a pace slower than a claim would make
	// them again with every try.
	objects map[string]string
	// until and evictions: the effect waits for a right, see [memory.hold].
	until     time.Time
	evictions uint64
}

func newRetryMemory() *retryMemory { return &retryMemory{seen: map[string]*effectMemory{}} }

// of needs the lock.
func (m *retryMemory) of(key string) *effectMemory {
	r := m.seen[key]
	if r == nil {
		r = &effectMemory{objects: map[string]string{}}
		m.seen[key] = r
	}
	return r
}

// failed counts one more failure of an effect.
func (m *retryMemory) failed(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of(key)
	r.failures++
	return r.failures
}

// object is a git object made by an earlier try, "" if it was not.
func (m *retryMemory) object(key, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.seen[key]; r != nil {
		return r.objects[name]
	}
	return ""
}

func (m *retryMemory) keep(key, name, sha string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(key).objects[name] = sha
}

// hold lets an effect that lacks a right wait until a time, or until the
// installation's clients are forgotten once more: its owner changed something.
func (m *retryMemory) hold(key string, until time.Time, evictions uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of(key)
	r.until, r.evictions = until, evictions
}

func (m *retryMemory) held(key string, now time.Time, evictions uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.seen[key]
	return r != nil && now.Before(r.until) && r.evictions == evictions
}

// forget ends the memory of an effect: it was written, or given up.
func (m *retryMemory) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, key)
}
