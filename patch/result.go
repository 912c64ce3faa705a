package patch

import (
	"bytes"
	"fmt"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Result is the content of a modified text file after the patch, from its content before.
func Result(patch []byte, path string, before []byte) ([]byte, error) {
	parsed, err := parseDiff(patch)
	if err != nil {
		return nil, fmt.Errorf("parse patch: %w", err)
	}
	for _, f := range parsed {
		if f.NewName != path || f.OldName != path || f.IsNew || f.IsDelete || f.IsBinary {
			continue
		}
		var after bytes.Buffer
		if err := gitdiff.Apply(&after, bytes.NewReader(before), f); err != nil {
			return nil, fmt.Errorf("apply patch to %s: %w", path, err)
		}
		return after.Bytes(), nil
	}
	return nil, fmt.Errorf("apply patch to %s: the patch does not modify it", path)
}
