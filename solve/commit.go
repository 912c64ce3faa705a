package solve

import (
	"encoding/json"
	"fmt"
)

// CommitArtifact is the artifact of a solve that holds its champion's [Commit].
const CommitArtifact = "commit.json"

// commitVersion is the version of the artifact's format.
const commitVersion = 1

// Commit is what the champion's commit contains, on top of the base commit. It is stored
// before anybody writes it, so that every try writes the same.
type Commit struct {
	V       int    `json:"v"`
	Message string `json:"message"`
	BaseSHA string `json:"base_sha"`
	// Tree is the name of its tree, "" in artifacts of old versions.
	Tree  string       `json:"tree,omitempty"`
	Files []CommitFile `json:"files"`
	// Tests is a commit of the reproducer's tests alone, which goes before this one; nil for most. Files has them, too.
	Tests *TestsCommit `json:"tests,omitempty"`
}

// TestsCommit is what the commit of a reproducer's tests contains, on top of the base commit.
type TestsCommit struct {
	Message string       `json:"message"`
	Files   []CommitFile `json:"files"`
}

// CommitFile is one file of a tree that differs from its base, whole.
type CommitFile struct {
	Path   string `json:"path"`
	Mode   string `json:"mode,omitempty"` // "100644", "100755", "120000" (Data is the target) or "160000"; "" for a deletion
	Data   []byte `json:"data,omitempty"` // nil for a deletion and for a submodule
	SHA    string `json:"sha,omitempty"`  // the object's name; "" for a deletion
	Delete bool   `json:"delete,omitempty"`
}

// Encode returns the artifact.
func (c Commit) Encode() ([]byte, error) {
	c.V = commitVersion
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode commit: %w", err)
	}
	return data, nil
}

// DecodeCommit reads the artifact.
func DecodeCommit(data []byte) (Commit, error) {
	var c Commit
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("decode commit: %w", err)
	}
	if c.V != commitVersion {
		return c, fmt.Errorf("decode commit: version %d, want %d", c.V, commitVersion)
	}
	return c, nil
}
