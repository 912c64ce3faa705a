package solve

import "time"

// Event is what happened to a solve or a run, with what it brings. Each type sets
// the fields that it carries, and no others: see [Change].
type Event interface {
	name() EventName
}

// NameOf is the event's name in the transition table and in the log, "" without an event.
func NameOf(ev Event) EventName {
	if ev == nil {
		return ""
	}
	return ev.name()
}

// Events of a solve.
type (
	// Greeted says that the actor may ask.
	Greeted struct{}
	// PlaceTold says that people were told the solve's place among so many in the queue.
	PlaceTold struct{ Place, Queue int }
	// Claimed brings the plan, and starts the time budget.
	Claimed struct {
		Plan   Plan
		Base   Base
		Branch string
	}
	// BaseReady brings the prepared base and the runs, N from 1. It gives the lease up:
	// nobody has to own a solve whose runs work. Runs that ended in an earlier solve
	// (From is set) keep their state; all others are queued.
	BaseReady struct {
		Base Base
		Runs []Run
	}
	// ChampionChosen brings the decision.
	ChampionChosen struct{ Decision Decision }
	// NoChampion brings the decision, too.
	NoChampion struct{ Decision Decision }
	// Published brings the pull request.
	Published struct{ Pull Pull }
	// Expired brings the decision, if one was made before the time was over.
	Expired struct{ Decision *Decision }
	// runsEnded and waveStarted follow from the end of a run.
	runsEnded   struct{}
	waveStarted struct{ wave int }
)

// Events of a solve and of a run.
type (
	// Cancelled ends either. NotNeeded and Candidate are a run's: the stop rule ended it,
	// and what it had changed.
	Cancelled struct {
		NotNeeded bool
		Candidate *Candidate
	}
	// Aborted ends either: we could not go on. Refused and Denied are a solve's: the reason is the asker's to
	// mend, and the actor may not ask at all, which is told unless Silent.
	Aborted struct{ Refused, Denied, Silent bool }
)

// Events of a run.
type (
	// admitted gives the run to a node.
	admitted struct{ node string }
	// Started brings the name of the sandbox.
	Started struct{ Sandbox string }
	// Adopted says that a new owner goes on.
	Adopted struct{}
	// Requeued sends the run back into the queue.
	Requeued struct{}
	// Lost ends a run whose owners died too often.
	Lost struct{}
	// AgentEnded brings the agent's own exit status and reason, what it says of its change, and how long it worked.
	AgentEnded struct {
		Exit, Reason, Summary string
		AgentTime             time.Duration
	}
	// Harvested brings the candidate.
	Harvested struct{ Candidate Candidate }
	// Empty says that the agent changed nothing.
	Empty struct{}
	// TimedOut ends a run whose time was over.
	TimedOut struct{}
	// Judged brings the verdict; its outcome gives the event its name.
	Judged struct{ Verdict Verdict }
)

func (Greeted) name() EventName        { return EventGreeted }
func (PlaceTold) name() EventName      { return EventGreeted }
func (Claimed) name() EventName        { return EventClaimed }
func (BaseReady) name() EventName      { return EventBaseReady }
func (ChampionChosen) name() EventName { return EventChampion }
func (NoChampion) name() EventName     { return EventNoChampion }
func (Published) name() EventName      { return EventPublished }
func (Expired) name() EventName        { return EventExpired }
func (runsEnded) name() EventName      { return EventRunsEnded }
func (waveStarted) name() EventName    { return EventWave }
func (Cancelled) name() EventName      { return EventCancelled }
func (Aborted) name() EventName        { return EventFailed }
func (admitted) name() EventName       { return EventAdmitted }
func (Started) name() EventName        { return EventStarted }
func (Adopted) name() EventName        { return EventAdopted }
func (Requeued) name() EventName       { return EventRequeued }
func (Lost) name() EventName           { return EventLost }
func (AgentEnded) name() EventName     { return EventAgentEnded }
func (Harvested) name() EventName      { return EventHarvested }
func (Empty) name() EventName          { return EventEmpty }
func (TimedOut) name() EventName       { return EventTimedOut }

func (e Judged) name() EventName {
	switch e.Verdict.Outcome {
	case Passed:
		return EventPassed
	case Failed:
		return EventTestsFail
	default:
		return EventNoVerdict
	}
}

// setSolve puts what the event carries into the solve.
func setSolve(s *Solve, ev Event, at time.Time) {
	switch e := ev.(type) {
	case Greeted:
		s.Greeted = at
	case PlaceTold:
		s.Place, s.Queue = e.Place, e.Queue
	case Claimed:
		s.Plan, s.Base, s.Branch = e.Plan, e.Base, e.Branch
		if s.Started.IsZero() { // a solve starts once
			s.Started = at
			if budget := e.Plan.Limits.SolveTime; budget > 0 {
				s.Deadline = at.Add(budget)
			}
		}
	case BaseReady:
		s.Base, s.Lease.Node = e.Base, ""
		if _, ok := Reproducer(e.Runs); !ok {
			s.Plan.Reproducer = nil // the base wants none
		}
	case ChampionChosen:
		s.Decision = &e.Decision
	case NoChampion:
		s.Decision = &e.Decision
	case Published:
		s.Pull = &e.Pull
	case Expired:
		if e.Decision != nil {
			s.Decision = e.Decision
		}
	case Aborted:
		s.Refused, s.Denied, s.Silent = e.Refused && s.State == StateQueued, e.Denied, e.Silent
	case waveStarted:
		s.Wave = e.wave
	}
}

// setRun puts what the event carries into the run.
func setRun(r *Run, ev Event, at time.Time) {
	switch e := ev.(type) {
	case admitted:
		r.Attempt++
		r.Lease = r.Lease.Next(e.node)
	case Started:
		r.Sandbox, r.Started = e.Sandbox, at
	case AgentEnded:
		r.Exit, r.Reason, r.Summary, r.AgentTime = e.Exit, e.Reason, e.Summary, e.AgentTime
	case Harvested:
		r.Candidate = &e.Candidate
	case Judged:
		r.Verdict = &e.Verdict
	case Cancelled:
		r.NotNeeded = e.NotNeeded
		if e.Candidate != nil {
			r.Candidate = e.Candidate
		}
	}
}
