package solve

import (
	"errors"
	"fmt"
	"time"
)

// Reader is what the rules read of a store, within the transaction that writes what they return.
type Reader interface {
	Solve(id ID) (Solve, error)
	Run(id ID, n int) (Run, error)
	// Runs are all runs of a solve, by number.
	Runs(id ID) ([]Run, error)
	// Unfinished counts the runs of a solve that are in no final state, up to that many.
	Unfinished(id ID, most int) int
	// Alive says whether the lease of a node has not run out.
	Alive(node string) bool
	// Fate is what was counted of a solve, and TrackRecord what of a repository; both are zero where nothing was.
	Fate(id ID) (Fate, error)
	TrackRecord(repo int64) (TrackRecord, error)
}

// Transition is everything that follows from one event. An engine writes it in one transaction.
type Transition struct {
	Solve Solve
	// Run is the run that the event happened to, as it is after everything; zero for an event of the solve.
	Run Run
	// Runs are those that changed or are new, each once.
	Runs    []RunChange
	Entries []Entry  // for the event log
	Effects []Effect // to be asked for, see [EffectsOf]
	// Learned is what a solve that ended here adds to its repository's track record, nil if nothing.
	Learned *Learned

	read    Reader
	at      time.Time
	changed map[int]int // run number: index in Runs
}

// RunChange is a run before and after a transition; Before is nil for a new one.
type RunChange struct {
	Before *Run
	After  Run
}

