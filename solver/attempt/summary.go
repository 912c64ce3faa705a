package attempt

import (
	"regexp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

// diffLine is a line that only a patch has: some agents submit one in place of words.
var diffLine = regexp.MustCompile(`(?m)^(?:diff --git |@@ -\d|\+\+\+ )`)

// placeholder is a line of the prompt that some agents copy as it stands.
var placeholder = regexp.MustCompile(`(?m)^\s*<one (?:sentence|or two sentences): [^<>\n]*>\s*$`)

// Summary is what an agent that submitted says of its change, one line of at most
// [solve.MaxSummary] runes. "" if it submitted no words, a patch, or what looks like a
// credential.
func Summary(res agent.Result) string {
	if res.Exit != agent.ExitSubmitted || diffLine.MatchString(res.Submission) || patch.LooksSecret(res.Submission) {
		return ""
	}
	return solve.Clip(solve.OneLine(placeholder.ReplaceAllString(res.Submission, "")), solve.MaxSummary)
}

// LastAction is what these lines of a transcript say that the agent did last, as [solve.Progress.Last] has it; "" if they say
// nothing, or what looks like a credential.
func LastAction(lines []byte) string {
	last := agent.LastAction(lines)
	if patch.LooksSecret(last) {
		return ""
	}
	return solve.Clip(last, solve.MaxAction)
}
