package ghapp

import (
	"sync"
	"time"
)

// retryMemory is what a writer knows of effects between their tries. A restart
// forgets it, which costs requests and time, never a double.
type retryMemory struct {
	mu      sync.Mutex
	effects map[string]effectMemory // by key
}

type effectMemory struct {
	failures int
	// objects are the git objects made so far: a rate slower than a claim would make
	// them again with every try.
	objects map[string]string
	// An effect that lacks a permission waits until a time, or until the installation's
	// clients are evicted once more: its owner changed something.
	until     time.Time
	evictions uint64
}

func newRetryMemory() *retryMemory { return &retryMemory{effects: map[string]effectMemory{}} }

func (m *retryMemory) of(key string) effectMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.effects[key]
}

func (m *retryMemory) update(key string, change func(*effectMemory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.effects[key]
	change(&e)
	m.effects[key] = e
}

// forget is for an effect that was written or given up.
func (m *retryMemory) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.effects, key)
}

// waitsForPermission says whether an effect need not be tried yet.
func (w *Writer) waitsForPermission(key string, installation int64, now time.Time) bool {
	m := w.memory.of(key)
	return now.Before(m.until) && m.evictions == w.app.evicted(installation)
}