// Apply does one change. [ErrLeaseLost], [ErrTransition] and [ErrNotFound] say why not.
func Apply(read Reader, c Change, at time.Time) (*Transition, error) {
	t, err := begin(read, c.Solve, at)
	if err != nil {
		return nil, err
	}
	if c.Run == 0 {
		err = t.applySolve(c)
	} else {
		err = t.applyRun(c)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Cancel notes that somebody wants the solve stopped, and ends what nobody works on:
// its queued runs, and the solve itself if it waits or has no unfinished run left.
// Nothing changes for a solve in a final state. by and why are [Solve.CancelBy] and [Solve.CancelWhy].
func Cancel(read Reader, id ID, by, why string, at time.Time) (*Transition, error) {
	t, err := begin(read, id, at)
	if err != nil || t.Solve.State.Final() {
		return t, err
	}
	s := &t.Solve
	if s.CancelAt.IsZero() {
		s.CancelBy, s.CancelWhy, s.CancelAt = by, why, at
	}
	stop := Change{Event: Cancelled{}, Reason: s.cancelReason()}
	if err := t.endRuns(stop, true); err != nil {
		return nil, err
	}
	if s.State == StateQueued && !read.Alive(s.Lease.Node) {
		return t, t.moveSolve(stop)
	}
	return t, t.runsChanged()
}

// Admit gives a queued run to a node.
func Admit(read Reader, id ID, n int, node string, at time.Time) (*Transition, error) {
	t, err := begin(read, id, at)
	if err != nil {
		return nil, err
	}
	if t.Run, err = read.Run(id, n); err != nil {
		return nil, err
	}
	if err := t.moveRun(t.Run, Change{Event: admitted{node}}); err != nil {
		return nil, err
	}
	t.Run = t.after(n)
	return t, nil
}

func begin(read Reader, id ID, at time.Time) (*Transition, error) {
	s, err := read.Solve(id)
	if err != nil {
		return nil, err
	}
	return &Transition{Solve: s, read: read, at: at, changed: map[int]int{}}, nil
}

// Fence refuses a writer who is not the record's living owner. Token 0 is no owner's and passes.
func Fence(l Lease, token uint64, alive func(node string) bool) error {
	switch {
	case token == 0:
		return nil
	case l.Token != token:
		return fmt.Errorf("token %d, newest is %d: %w", token, l.Token, ErrLeaseLost)
	case l.Node == "":
		return fmt.Errorf("token %d was given up: %w", token, ErrLeaseLost)
	case !alive(l.Node):
		return fmt.Errorf("node %q is not live: %w", l.Node, ErrLeaseLost)
	default:
		return nil
	}
}

func (t *Transition) applySolve(c Change) error {
	if err := Fence(t.Solve.Lease, c.Token, t.read.Alive); err != nil {
		return fmt.Errorf("solve %s: %w", t.Solve.ID, err)
	}
	return t.moveSolve(c)
}

func (t *Transition) applyRun(c Change) error {
	r, err := t.read.Run(c.Solve, c.Run)
	if err != nil {
		return err
	}
	if err := Fence(r.Lease, c.Token, t.read.Alive); err != nil {
		return fmt.Errorf("run %d of solve %s: %w", r.N, r.Solve, err)
	}
	if err := t.moveRun(r, c); err != nil {
		return err
	}
	if !t.after(c.Run).State.Active() {
		err = t.runsChanged()
	}
	t.Run = t.after(c.Run) // one that went back into the queue may be over now
	return err
}

// after is a run that this transition changed.
func (t *Transition) after(n int) Run { return t.Runs[t.changed[n]].After }

// moveRun applies an event to a run.
func (t *Transition) moveRun(r Run, c Change) error { return t.moveRunOf(r, r.Lease.Token, c) }

// moveRunOf applies an event to a run, whose token is the given one from now on.
func (t *Transition) moveRunOf(r Run, token uint64, c Change) error {
	to, err := NextRun(r.State, NameOf(c.Event))
	if err != nil {
		return fmt.Errorf("run %d of solve %s: %w", r.N, r.Solve, err)
	}
	before, from := r, r.State
	r.Lease.Token = token
	setRun(&r, c.Event, t.at)
	if c.SandboxUses != nil {
		r.SandboxUses = c.SandboxUses
	}
	r.State = to
	if !to.Active() {
		r.Lease.Node = ""
	}
	if to.Final() {
		r.Ended, r.Reason = t.at, c.Reason
	}
	t.put(&before, r)
	t.log(r.N, c, string(from), string(to))
	t.Effects = append(t.Effects, EffectsOf(t.Solve, &r, NameOf(c.Event))...)
	return nil
}

func (t *Transition) put(before *Run, r Run) {
	if i, known := t.changed[r.N]; known {
		t.Runs[i].After = r
		return
	}
	t.changed[r.N] = len(t.Runs)
	t.Runs = append(t.Runs, RunChange{before, r})
}

// log appends the event to the solve's log.
func (t *Transition) log(run int, c Change, from, to string) {
	t.Solve.Seq++
	t.Entries = append(t.Entries, Entry{
		Solve: t.Solve.ID, Seq: t.Solve.Seq, At: t.at, Run: run, Event: NameOf(c.Event), From: from, To: to, Reason: c.Reason,
	})
}

// moveSolve applies an event to the solve, creates its runs, and ends those that
// a final state leaves unfinished.
func (t *Transition) moveSolve(c Change) error {
	s := &t.Solve
	from, name := s.State, NameOf(c.Event)
	to, err := NextSolve(from, name)
	if err != nil {
		return fmt.Errorf("solve %s: %w", s.ID, err)
	}
	setSolve(s, c.Event, t.at)
	s.State = to
	ready, created := c.Event.(BaseReady)
	if err := t.create(ready.Runs); err != nil {
		return err
	}
	if to.Final() {
		s.Lease.Node = ""
		s.Ended, s.Reason = t.at, c.Reason
		end := Change{Event: Cancelled{}, Reason: c.Reason}
		if name == EventExpired {
			end.Event = TimedOut{}
		}
		if err := errors.Join(t.endRuns(end, false), t.learn()); err != nil {
			return err
		}
	}
	t.log(0, c, string(from), string(to))
	t.Effects = append(t.Effects, EffectsOf(*s, nil, name)...)
	if created && len(ready.Runs) > 0 {
		return t.runsChanged() // all of them may have been carried over
	}
	return nil
}

// recordVersion is the version of the records that the rules make.
const recordVersion = 1

// Runs have at most these numbers, so that an engine may keep both in four bytes of a key.
const (
	MaxWave = 1<<15 - 1
	MaxRun  = 1<<16 - 1
)

func (t *Transition) create(list []Run) error {
	for _, r := range list {
		_, twice := t.changed[r.N]
		if r.N < 1 || twice {
			return fmt.Errorf("create run %d of solve %s: the number is taken or not positive", r.N, t.Solve.ID)
		}
		if w := r.Experiment.Wave; w < 0 || w > MaxWave || r.N > MaxRun {
			return fmt.Errorf("create run %d in wave %d of solve %s: the number is too large", r.N, w, t.Solve.ID)
		}
		r.V, r.Solve, r.Repo, r.Lease = recordVersion, t.Solve.ID, t.Solve.Repo, Lease{}
		if r.From == nil || !r.State.Final() {
			r.State = RunQueued
		}
		if r.Created.IsZero() {
			r.Created = t.at
		}
		t.put(nil, r)
	}
	return nil
}

// endRuns ends the unfinished runs, or only the queued ones, and fences their workers.
func (t *Transition) endRuns(c Change, queuedOnly bool) error {
	if !t.unfinished() {
		return nil
	}
	list, err := t.runs()
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.State.Final() || queuedOnly && r.State != RunQueued {
			continue
		}
		if err := t.moveRunOf(r, r.Lease.Token+1, c); err != nil {
			return err
		}
	}
	return nil
}

// unfinished says whether a run of the solve is in no final state. The store counts
// those that this transition ended, too.
func (t *Transition) unfinished() bool {
	ended := 0
	for _, c := range t.Runs {
		if !c.After.State.Final() {
			return true
		}
		if c.Before != nil && !c.Before.State.Final() {
			ended++
		}
	}
	return t.read.Unfinished(t.Solve.ID, ended+1) > ended
}

// runs are all runs of the solve as they are now.
func (t *Transition) runs() ([]Run, error) {
	list, err := t.read.Runs(t.Solve.ID)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if at, known := t.changed[r.N]; known {
			list[i] = t.Runs[at].After
		}
	}
	for _, c := range t.Runs {
		if c.Before == nil {
			list = append(list, c.After)
		}
	}
	return list, nil
}

