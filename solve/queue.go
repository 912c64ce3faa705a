package solve

import (
	"cmp"
	"slices"
)

// Waiting says whether a solve stands in the queue: nobody works on it or did.
// One whose owner died counts as soon as its lease is over, which only a store knows.
func (s Solve) Waiting() bool { return s.State == StateQueued && s.Lease.Node == "" }

// Queue puts the waiting ones among the live solves in the order in which a store's
// ClaimSolve gives them out while nothing else changes: the repository with the
// fewest solves that left the queue is next, with its oldest; among equals the oldest.
func Queue(live []Solve) []Solve {
	begun := map[int64]int{}
	var out []Solve
	for _, s := range live {
		switch {
		case s.State.Final():
		case s.Waiting():
			out = append(out, s)
		default:
			begun[s.Repo.ID]++
		}
	}
	age := func(a, b Solve) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(out, age)
	turns := map[ID]int{} // how many of its repository go before it
	for _, s := range out {
		turns[s.ID] = begun[s.Repo.ID]
		begun[s.Repo.ID]++
	}
	slices.SortStableFunc(out, func(a, b Solve) int { return cmp.Compare(turns[a.ID], turns[b.ID]) })
	return out
}
