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
//	YUDAI_FAILPOINT        name=action@nth, the nth time that the point is hit; @nth may be left out for the first
//	YUDAI_FAILPOINT_STALL  how long the action stall lasts, such as 3s
//	YUDAI_FAILPOINT_LOG    a file that gets a line name@nth for every hit
//	YUDAI_MUTATION         one mutation, by name
package failpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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

// Mutations lists all of them.
func Mutations() []Mutation {
	return []Mutation{AnswerBeforeCommit, NoLookup, NoSettle, NoTokenCheck, SweepBeforeList}
}

// Spec is one point and what happens there.
type Spec struct {
	Name   string
	Action Action
	Nth    int // from 1
}

// String is the form that [Parse] reads.
func (s Spec) String() string { return fmt.Sprintf("%s=%s@%d", s.Name, s.Action, s.Nth) }

// Parse reads name=action@nth.
func Parse(text string) (Spec, error) {
	name, rest, found := strings.Cut(text, "=")
	action, nth, counted := strings.Cut(rest, "@")
	s := Spec{Name: name, Action: Action(action), Nth: 1}
	if counted {
		n, err := strconv.Atoi(nth)
		if err != nil || n < 1 {
			return Spec{}, fmt.Errorf("failpoint %q: %q is not a count from 1", text, nth)
		}
		s.Nth = n
	}
	if !found || name == "" {
		return Spec{}, fmt.Errorf("failpoint %q: want name=action@nth", text)
	}
	if !slices.Contains([]Action{Kill, Stop, Stall}, s.Action) {
		return Spec{}, fmt.Errorf("failpoint %q: %q is not an action; use kill, stop or stall", text, action)
	}
	return s, nil
}
