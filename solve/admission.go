package solve

import (
	"cmp"
	"slices"
	"time"
)

// Brief is what the order of claims and of admission depends on, of one solve in no final state.
type Brief struct {
	ID           ID        `json:"id"`
	Repo         int64     `json:"repo"`
	Installation int64     `json:"installation"`
	Created      time.Time `json:"created"`
	State        State     `json:"state"`
	Owner        string    `json:"owner,omitempty"`
	Cancelled    bool      `json:"cancelled,omitempty"` // the cancel was asked for
	Deadline     time.Time `json:"deadline,omitzero"`
	Parallel     int       `json:"parallel,omitempty"`
	// Wave is the last wave whose runs may start.
	Wave int `json:"wave"`
}

// Brief returns what the order of claims and of admission depends on.
func (s Solve) Brief() Brief {
	b := Brief{
		ID: s.ID, Repo: s.Repo.ID, Installation: s.Repo.Installation, Created: s.Created, State: s.State, Owner: s.Lease.Node,
		Cancelled: !s.CancelAt.IsZero(), Deadline: s.Deadline, Parallel: s.Plan.Limits.Parallel, Wave: MaxWave,
	}
	if s.Plan.Stop == StopWaves {
		b.Wave = s.Wave
	}
	return b
}

// mustEnd says whether a running solve is over for a reason that is not its runs'.
func (b Brief) mustEnd(now time.Time) bool {
	return b.Cancelled || !b.Deadline.IsZero() && !b.Deadline.After(now)
}

// older orders by age.
func older(a, b Brief) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) }

// NextClaim names the solve that is claimed next, "" if there is none. begun are the live
// solves that left the queue or have an owner; waiting are those that [Solve.Waiting] is true
// of, of each repository at least the oldest.
//
// First comes the oldest that nobody live owns in state preparing, reducing or publishing, or
// running with its runs all ended or its cancel or deadline due. Then comes the queue: the
// repository with the fewest other live solves that left it or are owned, and the oldest among equals.
func NextClaim(read Reader, begun, waiting []Brief, now time.Time) ID {
	busy := map[int64]int{}
	queue := slices.Clone(waiting)
	var free []Brief
	for _, b := range begun {
		owned := read.Alive(b.Owner)
		if b.State == StateQueued && !owned {
			queue = append(queue, b)
			continue
		}
		busy[b.Repo]++
		if !owned && (b.State != StateRunning || b.mustEnd(now) || read.Unfinished(b.ID, 1) == 0) {
			free = append(free, b)
		}
	}
	if len(free) > 0 {
		return slices.MinFunc(free, older).ID
	}
	if len(queue) == 0 {
		return ""
	}
	return slices.MinFunc(queue, func(a, b Brief) int { return cmp.Or(cmp.Compare(busy[a.Repo], busy[b.Repo]), older(a, b)) }).ID
}

// Load is a running solve with how many of its runs are at work, and the first of its
// queued runs, by wave and number; N is 0 if none is queued.
type Load struct {
	Brief
	Active  int
	Wave, N int
}

// NextAdmission is the index of the solve whose first queued run starts next, -1 if none may:
// the repository with the fewest runs at work goes first, then the oldest solve. list must
// have every solve with a run at work. Solves that must end start nothing.
func NextAdmission(list []Load, caps Caps, now time.Time) int {
	all, installations, repos := 0, map[int64]int{}, map[int64]int{}
	for _, l := range list {
		all += l.Active
		installations[l.Installation] += l.Active
		repos[l.Repo] += l.Active
	}
	next := -1
	for i, l := range list {
		switch {
		case l.N == 0, l.Wave > l.Brief.Wave, l.State != StateRunning, l.mustEnd(now):
		case full(caps.Process, all), full(caps.Installation, installations[l.Installation]), full(caps.Repository, repos[l.Repo]):
		case full(l.Parallel, l.Active):
		case next < 0 || cmp.Or(cmp.Compare(repos[l.Repo], repos[list[next].Repo]), older(l.Brief, list[next].Brief)) < 0:
			next = i
		}
	}
	return next
}

// full says whether a bound is reached; 0 is no bound.
func full(most, n int) bool { return most > 0 && n >= most }
