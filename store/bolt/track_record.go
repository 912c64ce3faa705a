package bolt

import (
	"context"
	"strconv"

	"github.com/yudai-dev/yudai/solve"
)

// Learn counts what became of a solve.
func (s *Store) Learn(ctx context.Context, id solve.ID, news solve.Fate) error {
	return s.update(ctx, "learn", func(t *tx) error {
		now := s.cfg.Now()
		return t.learn(solve.Told(reader{t, now}, id, news, now))
	})
}

// TrackRecords are those of all repositories, by number. The cost is that of one row for each repository that had a solve.
func (s *Store) TrackRecords(ctx context.Context) ([]solve.TrackRecord, error) {
	return read(ctx, s, func(t *tx) ([]solve.TrackRecord, error) {
		return decodeAll[solve.TrackRecord](t, trackName, tracks, nil)
	})
}

func trackName(k []byte) string {
	return "track record of repository " + strconv.FormatUint(num(k), 10)
}

// Fate implements [solve.Reader].
func (r reader) Fate(id solve.ID) (solve.Fate, error) {
	data := r.get(fates, []byte(id))
	if data == nil {
		return solve.Fate{}, nil
	}
	return decode[solve.Fate]("fate of solve "+string(id), data)
}

// TrackRecord implements [solve.Reader].
func (r reader) TrackRecord(repo int64) (solve.TrackRecord, error) {
	k := key(nil).id(repo)
	data := r.get(tracks, k)
	if data == nil {
		return solve.TrackRecord{}, nil
	}
	return decode[solve.TrackRecord](trackName(k), data)
}

// learn stores what a track record learned; nil is nothing.
func (t *tx) learn(l *solve.Learned, err error) error {
	if l == nil || err != nil {
		return err
	}
	if err := t.putRecord(fates, []byte(l.Fate.Solve), "fate of solve "+string(l.Fate.Solve), l.Fate); err != nil {
		return err
	}
	k := key(nil).id(l.Record.Repo.ID)
	return t.putRecord(tracks, k, trackName(k), l.Record)
}
