package handlers

import (
	"strings"
	"unicode"

	"github.com/yudai-dev/yudai/report"
)

// problemReply answers a command that cannot be done: the person, the reason, and
// the commands, collapsed. No line of it starts with the command word: an answer must
// never be a command.
func (o Options) problemReply(login, problem string) string {
	return "@" + login + ", I did nothing. " + problem + "\n\n<details><summary>Commands</summary>\n\n" +
		report.HelpText(o.labels()...) + "\n</details>\n"
}

// Problems of commands that belong elsewhere.
const (
	solveOnPull   = "This is a pull request, and I solve issues: please ask in the issue."
	reviseOnIssue = "This is an issue, and `revise` changes a pull request of mine: please write it on the pull request."
	issueClosed   = "This issue is closed: please reopen it and ask again."
)

// code puts a person's word into a Markdown code span: on one line, cut, and unable
// to end the span, so that nothing in it mentions, links or commands.
func code(word string) string {
	const most = 60
	word = strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, word)
	if list := []rune(word); len(list) > most {
		word = string(list[:most-1]) + "…"
	}
	if strings.TrimSpace(word) == "" {
		return "an empty word"
	}
	return "`" + word + "`"
}
