package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// Learn counts what became of a solve.
func (s *Store) Learn(ctx context.Context, id solve.ID, news solve.Fate) error {
	at := s.now()
	return s.update(ctx, func(d *data) error {
		learned, err := solve.Told(reader{d, at}, id, news, at)
		if err == nil {
			d.learn(learned)
		}
		return err
	})
}

// TrackRecords are those of all repositories, by number.
func (s *Store) TrackRecords(ctx context.Context) (out []solve.TrackRecord, err error) {
	err = s.view(ctx, func(d *data) error {
		for _, t := range d.tracks {
			out = append(out, private(t))
		}
		return nil
	})
	slices.SortFunc(out, func(a, b solve.TrackRecord) int { return cmp.Compare(a.Repo.ID, b.Repo.ID) })
	return out, err
}

// Fate implements [solve.Reader].
func (r reader) Fate(id solve.ID) (solve.Fate, error) { return private(r.fates[id]), nil }

// TrackRecord implements [solve.Reader].
func (r reader) TrackRecord(repo int64) (solve.TrackRecord, error) {
	return private(r.tracks[repo]), nil
}

// learn stores what a track record learned; nil is nothing.
func (d *data) learn(l *solve.Learned) {
	if l != nil {
		set(d, d.fates, l.Fate.Solve, private(l.Fate))
		set(d, d.tracks, l.Record.Repo.ID, private(l.Record))
	}
}
