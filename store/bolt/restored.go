package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/solve"
)

// wakeRestored prepares a store that was a backup until now: the process that
// went on after the backup may have written to GitHub what this copy believes
// still to be written. The outcome of all that is unknown from here on, both of
// the effects that wait and of those that the living solves and asks will want,
// so each is looked up before it is made. The note goes last: after a crash in
// between all of this is done again.
func (s *Store) wakeRestored() error {
	note := s.cfg.Path + noteSuffix
	if _, err := os.Stat(note); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	at := s.cfg.Now()
	if err := s.update(context.Background(), "wake-restored", func(t *tx) error { return t.wakeRestored(at) }); err != nil {
		return fmt.Errorf("prepare the restored store: %w", err)
	}
	if err := os.Remove(note); err != nil {
		return fmt.Errorf("prepare the restored store: %w", err)
	}
	return durable.Sync(filepath.Dir(note))
}

func (t *tx) wakeRestored(at time.Time) error {
	for _, id := range t.scan(liveIssue, nil) {
		t.put(restored, id, key(nil).time(at))
	}
	for id := range t.scan(asks, nil) {
		t.put(restored, id, key(nil).time(at))
	}
	return t.changeWaiting(func(e solve.Effect) solve.Effect {
		e.SentAt = at
		return e
	})
}

// doubt marks a new effect whose owner came back from a backup: it may have been
// made before.
func (t *tx) doubt(e *solve.Effect) {
	owner, _, _ := strings.Cut(e.Key, "/")
	if at := t.get(restored, []byte(owner)); at != nil {
		e.SentAt = timeOf(num(at))
	}
}
