// Package failpoint names the places at which the campaign of test/kill
// ends or stalls the program: before and after every commit to the store, every
// call to GitHub, model and sandbox. Such places are marked with [Hit], and the
// faults that the campaign must notice with [Mutated].
//
// It exists only with the build tag failpoints. Without the tag the functions are
// empty, and the compiler removes them from the program.
//
// With the tag the environment decides:
//
//	YUDAI_FAILPOINT        name=action@nth, the nth time that the point is hit
//	YUDAI_FAILPOINT_STALL  how long the action stall lasts, such as 3s
//	YUDAI_FAILPOINT_LOG    a file that gets a line name@nth for every hit
//	YUDAI_MUTATION         one mutation, by name
package failpoint

// Action is what happens at a point.
type Action string

// The actions.
const (
	// Kill ends the process as a power cut would: SIGKILL.
	Kill Action = "kill"
	// Stop stops the whole process: SIGSTOP. Somebody has to send SIGCONT.
	Stop Action = "stop"
	// Stall holds only the goroutine that hit the point; the others go on.
	Stall Action = "stall"
)

// Mutation is a fault of the program that a campaign must notice.
type Mutation string

// The mutations.
const (
	// AnswerBeforeCommit answers a delivery before it is stored.
	AnswerBeforeCommit Mutation = "answer-before-commit"
	// NoLookup does not look on GitHub for what a call of unknown outcome made.
	NoLookup Mutation = "no-lookup"
	// NoSettle looks at once, while GitHub's lists may still lag.
	NoSettle Mutation = "no-settle"
	// NoTokenCheck accepts writers whose lease is over or belongs to another.
	NoTokenCheck Mutation = "no-token-check"
	// SweepBeforeList reads the live runs from the store before it lists the sandboxes.
	SweepBeforeList Mutation = "sweep-before-list"
)
