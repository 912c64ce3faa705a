package bundle

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// ErrRecord says that the record of a bundle cannot be read by this program.
var ErrRecord = errors.New("the record cannot be read")

// Digest is the SHA-256 of the statement: what the next one of the installation names.
func (b *Bundle) Digest() string { return hexSum(b.sealed.Payload) }

// Verify checks the signature with the key, that every file is the one that was signed, and that the champion's patch is among them.
func (b *Bundle) Verify(key ed25519.PublicKey) error {
	problems := append([]error{b.sealed.check(key)}, b.wrong...)
	if !key.Equal(b.Key) {
		problems = append(problems, fmt.Errorf("the key in the bundle is %s, and it must be %s", b.KeyID, KeyID(key)))
	}
	p := b.Statement.Predicate
	named := map[string]bool{}
	for _, blob := range p.Blobs {
		named[blob.SHA256] = true
	}
	if _, ok := p.blob(p.Record); !ok {
		problems = append(problems, errors.New("the statement names no record"))
	}
	for _, s := range b.Statement.Subject {
		if sum, ok := s.Digest["sha256"]; ok && !named[sum] {
			problems = append(problems, fmt.Errorf("the statement is about %.100q, and its files do not hold it", s.Name))
		}
	}
	return errors.Join(problems...)
}

// Record is the record of the solve. Its error is an [ErrRecord].
func (b *Bundle) Record() (solve.Record, error) {
	data, ok := b.File(b.Statement.Predicate.Record)
	if !ok {
		return solve.Record{}, fmt.Errorf("%w: it is not in the bundle", ErrRecord)
	}
	rec, err := solve.ReadRecord(data)
	if err != nil {
		return rec, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return rec, nil
}

// Decide recomputes the decision from the record and compares it byte for byte with the one
// that was signed. What the candidates' patches are must be told alike, too. An error says in
// what they differ; [ErrRecord] that the record cannot be read.
func (b *Bundle) Decide() (solve.Decision, error) {
	rec, err := b.Record()
	if err != nil {
		return solve.Decision{}, err
	}
	d := solve.Decide(rec.Solve, rec.Runs, rec.Rule())
	if stored := rec.Solve.Decision; stored != nil {
		d.SandboxUses = stored.SandboxUses // what the tests cost decides nothing
	}
	problems := []error{b.compare(rec)}
	if same, err := b.Statement.Predicate.same(&d); err != nil || !same {
		problems = append(problems, err, differs(b.Statement.Predicate.Decision, d))
	}
	return d, errors.Join(problems...)
}

// compare says in what the record is not the one that the statement tells of.
func (b *Bundle) compare(rec solve.Record) error {
	p := b.Statement.Predicate
	want, err := newStatement(rec, p.Yudai, p.Signed)
	if err != nil {
		return err
	}
	var problems []error
	if w := want.Predicate; !bytes.Equal(w.Decision, p.Decision) {
		problems = append(problems, errors.New("the record holds another decision than the statement"))
	} else if w.Solve != p.Solve || w.Issue != p.Issue || w.Base != p.Base {
		problems = append(problems, errors.New("the record is of another solve, issue or base than the statement"))
	}
	if len(want.Predicate.Candidates) != len(p.Candidates) {
		return errors.Join(append(problems, errors.New("the record has another number of runs than the statement"))...)
	}
	for i, c := range want.Predicate.Candidates {
		if told := p.Candidates[i]; c.Run != told.Run || c.Patch != told.Patch || c.State != told.State {
			problems = append(problems, fmt.Errorf("run %d of the record is not the one of the statement", c.Run))
		}
	}
	return errors.Join(problems...)
}

// differs says in what a decision is not the recomputed one.
func differs(signed json.RawMessage, d solve.Decision) error {
	var was solve.Decision
	if err := json.Unmarshal(signed, &was); err != nil {
		return fmt.Errorf("read the signed decision: %w", err)
	}
	if was.Champion != d.Champion {
		return fmt.Errorf("the signed champion is run %d, recomputed it is run %d", was.Champion, d.Champion)
	}
	return fmt.Errorf("the signed decision has the same champion, run %d, but is not the recomputed one byte for byte", d.Champion)
}
