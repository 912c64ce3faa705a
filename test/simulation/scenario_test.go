package simulation_test

import (
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
)

// scenario is one solve, from the label to its end, and what goes on from it.
type scenario struct {
	name      string
	script    string // of the models, one experiment each
	configure func(*solver.Config)
	lag       time.Duration // of GitHub's lists
	faults    []githubsim.Fault
	comment   string        // what the person writes
	after     time.Duration // and when, from the label on
	then      []string      // comments, each written when all before is settled
	end       solve.State
	champion  int
	states    []solve.RunState // of the runs at the end
}

// threePlays are three experiments of two steps: a right fix of two lines, a
// right one of one line, and a wrong one. The smaller right one wins: not the
// faster one, since a crash makes a run slower.
const threePlays = `
plays:
  - match: {model: long}
    steps:
      - {run: "write good|twice", delay: 3s}
      - {run: "echo done", delay: 2s}
  - match: {model: short}
    steps:
      - {run: "write good", delay: 2s}
      - {run: "echo done", delay: 3s}
  - match: {model: wrong}
    steps:
      - {run: "write bad", delay: 4s}
      - {run: "echo done", delay: 1s}
`

const slowPlays = `
plays:
  - match: {model: one}
    steps:
      - {run: "write bad", delay: 4s}
      - {run: "wait 90s", delay: 2s}
  - match: {model: two}
    steps:
      - {run: "echo nothing", delay: 2s}
      - {run: "wait 90s", delay: 2s}
  - match: {model: three}
    steps:
      - {run: "write bad", delay: 90s}
`

const vainPlays = `
plays:
  - match: {model: wrong}
    steps:
      - {run: "write bad", delay: 2s}
  - match: {model: idle}
    steps:
      - {run: "echo nothing", delay: 2s}
`

// lostAnswers are effects whose answers do not come through, beside the crashes.
func lostAnswers() []githubsim.Fault {
	return []githubsim.Fault{
		{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: "/comments$"},
		{Kind: githubsim.FaultCutAfter, Method: "POST", Path: "/comments$", Nth: 2},
		{Kind: githubsim.FaultCutAfter, Method: "POST", Path: "/check-runs$"},
		{Kind: githubsim.FaultHangAfter, Method: "POST", Path: "/check-runs$", Nth: 3},
		{Kind: githubsim.FaultHangAfter, Method: "POST", Path: "/pulls$"},
		{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: "/git/refs$"},
		{Kind: githubsim.FaultLostAnswer, Method: "PATCH", Path: "/git/refs/"},
	}
}

func scenarios() []scenario {
	return []scenario{
		{
			name: "solved", script: threePlays, end: solve.StateSolved, champion: 2,
			states: []solve.RunState{solve.RunPassed, solve.RunPassed, solve.RunFailed},
		},
		{
			name: "lag", script: threePlays, lag: 29 * time.Second, end: solve.StateSolved, champion: 2,
			states: []solve.RunState{solve.RunPassed, solve.RunPassed, solve.RunFailed},
		},
		{
			name: "lossy", script: threePlays, faults: lostAnswers(), end: solve.StateSolved, champion: 2,
			states: []solve.RunState{solve.RunPassed, solve.RunPassed, solve.RunFailed},
		},
		{
			name: "cancelled", script: slowPlays, comment: "/yudai cancel", after: 30 * time.Second, end: solve.StateCancelled,
			states: []solve.RunState{solve.RunCancelled, solve.RunCancelled, solve.RunCancelled},
		},
		{
			name: "vain", script: vainPlays, end: solve.StateUnsolved,
			states: []solve.RunState{solve.RunFailed, solve.RunEmpty},
		},
		{
			// The runner-up is picked; then the run that did not pass is made again, and the rule decides again.
			name: "going-on", script: threePlays, then: []string{"/yudai pick 1", "/yudai retry"},
			end: solve.StateSolved, champion: 2, states: []solve.RunState{solve.RunPassed, solve.RunPassed, solve.RunFailed},
		},
		{
			name: "going-on-lossy", script: threePlays, faults: lostAnswers(), then: []string{"/yudai pick 1"},
			end: solve.StateSolved, champion: 1, states: []solve.RunState{solve.RunPassed, solve.RunPassed, solve.RunFailed},
		},
		{
			name: "expired", script: slowPlays, end: solve.StateExpired,
			configure: func(c *solver.Config) { c.Limits.SolveTime, c.Limits.Parallel = 30*time.Second, 2 },
		},
		{
			// The second wave begins once, whoever ends the first one; the third never does.
			name: "waves", script: threePlays, end: solve.StateSolved, champion: 2,
			states: []solve.RunState{solve.RunFailed, solve.RunPassed, solve.RunCancelled},
			configure: func(c *solver.Config) {
				c.Stop = solve.StopWaves
				c.Waves = []solver.Matrix{{Models: []string{"wrong"}}, {Models: []string{"short"}}, {Models: []string{"long"}}}
			},
		},
	}
}

// mutation breaks one safeguard, to see that the simulation notices.
type mutation string

// The mutations.
const (
	whole     mutation = ""
	mutAck    mutation = "acknowledged before it is stored"
	mutLookUp mutation = "no look-up before an effect is repeated"
	mutSettle mutation = "the look-up does not wait for the lists"
	mutSweep  mutation = "no sweep"
	mutAdopt  mutation = "sandboxes of dead owners are not adopted"
	mutForget mutation = "the transcript is not gone on with"
)
