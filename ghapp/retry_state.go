package ghapp

import "time"

// effectMemory is what a writer knows of an effect between its tries. A restart forgets it,
// which costs requests and time, never a double.
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

func (w *Writer) remembered(key string) effectMemory {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.memory[key]
}

func (w *Writer) remember(key string, change func(*effectMemory)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.memory[key]
	change(&e)
	w.memory[key] = e
}

// forget is for an effect that was written or given up.
func (w *Writer) forget(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.memory, key)
}

// waitsForPermission says whether an effect need not be tried yet.
func (w *Writer) waitsForPermission(key string, installation int64, now time.Time) bool {
	m := w.remembered(key)
	return now.Before(m.until) && m.evictions == w.app.evicted(installation)
}
