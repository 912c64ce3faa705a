package bolt_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/store/storetest"
)

var _ storetest.Store = (*bolt.Store)(nil)

func config(t testing.TB) bolt.Config {
	c := bolt.DefaultConfig()
	c.Path = filepath.Join(t.TempDir(), "data", "yudai.db")
	return c
}

func open(t testing.TB, c bolt.Config) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestPromises(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Store {
		c := config(t)
		c.Now = now
		return open(t, c)
	})
}
