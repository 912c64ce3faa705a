package bolt_test

import (
	"encoding/json"
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
		err := errors.Join(b.DeleteBucket([]byte("restored")), withoutQueue(b), b.Bucket([]byte("meta")).Put([]byte("schema"), []byte("1")))
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

// withoutQueue makes the indexes of a file those of the second layout: what waited
// stood among all that could be claimed, by age.
func withoutQueue(b *bbolt.Tx) error {
	type place struct {
		B string `json:"b"`
		K []byte `json:"k"`
	}
	var all error
	rows := map[string][]byte{}
	err := b.Bucket([]byte("indexed")).ForEach(func(id, v []byte) error {
		var have, old []place
		all = errors.Join(all, json.Unmarshal(v, &have))
		for _, p := range have {
			switch p.B {
			case "claimed":
			case "waiting":
				p.B, p.K = "claim_free", p.K[8:]
				all = errors.Join(all, b.Bucket([]byte(p.B)).Put(p.K, id))
				old = append(old, p)
			default:
				old = append(old, p)
			}
		}
		row, err := json.Marshal(old)
		rows[string(id)] = row
		return err
	})
	for id, row := range rows {
		err = errors.Join(err, b.Bucket([]byte("indexed")).Put([]byte(id), row))
	}
	for _, name := range []string{"spent", "waiting", "claimed", "line", "line_repo"} {
		err = errors.Join(err, b.DeleteBucket([]byte(name)))
	}
	counts := b.Bucket([]byte("counts"))
	c := counts.Cursor()
	for k, _ := c.Seek([]byte("c")); k != nil && k[0] == 'c'; k, _ = c.Next() {
		all = errors.Join(all, c.Delete())
	}
	return errors.Join(err, all)
}

// TestSecondLayoutIsMigrated: the queue is in its order, and what the last day cost
// is known, after a start with a file that had neither.
func TestSecondLayoutIsMigrated(t *testing.T) {
	t.Parallel()
	c := config(t)
	s := open(t, c)
	now := time.Now().UTC()
	begin := func(id string, repo int64, at time.Time) {
		t.Helper()
		one := solve.Solve{ID: solve.ID(id), Repo: solve.Repo{ID: repo, Installation: 5}, Created: at}
		one.Trigger.Key, one.Issue.Number = id, len(id)
		_, _, err := s.Create(t.Context(), one)
		noError(t, err)
	}
	start := func(id string, at time.Time) {
		t.Helper()
		_, _, err := s.Apply(t.Context(), solve.Change{Solve: solve.ID(id), At: at,
			Event: solve.Claimed{Plan: solve.Plan{Limits: solve.Limits{SolveMoney: 40}}}})
		noError(t, err)
	}
	begin("a", 1, now.Add(-5*time.Hour))
	start("a", now.Add(-4*time.Hour))
	begin("bb", 1, now.Add(-3*time.Hour))
	begin("ccc", 2, now.Add(-2*time.Hour))
	begin("dddd", 3, now.Add(-1000*time.Hour))
	start("dddd", now.Add(-999*time.Hour))
	noError(t, s.DB().Update(func(b *bbolt.Tx) error {
		return errors.Join(withoutQueue(b), b.Bucket([]byte("meta")).Put([]byte("schema"), []byte("2")))
	}))
	closeStore(t, s)

	s = open(t, c)
	noError(t, s.Heartbeat(t.Context(), "n", now, time.Hour))
	for _, want := range []solve.ID{"dddd", "a", "ccc", "bb"} {
		got, err := s.ClaimSolve(t.Context(), "n", now)
		if err != nil || got.ID != want {
			t.Errorf("claimed %s, want %s: %v", got.ID, want, err)
		}
	}
	if _, err := s.ClaimSolve(t.Context(), "n", now); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("one more was claimed: %v", err)
	}
	list, err := s.Spent(t.Context(), now.Add(-5000*time.Hour))
	if err != nil || len(list) != 1 || list[0].Solve != "a" || list[0].Reserved != 40 || list[0].Installation != 5 {
		t.Errorf("spent %+v: %v", list, err)
	}
}
