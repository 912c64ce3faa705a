package solve

// State of a solve. Terminal states never change.
type State string

// The states of a solve.
const (
	// StateQueued: accepted and stored with its delivery. A worker with room
	// claims it and plans. A crash leaves it queued.
	StateQueued State = "queued"
	// StatePreparing: planned; the base is being cloned, installed and tested. The
	// worker that claimed it moves it on. After a crash the next claimer starts the
	// preparation again.
	StatePreparing State = "preparing"
	// StateRunning: the runs are queued or at work; the last run to end moves the
	// solve on, in the same transaction: to the next wave where nothing of the last
	// passed, else to choosing. A crash concerns the runs, not the solve.
	StateRunning State = "running"
	// StateReducing: all runs ended; a worker claims it and chooses. Choosing again after a crash gives the same champion.
	StateReducing State = "reducing"
	// StatePublishing: the champion is chosen; branch and pull request are being
	// written by the effects, which survive a crash.
	StatePublishing State = "publishing"
	// StateSolved: the pull request is open.
	StateSolved State = "solved"
	// StateUnsolved: no candidate passed; there is no pull request.
	StateUnsolved State = "unsolved"
	// StateCancelled: a person stopped it.
	StateCancelled State = "cancelled"
	// StateFailed: we could not: no rights, no such branch, no base, a broken driver.
	StateFailed State = "failed"
	// StateExpired: the time budget of the whole solve ended before a champion was found.
	StateExpired State = "expired"
)

// RunState is the state of a run. Terminal states never change.
type RunState string

// The states of a run.
const (
	// RunQueued: waiting for room: per solve, repository, installation, process.
	RunQueued RunState = "queued"
	// RunDispatched: admitted with a new token; its worker is about to open the sandbox.
	// After a crash the new owner opens it, in the same attempt.
	RunDispatched RunState = "dispatched"
	// RunWorking: the sandbox is open and the agent at work; every step is stored.
	// After a crash the new owner attaches and goes on, or queues it again.
	RunWorking RunState = "working"
	// RunHarvesting: the agent ended, however; the patch is being taken out.
	RunHarvesting RunState = "harvesting"
	// RunJudging: the patch is stored; it is being tested in a clean fork of the base.
	RunJudging RunState = "judging"
	// RunPassed: the verdict is passed.
	RunPassed RunState = "passed"
	// RunFailed: the verdict is failed.
	RunFailed RunState = "failed"
	// RunNoVerdict: the tests could not be run or read for this candidate.
	RunNoVerdict RunState = "no_verdict"
	// RunEmpty: the agent ended without changing the tree.
	RunEmpty RunState = "empty"
	// RunCancelled: a person stopped it, or the stop rule did: another run passed, or
	// it could no longer win.
	RunCancelled RunState = "cancelled"
	// RunTimedOut: the time of the run or the solve ended before there was a patch.
	RunTimedOut RunState = "timed_out"
	// RunLost: its owner died too often.
	RunLost RunState = "lost"
	// RunError: we failed to run it (sandbox, model, harvest); the reason says what.
	RunError RunState = "error"
)

// EventName names what happened to a solve or a run; it is stored with the new state. [Event] carries the rest.
type EventName string

// Events of a solve.
const (
	EventGreeted    EventName = "greeted"     // the actor may ask; or its place in the queue changed
	EventClaimed    EventName = "claimed"     // a worker planned it
	EventBaseReady  EventName = "base_ready"  // the base is prepared and its tests were run
	EventWave       EventName = "wave"        // nothing of the last wave passed: the next one may start
	EventRunsEnded  EventName = "runs_ended"  // the last run ended
	EventChampion   EventName = "champion"    // the reducer found one
	EventNoChampion EventName = "no_champion" // no candidate passed
	EventPublished  EventName = "published"   // branch and pull request are there
	EventExpired    EventName = "expired"     // the time budget ended
	EventCancelled  EventName = "cancelled"   // also of a run
	EventFailed     EventName = "failed"      // we could not; also of a run (state error)
)

// Events of a run.
const (
	EventAdmitted   EventName = "admitted"
	EventStarted    EventName = "started"
	EventAdopted    EventName = "adopted"     // a new owner goes on where the dead one was
	EventRequeued   EventName = "requeued"    // the owner died and the sandbox is gone
	EventLost       EventName = "lost"        // the owner died too often
	EventAgentEnded EventName = "agent_ended" // whatever its end
	EventHarvested  EventName = "harvested"
	EventEmpty      EventName = "empty"
	EventTimedOut   EventName = "timed_out"
	EventPassed     EventName = "tests_passed"
	EventTestsFail  EventName = "tests_failed"
	EventNoVerdict  EventName = "no_verdict"
)
