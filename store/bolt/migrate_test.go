package bolt_test

import (
	"errors"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/solve"
)

// TestFirstLayoutIsMigrated opens a file as the first layout left it: its
// indexes of admission knew one installation per repository.
func TestFirstLayoutIsMigrated(t *testing.T) {
	t.Parallel()
	c := config(t)
	f := newFleet(t, c, 3, 1)
	err := f.DB().Update(func(b *bbolt.Tx) error {
		err := errors.Join(b.DeleteBucket([]byte("restored")), b.Bucket([]byte("meta")).Put([]byte("schema"), []byte("1")))
		for _, name := range []string{"ready_solves", "ready_repos", "ready_insts", "turn_repo", "turn_inst"} {
			err = errors.Join(err, b.Bucket([]byte(name)).Put([]byte("an old key that nobody can read"), []byte("old")))
		}
		return err
	})
	f.ok(t, err)
	closeStore(t, f.Store)

	s := open(t, c)
	f.ok(t, s.Heartbeat(f.ctx, "next", f.now, 24*time.Hour))
	rescued, err := s.Rescue(f.ctx, "next", f.now)
	f.ok(t, err)
	admitted, err := s.Admit(f.ctx, "next", f.now, solve.Caps{})
	f.ok(t, err)
	queued := 0
	live, err := s.LiveSolves(f.ctx)
	f.ok(t, err)
	for _, one := range live {
		runs, err := s.Runs(f.ctx, one.ID)
		f.ok(t, err)
		queued += len(runs)
	}
	if len(admitted) == 0 || len(rescued)+len(admitted) != queued {
		t.Errorf("%d runs rescued and %d admitted of %d", len(rescued), len(admitted), queued)
	}
}
