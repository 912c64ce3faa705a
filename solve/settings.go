package solve

import (
	"strings"
	"time"
)

// RepoConfigFile is where a repository keeps its own settings, and MaxRepoConfig
// how many bytes they may have.
const (
	RepoConfigFile = ".github/yudai.yml"
	MaxRepoConfig  = 64 << 10
)

// Settings say how a solve's repository is installed and tested, and what a patch may
// be. They are fixed when the solve is planned: whoever goes on with it later, under
// another configuration, uses the same.
type Settings struct {
	// File names the repository's own settings that went into these, "" if there are none.
	File string `json:"file,omitempty"`
	// Test and Install are commands; an empty one is detected.
	Test    TestCommand `json:"test,omitzero"`
	Install string      `json:"install,omitempty"`
	// Hosts may be reached by the install command beside those that detection names, or,
	// with OnlyHosts, without them.
	Hosts     []string `json:"hosts,omitempty"`
	OnlyHosts bool     `json:"only_hosts,omitempty"`
	// InstallTime and TestTime bound one run of each command; 0 is no limit.
	InstallTime time.Duration `json:"install_time"`
	TestTime    time.Duration `json:"test_time"`
	// CrossRuns is how many runs of a candidate's new tests on another candidate there are at most, and CrossTime how long
	// all of them take together.
	CrossRuns int           `json:"cross_runs,omitempty"`
	CrossTime time.Duration `json:"cross_time,omitempty"`
	// Tries is how often the tests run at most to find flaky ones, Output how many bytes of theirs are read.
	Tries  int   `json:"tries"`
	Output int64 `json:"output"`
	// RequireFix stands in settings of old versions. Nothing reads it.
	RequireFix bool       `json:"require_fix,omitempty"`
	Patch      PatchRules `json:"patch"`
	// Day bounds what the repository may start and spend in 24 hours.
	Day DayLimit `json:"day,omitzero"`
	// Order is the reducer's order of criteria; empty is the built-in one.
	Order []string `json:"order,omitempty"`
	// Unproven says what becomes of a champion that is unproven.
	Unproven UnprovenRule `json:"unproven,omitempty"`
	// Reproduce says when there is a reproducer, and PublishTests whether its tests go into the pull request of a champion
	// that brings none.
	Reproduce    ReproduceRule `json:"reproduce,omitempty"`
	PublishTests bool          `json:"publish_tests,omitempty"`
}

// DayLimit bounds what any 24 hours may bring; 0 is no bound.
type DayLimit struct {
	Solves int   `json:"solves,omitempty"`
	Money  Money `json:"money,omitempty"`
	// From names the file of the repository that lowered it, "" if none did.
	From string `json:"from,omitempty"`
}

// Advise adds to a strategy's text what an agent must know of the settings: a patch
// that touches a protected path would be refused.
func (s Settings) Advise(strategy string) string {
	if len(s.Patch.Protected) == 0 {
		return strategy
	}
	return strings.TrimSpace(strategy + "\n\nDo not add, change, move or delete files below these paths; such a change is refused: " +
		strings.Join(s.Patch.Protected, ", "))
}

// PatchRules bound what a candidate's patch may be; 0 is no bound.
type PatchRules struct {
	MaxBytes int `json:"max_bytes"`
	MaxFiles int `json:"max_files"`
	// RefuseInstructions refuses changes of files that tell coding agents what to
	// do. Without it they are flagged.
	RefuseInstructions bool `json:"refuse_instructions"`
	// Protected are patterns of paths that no patch may touch; see [MatchPath].
	Protected []string `json:"protected,omitempty"`
}

// SettingsOr are the settings that the solve was planned with. A record of an older version
// has none: it goes on with the given ones.
func (s Solve) SettingsOr(configured Settings) Settings {
	if s.Plan.Settings != nil {
		return *s.Plan.Settings
	}
	return configured
}

// RuleOr is the rule by which the solve's champion is chosen, with the configured settings
// where its plan has none.
func (s Solve) RuleOr(configured Settings) Rule {
	return Rule{Order: s.SettingsOr(configured).Order, Models: s.Plan.Order}
}
