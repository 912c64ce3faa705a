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
	steps := []Step[State]{
		{StateQueued, EventGreeted, StateQueued},
		{StateQueued, EventClaimed, StatePreparing},

		// A new owner after a crash prepares from the start.
		{StatePreparing, EventClaimed, StatePreparing},
		{StatePreparing, EventBaseReady, StateRunning},

		// The store's own steps, when a run ends.
		{StateRunning, EventWave, StateRunning},
		{StateRunning, EventRunsEnded, StateReducing},

		{StateReducing, EventChampion, StatePublishing},
		{StateReducing, EventNoChampion, StateUnsolved},

		{StatePublishing, EventPublished, StateSolved},
	}
	for _, live := range []State{StateQueued, StatePreparing, StateRunning, StateReducing, StatePublishing} {
		if live != StatePublishing { // there the champion is paid for and only has to be written
			steps = append(steps, Step[State]{live, EventExpired, StateExpired})
		}
		steps = append(steps, Step[State]{live, EventCancelled, StateCancelled}, Step[State]{live, EventFailed, StateFailed})
	}
	return steps
}

// RunSteps is the transition table of runs. A pair that is not here is refused by [NextRun].
func RunSteps() []Step[RunState] {
	steps := []Step[RunState]{
		{RunQueued, EventAdmitted, RunDispatched},
		{RunDispatched, EventStarted, RunWorking},
		{RunWorking, EventAgentEnded, RunHarvesting},
		{RunHarvesting, EventHarvested, RunJudging},
		{RunHarvesting, EventEmpty, RunEmpty},
		{RunJudging, EventPassed, RunPassed},
		{RunJudging, EventTestsFail, RunFailed},
		{RunJudging, EventNoVerdict, RunNoVerdict},
	}
	for _, live := range []RunState{RunQueued, RunDispatched, RunWorking, RunHarvesting, RunJudging} {
		if live.Active() {
			steps = append(steps, []Step[RunState]{
				{live, EventAdopted, live},
				{live, EventRequeued, RunQueued},
				{live, EventLost, RunLost},
			}...)
		}
		steps = append(steps, []Step[RunState]{
			{live, EventTimedOut, RunTimedOut},
			{live, EventCancelled, RunCancelled},
			{live, EventFailed, RunError},
		}...)
	}
	return steps
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
