package bolt

import (
	"context"
	"errors"
	"fmt"
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
	if err := s.pruneDeliveries(ctx, now.Add(-s.cfg.KeepDeliveries)); err != nil {
		return fmt.Errorf("prune deliveries: %w", err)
	}
	if err := s.pruneFiles(ctx, now.Add(-s.cfg.KeepLogs)); err != nil {
		return fmt.Errorf("prune transcripts and artifacts: %w", err)
	}
	if err := s.pruneSpent(ctx, now.Add(-keepSpent)); err != nil {
		return fmt.Errorf("prune what was spent: %w", err)
	}
	return nil
}

// old returns up to pruneBatch keys and values of a bucket that begins with a time before the given one.
func (t *tx) old(b bucket, before time.Time) (keys [][]byte, values []string, err error) {
	err = t.scan(b, nil, func(k, v []byte) (bool, error) {
		if num(k) >= stamp(before) || len(keys) == pruneBatch {
			return false, nil
		}
		keys, values = append(keys, append([]byte(nil), k...)), append(values, string(v))
		return true, nil
	})
	return keys, values, err
}

func (s *Store) pruneDeliveries(ctx context.Context, before time.Time) error {
	for {
		var keys [][]byte
		err := s.update(ctx, "prune-deliveries", func(t *tx) (err error) {
			if keys, _, err = t.old(payloads, before); err != nil {
				return err
			}
			for _, k := range keys {
				t.del(payloads, k)
				t.del(deliveries, k[8:])
			}
			return nil
		})
		if err != nil || len(keys) < pruneBatch {
			return err
		}
	}
}

// pruneFiles removes the files first: a crash in between only repeats it.
func (s *Store) pruneFiles(ctx context.Context, before time.Time) error {
	for {
		var keys [][]byte
		var ids []string
		err := s.view(ctx, func(t *tx) (err error) {
			keys, ids, err = t.old(ended, before)
			return err
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, id := range ids {
			err = errors.Join(os.RemoveAll(filepath.Join(s.dir, "transcripts", id)),
				os.RemoveAll(filepath.Join(s.dir, "artifacts", id)))
			if err != nil {
				return err
			}
		}
		err = s.update(ctx, "prune-files", func(t *tx) error {
			for i, k := range keys {
				if err := t.forgetSegments(ids[i]); err != nil {
					return err
				}
				t.del(ended, k)
				t.del(restored, []byte(ids[i]))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// forgetSegments removes the index of a solve's transcripts.
func (t *tx) forgetSegments(id string) error {
	var keys [][]byte
	err := t.scan(segments, key(nil).text(id), func(k, _ []byte) (bool, error) {
		keys = append(keys, append([]byte(nil), k...))
		return true, nil
	})
	for _, k := range keys {
		t.del(segments, k)
	}
	return err
}