// runsChanged moves the solve on after a run ended, went back into the queue or was
// created: the stop rule is asked first, then whether the last run has ended.
func (t *Transition) runsChanged() error {
	s := &t.Solve
	if s.State != StateRunning {
		return nil
	}
	if err := t.askStopRule(); err != nil || t.unfinished() {
		return err
	}
	if s.CancelAt.IsZero() {
		return t.moveSolve(Change{Event: runsEnded{}})
	}
	return t.moveSolve(Change{Event: Cancelled{}, Reason: s.cancelReason()})
}

// askStopRule does what [Solve.CurrentWave] says: the queued runs end that need not start,
// or the next wave begins. A solve that must end begins nothing.
func (t *Transition) askStopRule() error {
	s := &t.Solve
	if s.Plan.Stop == "" || s.Plan.Stop == StopAll || !t.unfinished() {
		return nil
	}
	list, err := t.runs()
	if err != nil {
		return err
	}
	wave, enough := s.CurrentWave(list)
	switch {
	case enough != "":
		return t.endRuns(Change{Event: Cancelled{NotNeeded: true}, Reason: enough}, true)
	case wave == s.Wave || s.Overdue(t.at) || !s.CancelAt.IsZero():
		return nil
	case s.Wave == 0: // the first one begins with the runs, without an event
		s.Wave = wave
		return nil
	}
	why := fmt.Sprintf("wave %d of %d: no run is proven or supported after wave %d", wave, s.Plan.Waves(), s.Wave)
	return t.moveSolve(Change{Event: waveStarted{wave}, Reason: why})
}

// Overdue says whether the solve's time budget is over.
func (s Solve) Overdue(at time.Time) bool { return !s.Deadline.IsZero() && !s.Deadline.After(at) }

func (s Solve) cancelReason() string {
	switch {
	case s.CancelWhy != "":
		return s.CancelWhy
	case s.CancelBy == "":
		return "cancelled"
	default:
		return "cancelled by " + s.CancelBy
	}
}
