package solve

import (
	"path"
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
	// Tries is how often the tests run at most to find flaky ones, Output how many bytes of theirs are read.
	Tries  int   `json:"tries"`
	Output int64 `json:"output"`
	// RequireFix: where tests fail on the base, a candidate must fix one or bring a new one.
	RequireFix bool       `json:"require_fix"`
	Patch      PatchRules `json:"patch"`
	// Day bounds what the repository may start and spend in 24 hours.
	Day DayLimit `json:"day,omitzero"`
	// Order is the reducer's order of criteria; empty is the built-in one.
	Order []string `json:"order,omitempty"`
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

// BadPattern says what is wrong with a pattern of [MatchPath], "" if nothing.
func BadPattern(pattern string) string {
	p := strings.TrimSuffix(strings.TrimPrefix(pattern, "/"), "/")
	if p == "" {
		return "is empty"
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return "has an empty, . or .. component; write it from the repository's root, like docs/** or *.lock"
		}
		if _, err := path.Match(part, ""); err != nil {
			return "has a [ without its ], or a \\ at the end"
		}
	}
	return ""
}

// MatchPath says whether a pattern covers a path of a repository. Patterns are read
// as in .gitignore: * and ? stand for characters of one component and ** for any
// components; one without a slash matches at any depth, others from the root; a
// directory covers everything below it, and with a slash at its end nothing else.
func MatchPath(pattern, name string) bool {
	below := strings.HasSuffix(pattern, "/")
	pattern = strings.TrimSuffix(pattern, "/")
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	names := strings.Split(name, "/")
	last := len(names)
	if below {
		last--
	}
	for n := 1; n <= last; n++ {
		if matchParts(parts, names[:n]) {
			return true
		}
	}
	return false
}

// matchParts matches every name: ** at the end stands for one or more, and elsewhere
// for none, too. It goes back to the last ** only: it takes what an earlier one left.
func matchParts(parts, names []string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(names) {
		if p < len(parts) && parts[p] == "**" {
			star, from = p, n
			p++
			continue
		}
		if p < len(parts) {
			if ok, err := path.Match(parts[p], names[n]); ok && err == nil {
				p++
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	return p == len(parts)
}
