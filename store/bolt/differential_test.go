package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/store/memory"
	"github.com/yudai-dev/yudai/store/storetest"
)

// TestSameAsTheModel plays random sequences on this engine and on package memory's plain maps.
func TestSameAsTheModel(t *testing.T) {
	t.Parallel()
	clock := &storetest.Clock{}
	c := fastConfig(t)
	c.Now = clock.Now
	s := open(t, c)
	s.DB().NoSync = true // nothing is killed here
	storetest.SameAs(t, clock, func() storetest.Store { return memory.New(clock.Now) }, func() storetest.Store {
		clearStore(t, s)
		return s
	})
}

// fastDir is a directory in memory where there is one: thousands of sequences
// need no disk, where nothing is killed.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "yudai-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func fastConfig(t testing.TB) bolt.Config {
	c := bolt.DefaultConfig()
	c.Path = filepath.Join(fastDir(t), "yudai.db")
	return c
}

// clearStore empties every bucket but the one that holds the layout's number.
func clearStore(t *testing.T, s *bolt.Store) {
	t.Helper()
	err := s.DB().Update(func(b *bbolt.Tx) error {
		var names [][]byte
		err := b.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if string(name) != "meta" {
				names = append(names, append([]byte(nil), name...))
			}
			return nil
		})
		for _, name := range names {
			err = errors.Join(err, b.DeleteBucket(name))
			_, made := b.CreateBucket(name)
			err = errors.Join(err, made)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(s.DB().Path())
	for _, sub := range []string{"transcripts", "artifacts"} {
		if err := os.RemoveAll(filepath.Join(dir, sub)); err != nil {
			t.Fatal(err)
		}
	}
}
