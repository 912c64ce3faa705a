package bolt_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// TestOldLayoutsAreMigrated opens files as yudai wrote them with each earlier layout.
// They hold a solve in each part of its life: "a" is preparing, of the runs of "bb" one
// failed, one works and two wait, "ccc" is over, and "dddd", "eeeee" and "ffffff" wait.
func TestOldLayoutsAreMigrated(t *testing.T) {
	t.Parallel()
	for layout := 1; layout <= 4; layout++ {
		t.Run(fmt.Sprint(layout), func(t *testing.T) {
			t.Parallel()
			now := time.Date(2100, 1, 2, 4, 0, 0, 0, time.UTC)
			c := config(t)
			c.Now = func() time.Time { return now }
			unzip(t, fmt.Sprintf("testdata/layout%d.db.gz", layout), c.Path)
			s := open(t, c)
			ctx := t.Context()

			for _, left := range []string{"gone", "node"} {
				if err := s.Heartbeat(ctx, left, time.Hour); !errors.Is(err, solve.ErrLeaseLost) {
					t.Errorf("node %s was revived: %v", left, err)
				}
			}
			noError(t, s.Heartbeat(ctx, "next", time.Hour))
			live, err := s.LiveSolves(ctx)
			noError(t, err)
			var ids []solve.ID
			for _, one := range live {
				ids = append(ids, one.ID)
			}
			if want := []solve.ID{"a", "bb", "dddd", "eeeee", "ffffff"}; !slices.Equal(ids, want) {
				t.Errorf("live solves are %v, want %v", ids, want)
			}
			rescued, err := s.Rescue(ctx, "next")
			noError(t, err)
			admitted, err := s.Admit(ctx, "next", solve.Caps{})
			noError(t, err)
			if len(rescued) != 1 || rescued[0].N != 1 || len(admitted) != 1 || admitted[0].N != 3 {
				t.Errorf("rescued %v, admitted %v", rescued, admitted)
			}
			for _, want := range []solve.ID{"a", "eeeee", "ffffff", "dddd"} { // of repository 1 two are begun
				got, err := s.ClaimSolve(ctx, "next")
				if err != nil || got.ID != want {
					t.Errorf("claimed %s, want %s: %v", got.ID, want, err)
				}
			}
			if _, err := s.ClaimSolve(ctx, "next"); !errors.Is(err, solve.ErrNotFound) {
				t.Errorf("one more was claimed: %v", err)
			}
			list, err := s.Spent(ctx, now.Add(-24*time.Hour))
			if err != nil || len(list) != 3 || list[0].Reserved != 40 || list[0].Installation != 5 || list[2].Reserved != 0 {
				t.Errorf("spent %+v: %v", list, err)
			}
		})
	}
}

func unzip(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	noError(t, err)
	z, err := gzip.NewReader(f)
	noError(t, err)
	data, err := io.ReadAll(z)
	noError(t, err)
	noError(t, errors.Join(f.Close(), os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600)))
}
