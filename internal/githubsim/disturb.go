package githubsim

import "time"

// DisturbKind is one way for a webhook to arrive badly.
type DisturbKind string

// The disturbances.
const (
	DisturbDrop      DisturbKind = "drop"      // never sent; a failure in the delivery log
	DisturbDuplicate DisturbKind = "duplicate" // sent twice with one GUID
	DisturbReorder   DisturbKind = "reorder"   // sent after the one that follows it, so not before there is one
	DisturbDelay     DisturbKind = "delay"     // sent Delay later, and what follows behind it
)

// Disturbance is one line of the script for webhooks.
type Disturbance struct {
	Kind DisturbKind
	// Event and Action choose the deliveries; empty is all.
	Event, Action string
	// Nth is the first one disturbed, from 1 (0 is 1), Count how many (0 is 1,
	// negative is all from then on).
	Nth, Count int
	// Delay is for DisturbDelay.
	Delay time.Duration

	seen int
}

// Disturb puts a disturbance in force for deliveries queued from now on.
func (h *Hub) Disturb(d Disturbance) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d.seen = 0
	h.disturbs = append(h.disturbs, &d)
}

// disturbance finds the first that hits d; all that match count it.
func (h *Hub) disturbance(d *delivery) (hit *Disturbance) {
	for _, x := range h.disturbs {
		if x.Event != "" && x.Event != d.event || x.Action != "" && x.Action != d.action {
			continue
		}
		x.seen++
		first, count := max(x.Nth, 1), x.Count
		if count == 0 {
			count = 1
		}
		if hit == nil && x.seen >= first && (count < 0 || x.seen < first+count) {
			hit = x
		}
	}
	return hit
}
