package handlers

import (
	"strings"
	"unicode"

	"github.com/yudai-dev/yudai/solve"
)

// problemReply answers a command that cannot be done: the person, the reason, and
// the commands, collapsed. No line of it starts with the command word: an answer must
// never be a command.
func problemReply(login, problem string) string {
	return "@" + login + ", I did nothing. " + problem + "\n\n<details><summary>Commands</summary>\n\n" +
		solve.HelpText() + "\n</details>\n"
}

func pullReply(login string) string {
	return problemReply(login, "I solve issues, and this is a pull request: please ask in the issue.")
}

func closedReply(login string) string {
	return problemReply(login, "This issue is closed: please reopen it and ask again.")
}

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
