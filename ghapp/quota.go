package ghapp

// RequestsLeft is how many requests of the hour GitHub says it has left for each
// installation, by its newest answer; 0 is the App itself.
func (a *App) RequestsLeft() map[int64]int {
	out := map[int64]int{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, k := range a.kept {
		if left, told := k.backoff.remaining(); told {
			out[id] = left
		}
	}
	return out
}

// WritesLeft is how many writes each installation could make now. The number grows
// with time; per_hour bounds the writes of any hour.
func (w *Writer) WritesLeft() map[int64]float64 {
	out := map[int64]float64{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, q := range w.queues {
		out[id] = q.limiter.left(w.app.now())
	}
	return out
}
