package patch

import (
	"regexp"
	"strings"
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

// secretFiles lists the files to which a patch adds a line that looks like a
// credential. What they hold is told to nobody.
func secretFiles(patch []byte) ([]string, error) {
	if !secretShapes.Match(patch) {
		return nil, nil
	}
	parsed, err := parseDiff(patch)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range parsed {
	lines:
		for _, frag := range f.TextFragments {
			for _, l := range frag.Lines {
				if l.New() && !l.Old() && secretShapes.MatchString(l.Line) {
					out = append(out, nameOf(f))
					break lines
				}
			}
		}
	}
	return out, nil
}
