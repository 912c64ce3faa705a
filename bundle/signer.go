package bundle

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/solve"
)

// Store is what a signer needs of a store engine.
type Store interface {
	PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
	Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error)
}

// Signer makes the statements of an installation, and bundles of them.
type Signer struct {
	dir, version string
	store        Store
	key          ed25519.PrivateKey
	chain        chain
}

// New opens the directory of an installation's key and statements, and makes both where they are
// missing. version is that of this program.
func New(ctx context.Context, dir string, store Store, version string) (*Signer, error) {
	s := &Signer{dir: dir, version: version, store: store, chain: chain{filepath.Join(dir, "statements")}}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open the signed bundles in %s: %w", dir, err)
	}
	return s, nil
}

func (s *Signer) open(ctx context.Context) error {
	if err := durable.MakeDirs(s.chain.dir); err != nil {
		return err
	}
	unlock, err := lock(ctx, s.chain.dir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := errors.Join(durable.Clean(s.dir), durable.Clean(s.chain.dir)); err != nil {
		return err
	}
	if _, err := s.chain.end(); err != nil {
		return err
	}
	s.key, err = ensureKey(s.dir)
	return err
}

// Sign adds the statement of a decided record to the chain, once for each decision: asked
// again, after a crash at any point, it adds nothing. others are artifacts of the solve that
// the bundle holds if they are there, beside the patches, the logs and the record.
//
// The record is stored first, under a name that its content gives. The statement is the last
// thing written, and nothing follows from it.
func (s *Signer) Sign(ctx context.Context, rec solve.Record, others ...string) error {
	if rec.Solve.Decision == nil {
		return fmt.Errorf("sign solve %s: it is not decided", rec.Solve.ID)
	}
	last, err := s.chain.newest(rec.Solve.ID)
	switch {
	case errors.Is(err, solve.ErrNotFound):
	case err != nil:
		return err
	default:
		if same, err := last.statement.Predicate.same(rec.Solve.Decision); same || err != nil {
			return err
		}
	}
	st, err := s.describe(ctx, rec, others)
	if err != nil {
		return fmt.Errorf("describe solve %s: %w", rec.Solve.ID, err)
	}
	return s.chain.add(ctx, st, func(payload []byte) ([]byte, error) { return seal(payload, s.key) })
}

// describe makes the statement, and stores the record that it names.
func (s *Signer) describe(ctx context.Context, rec solve.Record, others []string) (Statement, error) {
	st, err := newStatement(rec, s.version, time.Now())
	if err != nil {
		return st, err
	}
	p := &st.Predicate
	for i, c := range p.Candidates {
		said, err := s.store.Transcript(ctx, rec.Solve.ID, c.Run)
		if err != nil && !errors.Is(err, solve.ErrNotFound) {
			return st, err
		}
		if len(said) > 0 {
			p.Candidates[i].Transcript = hexSum(said)
		}
	}
	if p.Blobs, err = s.artifacts(ctx, rec, others); err != nil {
		return st, err
	}
	record, err := s.putRecord(ctx, rec)
	if err != nil {
		return st, err
	}
	p.Record, p.Blobs = record.Name, append(p.Blobs, record)
	if size := total(p.Blobs); size > maxBundle {
		return st, fmt.Errorf("its files have %d bytes together; a bundle may have %d", size, maxBundle)
	}
	st.Subject, err = s.subjects(ctx, rec, record)
	return st, err
}

// artifacts are what the store has of a solve. Patches that could win must be there; the others may be kept no more.
func (s *Signer) artifacts(ctx context.Context, rec solve.Record, others []string) ([]Blob, error) {
	var out []Blob
	add := func(name string, must bool) error {
		data, err := s.store.Artifact(ctx, rec.Solve.ID, name)
		if errors.Is(err, solve.ErrNotFound) && !must {
			return nil
		}
		if err == nil {
			out = append(out, Blob{name, hexSum(data), int64(len(data))})
		}
		return err
	}
	for _, r := range rec.Runs {
		if r.Candidate != nil && r.Candidate.Artifact != "" {
			if err := add(r.Candidate.Artifact, solve.Eligible(r)); err != nil {
				return nil, err
			}
		}
		if r.Verdict != nil {
			others = append(others, r.Verdict.Log, r.Verdict.Results)
		}
	}
	for _, name := range others {
		if name == "" {
			continue
		}
		if err := add(name, false); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *Signer) putRecord(ctx context.Context, rec solve.Record) (Blob, error) {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return Blob{}, fmt.Errorf("encode record: %w", err)
	}
	sum := hexSum(data)
	b := Blob{"record-" + sum[:12] + ".json", sum, int64(len(data))}
	return b, s.store.PutArtifact(ctx, rec.Solve.ID, b.Name, data)
}

// subjects are the record and the champion. Its tree is known if its commit was made already.
func (s *Signer) subjects(ctx context.Context, rec solve.Record, record Blob) ([]Subject, error) {
	out := []Subject{{record.Name, map[string]string{"sha256": record.SHA256}}}
	for _, r := range rec.Runs {
		if r.N == rec.Solve.Decision.Champion {
			out = append(out, Subject{r.Candidate.Artifact, map[string]string{"sha256": r.Candidate.SHA256}})
		}
	}
	if len(out) == 1 {
		return out, nil
	}
	data, err := s.store.Artifact(ctx, rec.Solve.ID, solve.CommitArtifact)
	if errors.Is(err, solve.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	commit, err := solve.DecodeCommit(data)
	if err == nil && commit.Tree != "" {
		out = append(out, Subject{"champion", map[string]string{"gitTree": commit.Tree}})
	}
	return out, err
}

// Export finds the newest statement of a solve and returns what writes the bundle.
// solve.ErrNotFound says that none was signed, or that its files are kept no more.
func (s *Signer) Export(ctx context.Context, id solve.ID) (write func(io.Writer) error, err error) {
	last, err := s.chain.newest(id)
	if err != nil {
		return nil, err
	}
	p := last.statement.Predicate
	if _, err := s.store.Artifact(ctx, id, p.Record); err != nil {
		return nil, err
	}
	public, err := os.ReadFile(publicKeyFile(s.dir, last.Signatures[0].KeyID))
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	return func(w io.Writer) error {
		return writeArchive(w, last.data, public, p.Blobs, func(b Blob) ([]byte, error) {
			data, err := s.store.Artifact(ctx, id, b.Name)
			if err == nil && hexSum(data) != b.SHA256 {
				err = fmt.Errorf("%s of solve %s was changed after it was signed", b.Name, id)
			}
			return data, err
		})
	}, nil
}
