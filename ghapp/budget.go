package ghapp

import "maps"

// Left is how many requests of the hour GitHub says it has left for each
// installation, by its newest answer; 0 is the App itself.
func (a *App) Left() map[int64]int {
	a.mu.Lock()
	gates := maps.Clone(a.gates)
	a.mu.Unlock()
	out := map[int64]int{}
	for id, g := range gates {
		g.mu.Lock()
		if g.told {
			out[id] = g.left
		}
		g.mu.Unlock()
	}
	return out
}

// Budget is how many writes each installation could make at once; more become
// possible with every moment, up to per_hour in any hour.
func (w *Writer) Budget() map[int64]float64 {
	w.mu.Lock()
	lanes := maps.Clone(w.lanes)
	w.mu.Unlock()
	out := map[int64]float64{}
	for id, l := range lanes {
		l.pace.mu.Lock()
		l.pace.fill(w.app.now())
		out[id] = max(0, l.pace.tokens)
		l.pace.mu.Unlock()
	}
	return out
}
