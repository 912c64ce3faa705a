package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// The two solves of a sample file; only the first one's records are damaged.
const damaged, intact = solve.ID("damaged0"), solve.ID("intact00")

// FuzzStoredRecord puts foreign bytes in the place of one stored value, of a
// record or of an index, and uses the store: everything answers or says what is
// wrong, nothing panics, and another solve's record reads as before.
func FuzzStoredRecord(f *testing.F) {
	sample := sampleFiles(f)
	values := []string{
		"\xff\xff\xff\xff\xff\xff\xff\xff", `{"v":1,"state":"nonsense"}`, "", `{"v":9}`, "\x00\x00\x00\x00\x00\x00\x00\x01", "{", `{"v":1}`, "null",
	}
	for at := range uint8(30) { // the file has fewer buckets with something in them
		f.Add(at, at/7, []byte(values[0]))
		f.Add(at, uint8(0), []byte(values[1+int(at)%7]))
	}
	f.Fuzz(func(t *testing.T, bucket, nth uint8, value []byte) {
		c := fastConfig(t)
		spoilt := spoil(t, sample, c.Path, bucket, nth, value)
		s, err := bolt.Open(c)
		if err != nil {
			return // refused at the start, with its reason
		}
		defer func() { _ = s.Close() }()
		use(t.Context(), s)
		if spoilt == "solves" || spoilt == "runs" || spoilt == "events" {
			if got, err := s.Solve(t.Context(), intact); err != nil || got.ID != intact {
				t.Errorf("the other solve reads as %v, %v", got.ID, err)
			}
		}
	})
}

// sampleFiles is a closed store's directory, with records of every kind.
func sampleFiles(t testing.TB) fs.FS {
	t.Helper()
	c := config(t)
	s, err := bolt.Open(c)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	ctx, now := context.Background(), time.Now().UTC()
	must(s.Heartbeat(ctx, "node", time.Hour))
	for i, id := range []solve.ID{damaged, intact} {
		_, _, err := s.Create(ctx, solve.Solve{
			ID: id, Repo: solve.Repo{Installation: 1, ID: 2, Owner: "o", Name: "n", DefaultBranch: "main"}, Created: now,
			Issue: solve.Issue{Number: i + 1, Title: "t", Author: "a"}, Trigger: solve.Trigger{Kind: solve.TriggerLabel, Key: string(id), Actor: "a", At: now},
		})
		must(err)
		claimed, err := s.ClaimSolve(ctx, "node")
		must(err)
		token := claimed.Lease.Token
		plan := solve.Plan{Experiments: make([]solve.Experiment, 2)}
		_, _, err = s.Apply(ctx, solve.Change{Solve: id, Token: token, Event: solve.Claimed{Plan: plan}})
		must(err)
		_, _, err = s.Apply(ctx, solve.Change{Solve: id, Token: token, Event: solve.BaseReady{Runs: []solve.Run{{N: 1}, {N: 2}}}})
		must(err)
		admitted, err := s.Admit(ctx, "node", solve.Caps{Process: 2 * (i + 1), Repository: 4, Installation: 4})
		must(err)
		for _, r := range admitted {
			_, r, err = s.Apply(ctx, solve.Change{Solve: id, Run: r.N, Token: r.Lease.Token, Event: solve.Started{}})
			must(err)
			must(s.Step(ctx, r.Solve, r.N, r.Lease.Token, []byte("{}\n"), solve.Progress{At: now}))
		}
	}
	_, err = s.Accept(ctx, solve.Delivery{GUID: "g", Event: "issue_comment", Payload: []byte("{}"), Received: now}, solve.Intent{})
	must(err)
	must(s.Close())
	return os.DirFS(filepath.Dir(c.Path))
}

// spoil writes the sample with one value replaced and returns the value's bucket.
func spoil(t testing.TB, sample fs.FS, path string, bucket, nth uint8, value []byte) (name string) {
	t.Helper()
	if err := os.CopyFS(filepath.Dir(path), sample); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		var names [][]byte
		err := tx.ForEach(func(n []byte, b *bbolt.Bucket) error {
			if k, _ := b.Cursor().First(); k != nil {
				names = append(names, bytes.Clone(n))
			}
			return nil
		})
		if err != nil {
			return err
		}
		name = string(names[int(bucket)%len(names)])
		b := tx.Bucket([]byte(name))
		k, _ := b.Cursor().First()
		for c, i := b.Cursor(), 0; i <= int(nth)%4; i++ {
			at, _ := c.Next()
			if i == 0 {
				at, _ = c.First()
			}
			if at == nil || bytes.Contains(at, []byte(intact)) {
				break
			}
			k = bytes.Clone(at)
		}
		if bytes.Contains(k, []byte(intact)) {
			name = ""
		}
		return b.Put(k, value)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// use calls everything once; errors are answers.
func use(ctx context.Context, s *bolt.Store) {
	now := time.Now().UTC().Add(2 * time.Hour)
	_ = s.Heartbeat(ctx, "next", time.Hour)
	_, _ = s.LiveSolves(ctx)
	_, _ = s.LatestSolve(ctx, 2, 1)
	_, _ = s.Commands(ctx)
	_, _ = s.Delivery(ctx, "g")
	due, _ := s.DueEffects(ctx)
	for _, e := range due {
		claimed, err := s.ClaimEffect(ctx, e.Key, "next", time.Minute)
		if err == nil {
			_ = s.SendingEffect(ctx, e.Key, claimed.Token)
			_ = s.FinishEffect(ctx, e.Key, claimed.Token, claimed.Wanted, solve.Receipt{})
		}
	}
	rescued, _ := s.Rescue(ctx, "next")
	admitted, _ := s.Admit(ctx, "next", solve.Caps{Process: 8, Repository: 8, Installation: 8})
	_, _ = s.ClaimSolve(ctx, "next")
	for _, r := range append(rescued, admitted...) {
		_, _ = s.Transcript(ctx, r.Solve, r.N)
		_ = s.Step(ctx, r.Solve, r.N, r.Lease.Token, []byte("{}\n"), solve.Progress{At: now})
		_, _, _ = s.Apply(ctx, solve.Change{Solve: r.Solve, Run: r.N, Token: r.Lease.Token, Event: solve.Lost{}})
	}
	for _, id := range []solve.ID{damaged, intact} {
		_, _ = s.Runs(ctx, id)
		_, _ = s.Events(ctx, id, 0)
		_, _ = s.SolveEffects(ctx, id)
		_, _ = s.RequestCancel(ctx, id, "somebody", "")
	}
	_ = s.Prune(ctx, now.Add(10000*time.Hour))
}
