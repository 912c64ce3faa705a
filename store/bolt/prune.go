package bolt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// pruneBatch bounds one transaction of Prune, so that writers wait little.
const pruneBatch = 500

// Prune removes what is older than the configured times: deliveries, and the
// transcripts and artifacts of ended solves. Solves, runs, events and effects stay;
// what they spent is kept at hand for a week.
func (s *Store) Prune(ctx context.Context, now time.Time) error {
	for _, one := range []pruning{
		{"prune-deliveries", payloads, s.cfg.KeepDeliveries, s.pruneNoFiles, func(t *tx, k []byte, _ string) { t.del(deliveries, k[8:]) }},
		{"prune-files", ended, s.cfg.KeepLogs, s.pruneFiles, func(t *tx, _ []byte, id string) {
			for _, k := range t.keys(segments, key(nil).text(id)) {
				t.del(segments, k)
			}
			t.del(restored, []byte(id))
		}},
		{"prune-spent", spent, keepSpent, s.pruneNoFiles, func(*tx, []byte, string) {}},
	} {
		for rows := pruneBatch; rows == pruneBatch; {
			var err error
			if rows, err = s.pruneSome(ctx, one, now.Add(-one.keep)); err != nil {
				return err
			}
		}
	}
	return nil
}

// pruning removes the old rows of a bucket whose keys begin with a time.
type pruning struct {
	op     string
	bucket bucket
	keep   time.Duration
	files  func(value string) error            // removes what a row has outside the database
	rest   func(t *tx, k []byte, value string) // removes what it has in other buckets
}

// pruneSome removes the oldest rows, files first: a crash in between only repeats that.
func (s *Store) pruneSome(ctx context.Context, p pruning, before time.Time) (rows int, err error) {
	var keys [][]byte
	var values []string
	_, err = read(ctx, s, func(t *tx) (none struct{}, _ error) {
		for k, v := range t.scan(p.bucket, nil) {
			if num(k) >= stamp(before) || len(keys) == pruneBatch {
				break
			}
			keys, values = append(keys, bytes.Clone(k)), append(values, string(v))
		}
		return none, nil
	})
	for _, v := range values {
		err = errors.Join(err, p.files(v))
	}
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	return len(keys), s.update(ctx, p.op, func(t *tx) error {
		for i, k := range keys {
			p.rest(t, k, values[i])
			t.del(p.bucket, k)
		}
		return nil
	})
}

func (s *Store) pruneFiles(id string) error {
	return errors.Join(os.RemoveAll(filepath.Join(s.dir, "transcripts", id)), os.RemoveAll(filepath.Join(s.dir, "artifacts", id)))
}

func (s *Store) pruneNoFiles(string) error { return nil }
