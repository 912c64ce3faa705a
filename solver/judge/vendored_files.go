package judge

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/yudai-dev/yudai/patch"
)

var vendorDir = regexp.MustCompile(`(?i)(?:^|/)(?:vendor|_?vendored|third_party)/`)

// vendoredForTests lists the copied files of others that the patch changes and that nothing but
// tests names: they belong to the tests, whatever they are called.
func (j *judging) vendoredForTests(ctx context.Context) ([]string, error) {
	var out []string
	for _, c := range j.Changes {
		if c.Op == "add" || !vendorDir.MatchString(c.Path) {
			continue
		}
		// By its path from the directory of copies on, without the end that imports leave out.
		stem := c.Path[vendorDir.FindStringIndex(c.Path)[0]:]
		stem = strings.TrimPrefix(strings.TrimSuffix(stem, path.Ext(stem)), "/")
		var found bytes.Buffer
		if err := ourScript(ctx, j.sb, `git grep -lIF -e "$1"`, &found, stem); err != nil {
			return nil, err
		}
		tests, others := 0, 0
		for p := range strings.Lines(found.String()) {
			if p = strings.TrimSpace(p); patch.IsTestFile(p) {
				tests++
			} else if canStrip(p) {
				others++
			}
		}
		if tests > 0 && others == 0 {
			out = append(out, c.Path)
		}
	}
	return out, nil
}
