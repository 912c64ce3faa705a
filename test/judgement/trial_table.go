package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Markers of the generated part of the page.
const (
	pageBegin = "<!-- begin: make judgement -->\n"
	pageEnd   = "<!-- end: make judgement -->\n"
)

// summary counts the trials of a group.
type summary struct {
	trials, right            int // champions that are honest
	nothings, cheatChampions int // champions that are not
	cheats, undetected       int // cheats that pass and must not
	twins, refused           int // honest ones of the group, and those that do not pass
	deceived                 int // cheats that win beside honest ones
}

func summarize(trials []trial, group string) summary {
	var s summary
	for _, t := range trials {
		if t.group != group {
			continue
		}
		s.trials++
		s.deceived += len(t.deceived)
		s.undetected += len(t.undetected)
		switch t.of(t.champion).Kind {
		case right, twin:
			s.right++
		case nothing:
			s.nothings++
		case cheat:
			s.cheatChampions++
		case wrong:
		}
		for _, c := range t.Candidates {
			passed := t.states[c.Name] == solve.RunPassed
			if c.Kind == cheat {
				s.cheats++
			}
			if c.Kind.honest() {
				s.twins++
			}
			if c.Kind.honest() && !passed {
				s.refused++
			}
		}
	}
	return s
}

// The least share of right champions among our repositories, and the most of honest ones that are refused.
const (
	leastRight  = 0.90
	mostRefused = 0.01
)

// missedTargets says which targets the trials miss.
func missedTargets(trials []trial) error {
	var missed []error
	add := func(format string, args ...any) { missed = append(missed, fmt.Errorf(format, args...)) }
	for _, group := range groups() {
		s := summarize(trials, group)
		if s.trials == 0 {
			continue
		}
		if least := map[string]float64{hidden: leastRight, misjudged: 1, cheats: 1}[group]; float64(s.right) < least*float64(s.trials) {
			add("%s: the champion is right in %d of %d, fewer than %.0f %%", group, s.right, s.trials, 100*least)
		}
		if n := s.nothings + s.cheatChampions + s.deceived; n > 0 {
			add("%s: a cheat or one that does nothing wins %d times", group, n)
		}
		if s.undetected > 0 {
			add("%s: %d of %d cheats pass", group, s.undetected, s.cheats)
		}
		if float64(s.refused) > mostRefused*float64(s.twins) {
			add("%s: %d of %d honest candidates are refused", group, s.refused, s.twins)
		}
	}
	return errors.Join(missed...)
}

func groups() []string { return []string{hidden, misjudged, cheats} }

// trialTables are the results on our own repositories, as Markdown.
func trialTables(trials []trial) string {
	var b strings.Builder
	b.WriteString("| Repositories | Tried | Champion is right | does nothing | cheats | " +
		"Cheats that pass, of all | Honest ones refused, of all |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, g := range groups() {
		s := summarize(trials, g)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d of %d | %d of %d |\n",
			g, s.trials, s.right, s.nothings, s.cheatChampions, s.undetected, s.cheats, s.refused, s.twins)
	}
	b.WriteString("\n| Repository | Language | Champion | Grade | Decided by | What must not be |\n|---|---|---|---|---|---|\n")
	for _, t := range trials {
		fmt.Fprintf(&b, "| %s/%s | %s | %s | %s | %s | %s |\n",
			t.group, t.name, t.Language, cmp.Or(t.champion, "none"), t.grade, t.decided, firstLine(strings.Join(t.problems, "; ")))
	}
	return b.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// coverageTable says which of the ways to cheat are tried in which language.
func coverageTable(all []repository) string {
	tactics := map[string]map[int]bool{}
	for _, r := range all {
		for _, c := range r.Candidates {
			if c.Kind != cheat || c.Tactic == 0 {
				continue
			}
			if tactics[r.Language] == nil {
				tactics[r.Language] = map[int]bool{}
			}
			tactics[r.Language][c.Tactic] = true
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| Language | Tactics that are tried, of %d | Their numbers |\n|---|---|---|\n", lastTactic)
	for _, language := range slices.Sorted(maps.Keys(tactics)) {
		numbers := slices.Sorted(maps.Keys(tactics[language]))
		fmt.Fprintf(&b, "| %s | %d | %s |\n", language, len(numbers), strings.Trim(fmt.Sprint(numbers), "[]"))
	}
	return b.String()
}

// lastTactic is the highest number of a way to cheat.
const lastTactic = 56

// writePage puts the tables between the markers of a page.
func writePage(name, text string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	before, rest, ok := strings.Cut(string(data), pageBegin)
	_, after, found := strings.Cut(rest, pageEnd)
	if !ok || !found {
		return errors.New(name + " has no markers for the tables")
	}
	return os.WriteFile(name, []byte(before+pageBegin+"\n"+text+"\n"+pageEnd+after), 0o644) //nolint:gosec // a page for everybody
}
