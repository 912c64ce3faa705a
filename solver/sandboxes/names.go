// Package sandboxes names, opens and closes the sandboxes of a solve, and records how long
// each was open.
package sandboxes

import (
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// What a sandbox is for: its label, and the phase of its usage.
const (
	PhasePrepare = "prepare"
	PhaseWork    = "work"
	PhaseJudge   = "judge"
)

// Names of sandboxes and bases are made from the solve, so that the next owner finds them
// without having been told.

// AgentsName is the layer in which the agents' programs are installed.
func AgentsName(id solve.ID) string { return "y-" + string(id) + "-agents" }

// InstallName is the layer in which the repository's dependencies are installed.
func InstallName(id solve.ID) string { return "y-" + string(id) + "-install" }

// BaseName is the base that the runs start from.
func BaseName(id solve.ID) string { return "y-" + string(id) + "-base" }

// LayerNames are the base and what it may stand on, the base first.
func LayerNames(id solve.ID) []string { return []string{BaseName(id), InstallName(id), AgentsName(id)} }

// RunName is the sandbox in which a run's agent works.
func RunName(r solve.Run) string { return fmt.Sprintf("y-%s-%d-%d", r.Solve, r.N, r.Attempt) }

// CrossName is the sandbox in which candidates' tests run on other candidates.
func CrossName(id solve.ID) string { return "y-" + string(id) + "-cross" }

// JudgeName is the sandbox in which a run's candidate is tested.
func JudgeName(r solve.Run) string { return RunName(r) + "-judge" }
