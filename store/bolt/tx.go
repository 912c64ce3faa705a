package bolt

import (
	"bytes"
	"fmt"
	"iter"

	bbolt "go.etcd.io/bbolt"
)

// tx is one caller's part of a transaction. The first failed write is kept and
// ends the part: later writes do nothing, so that a sequence of writes needs one check.
type tx struct {
	b     *bbolt.Tx
	dirty bool
	err   error
	ops   int // reads, writes and steps over keys: what the part costs
}

func (t *tx) run(fn func(*tx) error) error {
	return guard(func() error {
		if err := fn(t); err != nil {
			return err
		}
		return t.err
	})
}

// bucket of the file; a missing one means a damaged file.
func (t *tx) bucket(b bucket) *bbolt.Bucket {
	t.ops++
	return t.b.Bucket([]byte(b))
}

// get returns the value, nil if there is none. It is valid until the end of the transaction.
func (t *tx) get(b bucket, k []byte) []byte {
	return t.bucket(b).Get(k)
}

func (t *tx) put(b bucket, k, v []byte) {
	if t.err != nil {
		return
	}
	t.dirty = true
	if err := t.bucket(b).Put(k, v); err != nil {
		t.err = fmt.Errorf("write %s: %w", b, err)
	}
}

func (t *tx) del(b bucket, k []byte) {
	if t.err != nil {
		return
	}
	t.dirty = true
	if err := t.bucket(b).Delete(k); err != nil {
		t.err = fmt.Errorf("delete from %s: %w", b, err)
	}
}

// set makes a value the given one, nil removes it. What stands already is not written.
func (t *tx) set(b bucket, k, v []byte) {
	old := t.get(b, k)
	switch {
	case v == nil && old != nil:
		t.del(b, k)
	case v != nil && !bytes.Equal(old, v):
		t.put(b, k, v)
	}
}

// scan yields the keys with the prefix, in order. The loop must not write to the bucket.
func (t *tx) scan(b bucket, prefix []byte) iter.Seq2[[]byte, []byte] {
	return t.scanFrom(b, prefix, prefix)
}

// scanFrom is scan from a key on.
func (t *tx) scanFrom(b bucket, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := t.bucket(b).Cursor()
		for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			t.ops++
			if !yield(k, v) {
				return
			}
		}
	}
}

// scanBack goes down from the last key below before, or from the last of all if that is empty.
func (t *tx) scanBack(b bucket, before []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := t.bucket(b).Cursor()
		start := c.Prev
		if at, _ := c.Seek(before); at == nil || len(before) == 0 {
			start = c.Last
		}
		for k, v := start(); k != nil; k, v = c.Prev() {
			t.ops++
			if !yield(k, v) {
				return
			}
		}
	}
}

// keys are the keys with the prefix.
func (t *tx) keys(b bucket, prefix []byte) (out [][]byte) {
	for k := range t.scan(b, prefix) {
		out = append(out, bytes.Clone(k))
	}
	return out
}
