package bolt_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// unpack does what `tar -x` does, and returns the store's configuration.
func unpack(t testing.TB, archive io.Reader) bolt.Config {
	t.Helper()
	c := config(t)
	dir := filepath.Dir(c.Path)
	in := tar.NewReader(archive)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return c
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(in)
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, h.Name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, h.Name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func backup(t testing.TB, s *bolt.Store) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	if err := s.Backup(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestBackupOpensAsAStore(t *testing.T) {
	t.Parallel()
	f := newFleet(t, config(t), 4, 3)
	var ids []solve.ID
	for _, r := range f.runs {
		ids = append(ids, r.Solve)
		f.ok(t, f.Step(f.ctx, r.Solve, r.N, r.Lease.Token, []byte("a step\n"), solve.Progress{Steps: 1, At: f.now}))
		f.ok(t, f.PutArtifact(f.ctx, r.Solve, "base.log", []byte("artifact of "+string(r.Solve))))
	}
	copied := backup(t, f.Store)
	queued(t, f.Store, "later")
	restored := open(t, unpack(t, copied))
	for i, id := range ids {
		got, err := restored.Artifact(f.ctx, id, "base.log")
		if err != nil || string(got) != "artifact of "+string(id) {
			t.Errorf("artifact %q: %v", got, err)
		}
		text, err := restored.Transcript(f.ctx, id, f.runs[i].N)
		if err != nil || string(text) != "a step\n" {
			t.Errorf("transcript %q: %v", text, err)
		}
		want, err := f.Solve(f.ctx, id)
		f.ok(t, err)
		if got, err := restored.Solve(f.ctx, id); err != nil || got.State != want.State || got.Seq != want.Seq {
			t.Errorf("solve %+v: %v", got, err)
		}
	}
	if _, err := restored.Solve(t.Context(), "later"); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("a later solve is in the copy: %v", err)
	}
}

// TestBackupUnderLoad takes backups while deliveries, steps and artifacts are
// stored: each opens, and has all that was acknowledged before it began.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFleet(t, config(t), 2, 2)
	r := f.runs[0]
	stop := make(chan struct{})
	var load sync.WaitGroup
	defer load.Wait()
	defer close(stop)
	var mu sync.Mutex
	acked := 0
	load.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_, err := f.Accept(f.ctx, solve.Delivery{GUID: fmt.Sprint("g", i), Payload: make([]byte, 1000)}, solve.Intent{})
			err = errors.Join(err, f.Step(f.ctx, r.Solve, r.N, r.Lease.Token, []byte("line\n"), solve.Progress{Steps: i + 1, At: f.now}),
				f.PutArtifact(f.ctx, r.Solve, fmt.Sprint("a", i%5), make([]byte, i)))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			acked = i + 1
			mu.Unlock()
		}
	})
	for range 10 {
		mu.Lock()
		before := acked
		mu.Unlock()
		c := unpack(t, backup(t, f.Store))
		s, err := bolt.Open(c)
		f.ok(t, err)
		for i := range before {
			if _, err := s.Delivery(f.ctx, fmt.Sprint("g", i)); err != nil {
				t.Errorf("delivery %d of %d: %v", i, before, err)
			}
		}
		run, err := s.Run(f.ctx, r.Solve, r.N)
		f.ok(t, err)
		text, err := s.Transcript(f.ctx, r.Solve, r.N)
		if err != nil || string(text) != string(bytes.Repeat([]byte("line\n"), run.Progress.Steps)) || run.Progress.Steps < before {
			t.Errorf("%d steps, %d bytes of transcript, %d were acknowledged: %v", run.Progress.Steps, len(text), before, err)
		}
		closeStore(t, s)
	}
}

// TestRestoredStoreDoubtsItsEffects is the reason for the note: the process
// that went on after the backup may have made every write this copy waits for.
func TestRestoredStoreDoubtsItsEffects(t *testing.T) {
	t.Parallel()
	c := config(t)
	f := newFleet(t, c, 1, 1)
	r := f.runs[0]
	f.ok(t, waitForReply(t, f.Store, "before"))
	c = unpack(t, backup(t, f.Store))
	start := time.Now()
	s := open(t, c)
	if _, err := os.Stat(c.Path + ".restored"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note is still there: %v", err)
	}
	doubted := func(effects []solve.Effect, want bool) {
		t.Helper()
		if len(effects) == 0 {
			t.Error("no effects")
		}
		for _, e := range effects {
			if got := !e.SentAt.Before(start); got != want {
				t.Errorf("effect %s was sent at %v, want doubt %v", e.Key, e.SentAt, want)
			}
		}
	}
	list, err := s.SolveEffects(f.ctx, r.Solve)
	f.ok(t, err)
	doubted(list, true)
	// Effects that come later, of what was there.
	_, _, err = s.Apply(f.ctx, solve.Change{Solve: r.Solve, Event: solve.Aborted{}})
	f.ok(t, err)
	last, err := s.Effect(f.ctx, string(r.Solve)+"/"+string(solve.EffectFinal))
	f.ok(t, err)
	reply := solve.Effect{Key: "before/reply", Kind: solve.EffectReply, Text: "text"}
	f.ok(t, s.Answer(f.ctx, "before", []solve.Effect{reply}))
	answered, err := s.Effect(f.ctx, reply.Key)
	f.ok(t, err)
	doubted([]solve.Effect{last, answered}, true)
	// And of what came after the restore.
	f.ok(t, waitForReply(t, s, "after"))
	reply.Key = "after/reply"
	f.ok(t, s.Answer(f.ctx, "after", []solve.Effect{reply}))
	fresh, err := s.Effect(f.ctx, reply.Key)
	f.ok(t, err)
	doubted([]solve.Effect{fresh}, false)
}

func waitForReply(t *testing.T, s *bolt.Store, id string) error {
	t.Helper()
	_, err := s.Accept(t.Context(), solve.Delivery{GUID: id}, solve.Intent{Command: &solve.Command{ID: id, Kind: solve.CommandHelp, At: time.Now()}})
	return err
}
