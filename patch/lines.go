package patch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/yudai-dev/yudai/solve"
)

// Lines are the changed lines of a patch outside tests, as [solve.Candidate.Lines] has them.
// Blank lines are left out. Of more than [solve.MaxLines] the first by their digests are kept:
// the same ones in every patch.
func Lines(patch []byte) ([]string, error) {
	parsed, err := parseDiff(patch)
	if err != nil {
		return nil, fmt.Errorf("parse patch: %w", err)
	}
	var out []string
	for _, f := range parsed {
		if IsTestFile(nameOf(f)) {
			continue
		}
		for _, frag := range f.TextFragments {
			for _, l := range frag.Lines {
				text := strings.Join(strings.Fields(l.Line), "")
				if l.Op != gitdiff.OpContext && text != "" {
					sum := sha256.Sum256([]byte(text))
					out = append(out, l.Op.String()+hex.EncodeToString(sum[:4]))
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return strings.Compare(a[1:]+a[:1], b[1:]+b[:1])
	})
	out = slices.Compact(out)
	return slices.Clip(out[:min(len(out), solve.MaxLines)]), nil
}
