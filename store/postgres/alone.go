package postgres

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// ErrTaken says that a process of another home works on the database.
var ErrTaken = errors.New("another yudai works on it")

// holderNote is the note of who has the database: home, boot, and a name for people.
const holderNote = "holder"

// take gives the database to one boot of one home: no other gets a lease from the commit on. A process of another home keeps it
// while its lease lives. One of the same home is gone, as the home's lock says, so that its lease and its claims end.
func (t *tx) take(cfg Config, boot string) error {
	if cfg.Home == "" {
		return nil
	}
	note, err := t.meta(holderNote)
	if err != nil && !errors.Is(err, solve.ErrNotFound) {
		return err
	}
	if err := t.setMeta(holderNote, cfg.Home+" "+boot+" "+cfg.Process); err != nil { // waits for a heartbeat that is under way
		return err
	}
	home, rest, _ := strings.Cut(note, " ")
	_, name, _ := strings.Cut(rest, " ")
	if home == cfg.Home {
		err = t.endClaims()
	} else {
		err = t.noneLives(name)
	}
	if err == nil {
		_, err = t.do("delete from node")
	}
	return err
}

// noneLives returns ErrTaken while a node has a lease.
func (t *tx) noneLives(name string) error {
	var last *int64
	if err := t.get("select max(until) from node", nil, &last); err != nil || last == nil {
		return err
	}
	if left := timeOf(*last).Sub(t.now()); left > 0 {
		return fmt.Errorf("%w (%s; its lease has %s left)", ErrTaken, name, left.Round(time.Second))
	}
	return t.failed
}

// endClaims ends the claims of effects.
func (t *tx) endClaims() error {
	rows, err := t.db.Query(t.ctx, "select age, record from effect where look is not null for update")
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (aged, error) { return scanAged(row) })
	for _, one := range list {
		if after := one.Orphaned(); err == nil && after != one.Effect {
			err = t.putEffect(aged{after, one.age})
		}
	}
	return err
}

// mustHold returns ErrLeaseLost to a process that another one has followed. Nobody follows before this transaction is over.
func (s *Store) mustHold(t *tx) error {
	if s.cfg.Home == "" {
		return nil
	}
	note, err := one[string](t, "select to_jsonb(value) from meta where name = $1 for share", holderNote)
	if err == nil && !strings.HasPrefix(note, s.cfg.Home+" "+s.boot+" ") {
		err = fmt.Errorf("another yudai has the database now: %w", solve.ErrLeaseLost)
	}
	return err
}
