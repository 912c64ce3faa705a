package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// score is the sum of results.
type score struct {
	tried, held, failed, notFor int
	open                        int // failed, and known to
	failures, missing           []string
}

func sum(results []result) (s score) {
	for _, r := range results {
		switch {
		case r.notFor != "":
			s.notFor++
			s.missing = append(s.missing, fmt.Sprintf("%s/%s: %s", r.family, r.Name, r.notFor))
			continue
		case len(r.broken) > 0:
			s.failed++
			why := strings.Join(r.broken, "; ")
			if r.Finding != "" {
				why = r.Finding + ": " + why
			}
			if r.Open != "" {
				s.open++
				why = "known: " + r.Open
			}
			s.failures = append(s.failures, fmt.Sprintf("%s/%s (goal: %s): %s", r.family, r.Name, r.Goal, why))
		default:
			s.held++
			if r.Open != "" {
				s.missing = append(s.missing, fmt.Sprintf("%s/%s holds: take its open away", r.family, r.Name))
			}
		}
		s.tried++
	}
	return s
}

func (s score) line() string {
	return fmt.Sprintf("%d tried, %d held, %d failed, %d not applicable here", s.tried, s.held, s.failed, s.notFor)
}

// lines are the score with its reasons.
func (s score) lines() string {
	var b strings.Builder
	for _, f := range s.failures {
		fmt.Fprintln(&b, "FAILED", f)
	}
	for _, m := range s.missing {
		fmt.Fprintln(&b, "note:", m)
	}
	fmt.Fprintln(&b, s.line())
	return b.String()
}

// page writes docs/evidence/attacks.md.
func (c *campaign) page(families []family, results []result) error {
	s := sum(results)
	who := "as an ordinary user"
	if os.Geteuid() == 0 {
		who = "as root"
	}
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, time.Now().UTC().Format("2 January 2006"), who, time.Since(c.began).Round(time.Second), s.line())
	b.WriteString(c.otherScore())
	for _, f := range s.failures {
		fmt.Fprintf(&b, "- **Failed**: %s\n", f)
	}
	for _, m := range s.missing {
		fmt.Fprintf(&b, "- %s\n", m)
	}
	fmt.Fprint(&b, "\n| Family | About | Tried | Held | Failed | Not applicable |\n|---|---|---|---|---|---|\n")
	for _, f := range families {
		var own []result
		for _, r := range results {
			if r.family == f.Family {
				own = append(own, r)
			}
		}
		t := sum(own)
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %d |\n", f.Family, f.About, t.tried, t.held, t.failed, t.notFor)
	}
	b.WriteString(pageTail)
	for _, r := range results {
		fmt.Fprintf(&b, "- %s `%s`%s: %s\n", r.word(), r.Name, finding(r), r.Goal)
	}
	return os.WriteFile(c.docs, []byte(b.String()), 0o644) //nolint:gosec // a page
}

// otherScore tells the score of the run as an ordinary user, "" if there is none.
func (c *campaign) otherScore() string {
	line, err := os.ReadFile(c.beside)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("As an ordinary user, in a clean clone (`make attack-user`): **%s**.\n\n", strings.TrimSpace(string(line)))
}

func (r result) word() string {
	switch {
	case r.notFor != "":
		return "Not applicable:"
	case len(r.broken) > 0:
		return "**Failed:**"
	}
	return "Held:"
}

func finding(r result) string {
	if r.Finding == "" {
		return ""
	}
	return " (" + r.Finding + ")"
}

const pageHead = `# Attacks

` + "`make attack`" + ` tries these attacks on the real program: ` + "`yudai serve`" + ` with the GitHub emulator, real sandboxes and a models' server in
the attackers' hand. The driver is ` + "`local`" + `; the families ` + "`drivers-`" + ` have the others, with a real engine and stubs of the services.
Each attack says what counts as safe. A canary stands for each secret that yudai holds, and everything that leaves is searched for it,
also in base64, hex and reversed: comments, commits, git objects, logs, transcripts, bundles, metrics, the REST API, the pages, PostgreSQL,
questions to models, what commands print, command lines and environments. The page is written by ` + "`make attack`" + `. The cheats against the
judge have their own page, ` + "`docs/evidence/judgement.md`" + `.

## The score

%s, %s, in %s: **%s**.

`

const pageTail = `
## The walls are tested, too

` + "`make attack-mutations`" + ` builds the program with one wall left out, again and again; the attacks must notice each. A suite that passes
without a wall proves nothing about it.

## Each attack

`
