package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func readPromises() []Promise {
	return []Promise{
		{"what is not there is not found", readMissing},
		{"records are copies", readCopies},
		{"events can be read from a number on", readEventsAfter},
		{"live solves are listed oldest first", readLive},
		{"a watcher is told of commits and never holds them up", readWatch},
		{"artifacts are replaced whole and keep to their names", readArtifacts},
	}
}

func readMissing(t testing.TB, s Store) {
	w := newWorld(t, s)
	made := w.queued(repo(1))
	for name, read := range map[string]func() error{
		"Solve":       func() error { _, err := s.Solve(w.ctx, "none"); return err },
		"Runs":        func() error { _, err := s.Runs(w.ctx, "none"); return err },
		"Run":         func() error { _, err := s.Run(w.ctx, made.ID, 1); return err },
		"Events":      func() error { _, err := s.Events(w.ctx, "none", 0); return err },
		"LatestSolve": func() error { _, err := s.LatestSolve(w.ctx, 1, 999); return err },
		"Transcript":  func() error { _, err := s.Transcript(w.ctx, made.ID, 1); return err },
		"Artifact":    func() error { _, err := s.Artifact(w.ctx, made.ID, "none"); return err },
		"Effect":      func() error { _, err := s.Effect(w.ctx, "none"); return err },
		"AskCancel":   func() error { _, err := s.AskCancel(w.ctx, "none", "", "me", w.now); return err },
		"Apply": func() error {
			_, _, err := s.Apply(w.ctx, solve.Change{Solve: "none", Event: solve.EventFailed})
			return err
		},
	} {
		if err := read(); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			w.is(err, solve.ErrNotFound)
		}
	}
}

func readCopies(t testing.TB, s Store) {
	w := newWorld(t, s)
	made := w.running(repo(1), 1, func(s *solve.Solve) { s.Plan.Notes = []string{"note"} })
	before := w.dump(made.ID)
	a := w.solve(made.ID)
	a.Plan.Notes[0], a.State = "changed", solve.StateSolved
	w.same(before, w.dump(made.ID))
}

func readEventsAfter(t testing.TB, s Store) {
	w := newWorld(t, s)
	made := w.running(repo(1), 1, nil)
	all := w.events(made.ID)
	if len(all) != 2 {
		t.Fatalf("%d events, want 2", len(all))
	}
	for after := uint64(0); after <= 3; after++ {
		got, err := s.Events(w.ctx, made.ID, after)
		w.ok(err)
		w.same(len(all[min(int(after), len(all)):]), len(got))
		if len(got) > 0 && got[0].Seq != after+1 {
			t.Errorf("after %d comes %d", after, got[0].Seq)
		}
	}
}

func readLive(t testing.TB, s Store) {
	w := newWorld(t, s)
	a, b, c := w.wish(repo(1)), w.wish(repo(1)), w.wish(repo(2))
	a.ID, c.ID = "zzz", "aaa"
	for _, one := range []solve.Solve{c, b, a} {
		_, _, err := s.Create(w.ctx, one)
		w.ok(err)
	}
	_, err := s.AskCancel(w.ctx, b.ID, "me", "", w.now)
	w.ok(err)
	var ids []solve.ID
	for _, one := range w.live() {
		ids = append(ids, one.ID)
	}
	w.same([]solve.ID{"zzz", "aaa"}, ids)
}

func readWatch(t testing.TB, s Store) {
	w := newWorld(t, s)
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	watch := s.Watch(ctx)
	for range 10 {
		w.queued(repo(1)) // nobody receives: coalesced
	}
	select {
	case _, open := <-watch:
		if !open {
			t.Fatal("the channel was closed early")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no signal after a commit")
	}
	cancel()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case _, open := <-watch:
			if !open {
				w.queued(repo(1))
				return
			}
		case <-deadline:
			t.Fatal("the channel was not closed with its context")
		}
	}
}

func readArtifacts(t testing.TB, s Store) {
	w := newWorld(t, s)
	id := w.queued(repo(1)).ID
	for _, text := range []string{"one", "", "a longer text"} {
		w.ok(s.PutArtifact(w.ctx, id, "run-1.patch", []byte(text)))
		got, err := s.Artifact(w.ctx, id, "run-1.patch")
		w.ok(err)
		w.same(text, string(got))
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "A", "a b", ".hidden", "a\x00"} {
		if err := s.PutArtifact(w.ctx, id, name, nil); err == nil {
			t.Errorf("artifact name %q was accepted", name)
		}
		if _, err := s.Artifact(w.ctx, id, name); err == nil {
			t.Errorf("artifact name %q was read", name)
		}
	}
	w.is(s.PutArtifact(w.ctx, "none", "a", nil), solve.ErrNotFound)
}
