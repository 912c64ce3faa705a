package patch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/yudai-dev/yudai/solve"
)

// secretShapes are the shapes of credentials that nobody writes by chance:
// tokens with a provider's prefix and enough behind it, and private keys.
var secretShapes = regexp.MustCompile(strings.Join([]string{
	`\b(?:gh[psour]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50})`,
	`\b(?:AKIA|ASIA)[A-Z2-7]{16}\b`,
	`\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32}`,
	`\bxox[abprs]-[A-Za-z0-9-]{20}`,
	`\bglpat-[A-Za-z0-9_-]{20}`,
	`\bnpm_[A-Za-z0-9]{36}\b`,
	`\byudai-run-[a-z2-7]{52}\b`, // our own, of a run at the gateway
	`\bAIza[A-Za-z0-9_-]{35}\b`,
	`-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----`,
}, "|"))

// LooksSecret says whether a text holds what looks like a credential. What it is is told to nobody.
func LooksSecret(text string) bool { return secretShapes.MatchString(text) }

// hasInvisible says whether a text holds characters without a shape, or some that turn the
// direction of text: people would read something else than a program.
func hasInvisible(text string) bool {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return solve.Visible(text) != text
}

// emoji is a character with the mark that makes it an emoji. None of them may begin or continue a name in a program, but for ℹ.
var emoji = regexp.MustCompile(`[©®‼⁉™ℹ〰〽㊗㊙\x{2190}-\x{2BFF}\x{1F000}-\x{1FAFF}]\x{FE0F}|[#*0-9]\x{FE0F}\x{20E3}`)

// misleads is hasInvisible for lines of a file, which may hold emojis.
func misleads(line string) bool {
	return hasInvisible(line) && hasInvisible(emoji.ReplaceAllString(line, ""))
}

// filesThatAdd lists the files to which a patch adds a line that is of a kind.
func filesThatAdd(patch []byte, is func(line string) bool) ([]string, error) {
	parsed, err := parseDiff(patch)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range parsed {
		added := func(l gitdiff.Line) bool { return l.Op == gitdiff.OpAdd && is(l.Line) }
		if slices.ContainsFunc(f.TextFragments, func(frag *gitdiff.TextFragment) bool { return slices.ContainsFunc(frag.Lines, added) }) {
			out = append(out, nameOf(f))
		}
	}
	return out, nil
}
