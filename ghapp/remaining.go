package ghapp

import "maps"

// RequestsLeft is how many requests of the hour GitHub says it has left for each
// installation, by its newest answer; 0 is the App itself.
func (a *App) RequestsLeft() map[int64]int {
	a.mu.Lock()
	backoffs := maps.Clone(a.backoffs)
	a.mu.Unlock()
	out := map[int64]int{}
	for id, g := range backoffs {
		g.mu.Lock()
		if g.told {
			out[id] = g.left
		}
		g.mu.Unlock()
	}
	return out
}

// WritesLeft is how many writes each installation could make now. The number grows
// with time; per_hour bounds the writes of any hour.
func (w *Writer) WritesLeft() map[int64]float64 {
	w.mu.Lock()
	queues := maps.Clone(w.queues)
	w.mu.Unlock()
	out := map[int64]float64{}
	for id, q := range queues {
		q.limiter.mu.Lock()
		q.limiter.refill(w.app.now())
		out[id] = max(0, q.limiter.tokens)
		q.limiter.mu.Unlock()
	}
	return out
}
