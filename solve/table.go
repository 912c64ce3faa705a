package solve

import "fmt"

// Step is one row of a transition table.
type Step[S ~string] struct {
	From S
	On   EventName
	To   S
}

// States returns every state of a solve, in the order of its life.
func States() []State {
	return []State{
		StateQueued, StatePreparing, StateRunning, StateReducing, StatePublishing,
		StateSolved, StateUnsolved, StateCancelled, StateFailed, StateExpired,
	}
}

// RunStates returns every state of a run, in the order of its life.
func RunStates() []RunState {
	return []RunState{
		RunQueued, RunDispatched, RunWorking, RunHarvesting, RunJudging,
		RunPassed, RunFailed, RunNoVerdict, RunEmpty, RunCancelled, RunTimedOut, RunLost, RunError,
	}
}

// EventNames returns the name of every event, those of a solve first.
func EventNames() []EventName {
	return []EventName{
		EventGreeted, EventClaimed, EventBaseReady, EventWave, EventRunsEnded, EventChampion, EventNoChampion,
		EventPublished, EventExpired, EventCancelled, EventFailed,
		EventAdmitted, EventStarted, EventAdopted, EventRequeued, EventLost, EventAgentEnded,
		EventHarvested, EventEmpty, EventTimedOut, EventPassed, EventTestsFail, EventNoVerdict,
	}
}

// Final says whether a solve in this state never changes again.
func (s State) Final() bool {
	switch s {
	case StateSolved, StateUnsolved, StateCancelled, StateFailed, StateExpired:
		return true
	default:
		return false
	}
}

// Final says whether a run in this state never changes again.
func (s RunState) Final() bool {
	switch s {
	case RunPassed, RunFailed, RunNoVerdict, RunEmpty, RunCancelled, RunTimedOut, RunLost, RunError:
		return true
	default:
		return false
	}
}

// Active says whether a run in this state takes one of the admitted places: it
// was given room and has not ended. It has an owner, whose death is a rescue.
func (s RunState) Active() bool {
	switch s {
	case RunDispatched, RunWorking, RunHarvesting, RunJudging:
		return true
	default:
		return false
	}
}

// SolveSteps is the transition table of solves: everything that may happen, and
// nothing else does. A pair that is not here is refused by [NextSolve].
func SolveSteps() []Step[State] {
	return []Step[State]{
		{StateQueued, EventGreeted, StateQueued},
		{StateQueued, EventClaimed, StatePreparing},
		{StateQueued, EventExpired, StateExpired},
		{StateQueued, EventCancelled, StateCancelled},
		{StateQueued, EventFailed, StateFailed},

		// A new owner after a crash prepares from the start.
		{StatePreparing, EventClaimed, StatePreparing},
		{StatePreparing, EventBaseReady, StateRunning},
		{StatePreparing, EventExpired, StateExpired},
		{StatePreparing, EventCancelled, StateCancelled},
		{StatePreparing, EventFailed, StateFailed},

		// The store's own steps, when a run ends.
		{StateRunning, EventWave, StateRunning},
		{StateRunning, EventRunsEnded, StateReducing},
		{StateRunning, EventExpired, StateExpired},
		{StateRunning, EventCancelled, StateCancelled},
		{StateRunning, EventFailed, StateFailed},

		{StateReducing, EventChampion, StatePublishing},
		{StateReducing, EventNoChampion, StateUnsolved},
		{StateReducing, EventExpired, StateExpired},
		{StateReducing, EventCancelled, StateCancelled},
		{StateReducing, EventFailed, StateFailed},

		// No expiry here: the champion is paid for and only has to be written.
		{StatePublishing, EventPublished, StateSolved},
		{StatePublishing, EventCancelled, StateCancelled},
		{StatePublishing, EventFailed, StateFailed},
	}
}

// RunSteps is the transition table of runs. A pair that is not here is refused by [NextRun].
func RunSteps() []Step[RunState] {
	return []Step[RunState]{
		{RunQueued, EventAdmitted, RunDispatched},
		{RunQueued, EventTimedOut, RunTimedOut},
		{RunQueued, EventCancelled, RunCancelled},
		{RunQueued, EventFailed, RunError},

		{RunDispatched, EventStarted, RunWorking},
		{RunDispatched, EventAdopted, RunDispatched},
		{RunDispatched, EventRequeued, RunQueued},
		{RunDispatched, EventLost, RunLost},
		{RunDispatched, EventTimedOut, RunTimedOut},
		{RunDispatched, EventCancelled, RunCancelled},
		{RunDispatched, EventFailed, RunError},

		{RunWorking, EventAgentEnded, RunHarvesting},
		{RunWorking, EventAdopted, RunWorking},
		{RunWorking, EventRequeued, RunQueued},
		{RunWorking, EventLost, RunLost},
		{RunWorking, EventTimedOut, RunTimedOut},
		{RunWorking, EventCancelled, RunCancelled},
		{RunWorking, EventFailed, RunError},

		{RunHarvesting, EventHarvested, RunJudging},
		{RunHarvesting, EventEmpty, RunEmpty},
		{RunHarvesting, EventAdopted, RunHarvesting},
		{RunHarvesting, EventRequeued, RunQueued},
		{RunHarvesting, EventLost, RunLost},
		{RunHarvesting, EventTimedOut, RunTimedOut},
		{RunHarvesting, EventCancelled, RunCancelled},
		{RunHarvesting, EventFailed, RunError},

		{RunJudging, EventPassed, RunPassed},
		{RunJudging, EventTestsFail, RunFailed},
		{RunJudging, EventNoVerdict, RunNoVerdict},
		{RunJudging, EventAdopted, RunJudging},
		{RunJudging, EventRequeued, RunQueued},
		{RunJudging, EventLost, RunLost},
		{RunJudging, EventTimedOut, RunTimedOut},
		{RunJudging, EventCancelled, RunCancelled},
		{RunJudging, EventFailed, RunError},
	}
}

// NextSolve is the state of a solve after an event. A pair that the table does
// not have gives the unchanged state and an error that is [ErrTransition].
func NextSolve(s State, on EventName) (State, error) { return next("solve", SolveSteps(), s, on) }

// NextRun is the state of a run after an event. A pair that the table does not
// have gives the unchanged state and an error that is [ErrTransition].
func NextRun(s RunState, on EventName) (RunState, error) { return next("run", RunSteps(), s, on) }

func next[S ~string](what string, table []Step[S], from S, on EventName) (S, error) {
	for _, step := range table {
		if step.From == from && step.On == on {
			return step.To, nil
		}
	}
	return from, fmt.Errorf("%s in state %q, event %q: %w", what, from, on, ErrTransition)
}
