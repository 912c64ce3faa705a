package solve

import (
	"fmt"
	"unicode/utf8"
)

const (
	// MaxIssue is how many characters of an issue's body are kept. GitHub itself takes
	// no more; the text is sent with every call of a model, and paid for every time.
	MaxIssue = 65_536
	// maxIssueTitle is how many of its title; GitHub takes 256.
	maxIssueTitle = 1024
	// restLeftOut tells an agent that it does not read everything.
	restLeftOut = "\n\n(The rest of the issue is left out.)"
)

// Pinned is the issue as a solve keeps it: cut where no issue of GitHub's would go on.
func (i Issue) Pinned() Issue {
	if i.Chars != 0 {
		return i
	}
	i.Title = firstRunes(i.Title, maxIssueTitle)
	if body := firstRunes(i.Body, MaxIssue); len(body) < len(i.Body) {
		i.Chars = utf8.RuneCountInString(i.Body)
		i.Body = body + restLeftOut
	}
	return i
}

// Note tells people that the agents do not read the whole issue, "" if they do.
func (i Issue) Note() string {
	if i.Chars == 0 {
		return ""
	}
	return fmt.Sprintf("the issue has %d characters; the agents read the first %d", i.Chars, MaxIssue)
}

// firstRunes is the beginning of a text, at most n characters.
func firstRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}
