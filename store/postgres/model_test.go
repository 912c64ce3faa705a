package postgres_test

import (
	"testing"

	"github.com/yudai-dev/yudai/store/memory"
	"github.com/yudai-dev/yudai/store/storetest"
)

// TestSameAsTheModel plays random sequences on this engine and on package memory's plain maps.
func TestSameAsTheModel(t *testing.T) {
	t.Parallel()
	clock := &storetest.Clock{}
	c := config(t)
	c.Now = clock.Now
	s := open(t, c)
	const empty = "truncate solve, latest, run, event, effect, ask, node, delivery, transcript, artifact, fate, track_record, doubt"
	storetest.SameAs(t, clock, func() storetest.Store { return memory.New(clock.Now) }, func() storetest.Store {
		sql(t, c.DSN, empty)
		return s
	})
}
