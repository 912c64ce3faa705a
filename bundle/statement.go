// Package bundle makes, reads and checks signed bundles. A bundle is a tar file about one
// solve: a signed statement (in-toto Statement v1 in a DSSE envelope, Ed25519), the public key,
// and the files that the statement names by their SHA-256. docs/bundle.md describes the format.
package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Types of the format.
const (
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	// PredicateType is the type of our predicate; another meaning needs another version.
	PredicateType = "https://github.com/yudai-dev/yudai/bundle/v1"
)

// Statement is an in-toto Statement.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is what the statement is about: the record, and the champion's patch and tree if there is a champion.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Predicate is what yudai says of a solve.
type Predicate struct {
	Yudai      string    `json:"yudai"` // the version that decided
	Signed     time.Time `json:"signed"`
	Solve      solve.ID  `json:"solve"`
	Repository string    `json:"repository"`
	Issue      Issue     `json:"issue"`
	Base       Base      `json:"base"`
	Sandbox    Sandbox   `json:"sandbox"`
	// Candidates are all runs of the solve, by number.
	Candidates []Candidate `json:"candidates"`
	// Decision is the solve.Decision as it was made: the rule in words, the cross tests, the ranking and the comparisons.
	Decision json.RawMessage `json:"decision"`
	// Record names the blob with the solve.Record that the decision can be recomputed from.
	Record string `json:"record"`
	Blobs  []Blob `json:"blobs"`
	Chain  Chain  `json:"chain"`
}

// Issue is the issue as it was pinned: the digest is that of its JSON in the record.
type Issue struct {
	Number int    `json:"number"`
	SHA256 string `json:"sha256"`
}

// Base is where the candidates started from, and how it was tested.
type Base struct {
	Branch  string            `json:"branch"`
	Commit  string            `json:"commit"`
	Install string            `json:"install,omitempty"`
	Test    solve.TestCommand `json:"test"`
	Report  solve.Counts      `json:"report"`
}

// Sandbox is where the tests ran.
type Sandbox struct {
	Driver string `json:"driver,omitempty"`
	Image  string `json:"image,omitempty"`
}

// Candidate is one run. The model's record, as it was known then, stands in the experiment.
type Candidate struct {
	Run        int              `json:"run"`
	Experiment solve.Experiment `json:"experiment"`
	State      solve.RunState   `json:"state"`
	Patch      string           `json:"patch_sha256,omitempty"`
	// Transcript is the digest of everything that was said to the model and by it; the text is no part of the bundle.
	Transcript string         `json:"transcript_sha256,omitempty"`
	Usage      solve.Usage    `json:"usage"`
	Verdict    *solve.Verdict `json:"verdict,omitempty"`
}

// Blob is a file of the bundle. Two names may have one content.
type Blob struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Chain is the statement's place among all statements of an installation.
type Chain struct {
	Number int `json:"number"` // from 1
	// Previous is the SHA-256 of the statement before it, "" of the first.
	Previous string `json:"previous,omitempty"`
}

// parseStatement reads what a signature covers. Unknown fields are those of newer versions and are left alone.
func parseStatement(payload []byte) (Statement, error) {
	var st Statement
	if err := json.Unmarshal(payload, &st); err != nil {
		return st, fmt.Errorf("read statement: %w", err)
	}
	if st.Type != statementType || st.PredicateType != PredicateType {
		return st, fmt.Errorf("read statement: its type is %.80q with %.80q, this program reads %q with %q",
			st.Type, st.PredicateType, statementType, PredicateType)
	}
	return st, nil
}

// newStatement is the statement of a record, without its transcripts, its blobs and its place in the chain.
func newStatement(rec solve.Record, version string, signed time.Time) (Statement, error) {
	s := rec.Solve
	issue, err := json.Marshal(s.Issue)
	if err != nil {
		return Statement{}, fmt.Errorf("encode issue: %w", err)
	}
	decision, err := json.Marshal(s.Decision)
	if err != nil {
		return Statement{}, fmt.Errorf("encode decision: %w", err)
	}
	p := Predicate{
		Yudai: version, Signed: signed.UTC(), Solve: s.ID, Repository: s.Repo.String(), Decision: decision,
		Issue:   Issue{s.Issue.Number, hexSum(issue)},
		Base:    Base{Branch: s.Base.Branch, Commit: s.Base.SHA, Install: s.Base.Install, Test: s.Base.Test, Report: s.Base.Report},
		Sandbox: Sandbox{s.Plan.Sandbox, s.Base.Image},
	}
	for _, r := range rec.Runs {
		c := Candidate{Run: r.N, Experiment: r.Experiment, State: r.State, Usage: r.Progress.Usage, Verdict: r.Verdict}
		if r.Candidate != nil {
			c.Patch = r.Candidate.SHA256
		}
		p.Candidates = append(p.Candidates, c)
	}
	return Statement{Type: statementType, PredicateType: PredicateType, Predicate: p}, nil
}

// same says whether the statement tells this decision, byte for byte.
func (p Predicate) same(d *solve.Decision) (bool, error) {
	data, err := json.Marshal(d)
	return bytes.Equal(data, p.Decision), err
}

// blob finds a blob by its name.
func (p Predicate) blob(name string) (Blob, bool) {
	for _, b := range p.Blobs {
		if b.Name == name {
			return b, true
		}
	}
	return Blob{}, false
}
