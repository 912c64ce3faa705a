package bolt

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/solve"
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
	gone       bucket = "gone"       // node: end of its lease; dead and owner of nothing
	restored   bucket = "restored"   // solve or ask: when it came back from a backup

	byTrigger  bucket = "by_trigger"  // trigger key: id
	byIssue    bucket = "by_issue"    // repo, issue: id of the newest
	live       bucket = "live"        // age: id, of solves in no final state
	liveIssue  bucket = "live_issue"  // repo, issue: id
	ended      bucket = "ended"       // ended, id: id, while its files are kept
	indexed    bucket = "indexed"     // id: the index entries that stand for this solve now
	claimFree  bucket = "claim_free"  // age: id, begun by a node that is gone or gave it up: can be claimed
	claimOwned bucket = "claim_owned" // node, age: id, can be claimed once the node is dead
	dueFree    bucket = "due_free"    // deadline, id: id, can be claimed after the deadline
	dueOwned   bucket = "due_owned"   // node, deadline, id: id
	queued     bucket = "queued"      // id, wave and n: queued runs
	runOwned   bucket = "run_owned"   // node, id, n: runs at work
	counts     bucket = "counts"      // kind, name: number of runs
	effectDue  bucket = "effect_due"  // due or end of claim: effect key
	spent      bucket = "spent"       // started, id: repo, installation; with the cost once the solve has ended

	// Admission: who is next. Each level holds the best of the level below.
	readySolves bucket = "ready_solves" // repo, installation, age: id, of solves that may start a run
	readyRepos  bucket = "ready_repos"  // installation, running, age, repo: turn
	readyInsts  bucket = "ready_insts"  // running, age, installation: turn
	turnRepo    bucket = "turn_repo"    // repo, installation: its key in ready_repos
	turnInst    bucket = "turn_inst"    // installation: its key in ready_insts

	// The queue: which solve is claimed next.
	waiting  bucket = "waiting"   // repo, age: id, queued and nobody's
	claimed  bucket = "claimed"   // repo, id: id, of the other live solves
	line     bucket = "line"      // claimed, age: id, the first that waits of each repository
	lineRepo bucket = "line_repo" // repo: its key in line
)

// migration takes the file from one layout to the next.
type migration func(*bbolt.Tx) error

// migrations are all steps in order; the length is the version this binary
// writes. A step is never changed after a release: add one.
func migrations() []migration {
	return []migration{
		func(t *bbolt.Tx) error {
			for _, b := range []bucket{
				solves, sequences, runs, events, effects, asks, deliveries, payloads, segments, nodes, gone,
				byTrigger, byIssue, live, liveIssue, ended, indexed, claimFree, claimOwned, dueFree, dueOwned,
				queued, runOwned, counts, effectDue, readySolves, readyRepos, readyInsts, turnRepo, turnInst,
			} {
				if _, err := t.CreateBucket([]byte(b)); err != nil {
					return fmt.Errorf("create bucket %s: %w", b, err)
				}
			}
			return nil
		},
		func(t *bbolt.Tx) error {
			if _, err := t.CreateBucket([]byte(restored)); err != nil {
				return fmt.Errorf("create bucket %s: %w", restored, err)
			}
			return nil // the next step makes the indexes of admission again
		},
		func(t *bbolt.Tx) error {
			for _, b := range []bucket{spent, waiting, claimed, line, lineRepo} {
				if _, err := t.CreateBucket([]byte(b)); err != nil {
					return fmt.Errorf("create bucket %s: %w", b, err)
				}
			}
			return errors.Join(reindex(t), bookAll(t))
		},
	}
}

// reindex rebuilds the indexes of admission and of the queue: the first layout knew
// one installation per repository, the second no queue.
func reindex(b *bbolt.Tx) error {
	for _, name := range []bucket{readySolves, readyRepos, readyInsts, turnRepo, turnInst} {
		if err := b.DeleteBucket([]byte(name)); err != nil {
			return fmt.Errorf("empty bucket %s: %w", name, err)
		}
		if _, err := b.CreateBucket([]byte(name)); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	t := &tx{b: b}
	return t.run(func(t *tx) error {
		var ids []solve.ID
		err := t.scan(live, nil, func(_, v []byte) (bool, error) {
			ids = append(ids, solve.ID(v))
			return true, nil
		})
		for _, id := range ids {
			var s solve.Solve
			if s, err = t.solve(id); err != nil {
				return err
			}
			now := time.Now()
			for _, p := range t.places(&s, now) { // whatever is said to stand there
				t.put(p.B, p.K, []byte(id))
			}
			if err = t.index(&s, now); err != nil {
				return err
			}
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
