package bolt

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/yudai-dev/yudai/internal/durable"
)

// bucket names one sorted map of the file. Records first, then indexes: an
// index holds nothing that could not be computed from the records.
type bucket string

const (
	meta       bucket = "meta"       // name: value; "schema" is the version of the layout
	solves     bucket = "solves"     // id: solve
	sequences  bucket = "sequences"  // id: number of the last event
	runs       bucket = "runs"       // id, n: run
	events     bucket = "events"     // id, seq: entry
	effects    bucket = "effects"    // effect key: effect
	asks       bucket = "asks"       // guid: ask, until answered
	deliveries bucket = "deliveries" // guid: received
	payloads   bucket = "payloads"   // received, guid: delivery with its payload
	segments   bucket = "segments"   // id, n, attempt, token: committed bytes of the transcript's file
	nodes      bucket = "nodes"      // node: end of its lease
	restored   bucket = "restored"   // solve or ask: when it came back from a backup

	byTrigger bucket = "by_trigger" // trigger key: id
	byIssue   bucket = "by_issue"   // repo, issue: id of the newest
	liveIssue bucket = "live_issue" // repo, issue: id, of solves in no final state
	ended     bucket = "ended"      // ended, id: id, while its files are kept
	waiting   bucket = "waiting"    // repo, age: id, of live solves that are queued and nobody's
	begun     bucket = "begun"      // age: solve.Brief, of the other live solves
	queued    bucket = "queued"     // id, wave and n: id, of queued runs
	active    bucket = "active"     // id, n: node, of runs at work
	effectDue bucket = "effect_due" // due or end of claim: effect key
	spent     bucket = "spent"      // started, id: repo, installation; with the cost once the solve has ended

	fates  bucket = "fates"  // id: fate
	tracks bucket = "tracks" // repo: track record
)

// migration takes the file from one layout to the next.
type migration func(*bbolt.Tx) error

// migrations are all steps in order; the length is the version this binary
// writes. A step is never changed after a release: add one.
func migrations() []migration {
	return []migration{
		func(t *bbolt.Tx) error {
			return create(t, solves, sequences, runs, events, effects, asks, deliveries, payloads, segments, nodes,
				byTrigger, byIssue, liveIssue, ended, queued, effectDue)
		},
		func(t *bbolt.Tx) error { return create(t, restored) },
		func(t *bbolt.Tx) error { return errors.Join(create(t, spent), bookAll(t)) },
		simpleIndexes,
		func(t *bbolt.Tx) error { return create(t, fates, tracks) },
	}
}

func create(t *bbolt.Tx, list ...bucket) error {
	for _, b := range list {
		if _, err := t.CreateBucket([]byte(b)); err != nil {
			return fmt.Errorf("create bucket %s: %w", b, err)
		}
	}
	return nil
}

// simpleIndexes replaces the indexes of the first three layouts, which kept whose
// turn it is up to date with every write, by those that are read when somebody asks.
func simpleIndexes(b *bbolt.Tx) error {
	const left = "gone" // nodes whose lease ended
	if old := b.Bucket([]byte(left)); old != nil {
		err := old.ForEach(func(node, _ []byte) error {
			return b.Bucket([]byte(nodes)).Put(node, key(nil).num(0))
		})
		if err != nil {
			return fmt.Errorf("keep the nodes that left: %w", err)
		}
	}
	for _, name := range []string{
		left, "live", "indexed", "claim_free", "claim_owned", "due_free", "due_owned", "run_owned", "counts", "ready_solves",
		"ready_repos", "ready_insts", "turn_repo", "turn_inst", "waiting", "claimed", "line", "line_repo",
	} {
		if err := b.DeleteBucket([]byte(name)); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
			return fmt.Errorf("delete bucket %s: %w", name, err)
		}
	}
	if err := create(b, waiting, begun, active); err != nil {
		return err
	}
	t := &tx{b: b}
	return t.run(func(t *tx) error {
		live, err := t.liveSolves()
		for _, s := range live {
			list, unread := t.runsOf(s.ID)
			for _, r := range list {
				t.indexRun(r)
			}
			err = errors.Join(err, unread, t.index(&s))
		}
		return err
	})
}

// migrate brings the file to the newest layout, one transaction a step, each
// with its new version number. A file with data is copied first.
func migrate(db *bbolt.DB, path string, steps []migration) error {
	have, err := schemaVersion(db)
	if err != nil {
		return err
	}
	if have > len(steps) {
		return fmt.Errorf("open store %s: a newer yudai wrote it: it has layout %d, this yudai knows up to %d: "+
			"start the newer yudai, or let store.path name another file (an older backup, or a new one)", path, have, len(steps))
	}
	if have > 0 && have < len(steps) {
		if err := saveCopy(db, fmt.Sprintf("%s.v%d.bak", path, have)); err != nil {
			return err
		}
	}
	for v := have; v < len(steps); v++ {
		err := db.Update(func(t *bbolt.Tx) error {
			b, err := t.CreateBucketIfNotExists([]byte(meta))
			if err != nil {
				return err
			}
			if err := steps[v](t); err != nil {
				return err
			}
			return b.Put([]byte("schema"), []byte(strconv.Itoa(v+1)))
		})
		if err != nil {
			return fmt.Errorf("migrate store %s to layout %d: %w", path, v+1, err)
		}
	}
	return nil
}

func schemaVersion(db *bbolt.DB) (version int, err error) {
	err = db.View(func(t *bbolt.Tx) error {
		b := t.Bucket([]byte(meta))
		if b == nil {
			return nil
		}
		version, err = strconv.Atoi(string(b.Get([]byte("schema"))))
		if err != nil {
			return fmt.Errorf("read the store's layout number: %w", err)
		}
		return nil
	})
	return version, err
}

// saveCopy writes a durable copy of the database beside it. The name appears
// only when the copy is whole.
func saveCopy(db *bbolt.DB, path string) error {
	return durable.Write(path, func(f *os.File) error {
		return db.View(func(t *bbolt.Tx) error {
			_, err := t.WriteTo(f)
			return err
		})
	})
}
