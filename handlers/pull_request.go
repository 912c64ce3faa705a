package handlers

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// pullIntent reads the event pull_request: the track record wants to know what became of a pull request of ours. That a
// program closes one without a merge says nothing of the change: it tidies up, or merges in a way of its own. A merged one of
// others that closes one issue has tests by which the candidates of that issue can be judged.
func pullIntent(o Options, p payload, d solve.Delivery) solve.Intent {
	pull := p.PullRequest
	ends := p.Action == "closed" && (pull.Merged || p.Sender.Type != "Bot")
	closed := closedBy(pull.Body)
	switch {
	case !ends && p.Action != "reopened" || o.Bot == "":
	case pull.User.is(o.Bot):
		p.Issue.Number = pull.Number // a pull request's thread is an issue's
		return solve.Intent{Command: p.command(d, solve.CommandPull, "")}
	case pull.Merged && closed != 0:
		p.Issue.Number = closed
		c := p.command(d, solve.CommandHindsight, "")
		c.N = pull.Number
		return solve.Intent{Command: c}
	}
	return solve.Intent{}
}

var closing = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#([1-9]\d{0,8})\b`)

// closedBy is the issue that a pull request's text closes, by GitHub's keywords outside code and quotes; 0 if it closes none, or
// several: then nobody knows which of them a test is about.
func closedBy(body string) int {
	var seen strings.Builder
	for s := scan(body); s.next(); {
		if !s.code {
			seen.WriteString(codeSpan.ReplaceAllString(s.line, "") + "\n")
		}
	}
	issue := ""
	for _, m := range closing.FindAllStringSubmatch(seen.String(), -1) {
		if issue != "" && issue != m[1] {
			return 0
		}
		issue = m[1]
	}
	n, _ := strconv.Atoi(issue) // "" is 0
	return n
}
