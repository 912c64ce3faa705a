// Package repoconfig reads a repository's own settings, .github/yudai.yml, and narrows
// what the operator allows by them. It is pure: bytes go in, settings and problems come
// out. A file may choose commands, strategies and profiles where the operator lets it,
// close the network, protect paths and lower limits. It never raises a limit and never
// opens a host: both are problems, told with their place, and nothing is clamped in silence.
package repoconfig

import (
	"fmt"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/strictyaml"
	"github.com/yudai-dev/yudai/solve"
)

// file is what stands in a repository's file; what is not there is zero.
type file struct {
	Test struct {
		Command string `yaml:"command"`
		Format  string `yaml:"format"`
		Report  string `yaml:"report"`
	} `yaml:"test"`
	Install struct {
		Command string `yaml:"command"`
	} `yaml:"install"`
	Network    *[]string          `yaml:"network"` // nil: as it is without the file
	Strategies map[string]string  `yaml:"strategies"`
	Profiles   map[string]Profile `yaml:"profiles"`
	Protected  []string           `yaml:"protected"`
	Sandbox    string             `yaml:"sandbox"`
	Stop       solve.StopRule     `yaml:"stop"`
	Limits     limits             `yaml:"limits"`

	Reproduce solve.ReproduceRule `yaml:"reproduce"`
}

// limits that are nil stay the operator's.
type limits struct {
	RunTime        *time.Duration `yaml:"run_time"`
	RunSteps       *int           `yaml:"run_steps"`
	RunUSD         *float64       `yaml:"run_usd"`
	SolveTime      *time.Duration `yaml:"solve_time"`
	SolveUSD       *float64       `yaml:"solve_usd"`
	Parallel       *int           `yaml:"parallel"`
	MaxExperiments *int           `yaml:"max_experiments"`
	SolvesPerDay   *int           `yaml:"solves_per_day"`
	USDPerDay      *float64       `yaml:"usd_per_day"`
}

// Problem is one thing wrong in a file.
type Problem = strictyaml.Problem

// Read reads the file of that name and narrows what the operator allows. The rules are
// whole if there are no problems; the problems are in the order of the file.
func Read(name string, data []byte, op Operator) (Rules, []Problem) {
	if len(data) > solve.MaxRepoConfig {
		return op.Rules, []Problem{{Text: TooLarge}}
	}
	var f file
	found := strictyaml.Decode(data, &f, severalLines)
	n := narrowing{op: op, file: f, rules: op.copied(), report: found.Report}
	n.rules.Settings.File = name
	n.all(name)
	if problems := found.Sorted(); len(problems) > 0 {
		return op.Rules, problems
	}
	return n.rules, nil
}

// TooLarge is the problem of a file with more than [solve.MaxRepoConfig] bytes.
const TooLarge = "the file has more than 64 KiB; shorten its strategies"

// severalLines says which texts are prompts or shell commands, which may have them.
func severalLines(path string) bool {
	return strings.HasPrefix(path, "strategies.") || path == "test.command" || path == "install.command"
}

// Explain is the reason of a solve that is refused for its repository's file: a line
// that says so, and one for each problem.
func Explain(name string, problems []Problem) string {
	const most = 19
	var b strings.Builder
	fmt.Fprintf(&b, "The settings in %s are wrong, so nothing was started. Correct them on the base branch, then ask again:", name)
	for i, p := range problems {
		if i == most {
			fmt.Fprintf(&b, "\nand %d more", len(problems)-i)
			break
		}
		b.WriteString("\n" + p.String())
	}
	return b.String()
}
