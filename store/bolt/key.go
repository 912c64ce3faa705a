package bolt

import (
	"encoding/binary"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// A key is built from parts so that byte order is the wanted order: numbers
// have a fixed width, big end first; a text ends with a zero byte, which no name may hold.
type key []byte

func (k key) text(s string) key    { return append(append(k, s...), 0) }
func (k key) num(n uint64) key     { return binary.BigEndian.AppendUint64(k, n) }
func (k key) id(n int64) key       { return k.num(uint64(n)) }
func (k key) small(n int) key      { return binary.BigEndian.AppendUint32(k, uint32(n)) }
func (k key) time(t time.Time) key { return k.num(stamp(t)) }

// age orders solves: the older first, by ID among those of the same instant.
func (k key) age(s *solve.Solve) key { return k.time(s.Created).text(string(s.ID)) }

// stamp is a time as a sortable number; the zero time is the smallest.
func stamp(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano()) + 1<<63
}

// timeOf is the time of a stamp.
func timeOf(n uint64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n-1<<63)).UTC()
}

func num(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

func runKey(id solve.ID, n int) key { return key(nil).text(string(id)).small(n) }

// A queued run's key has its wave before its number, in the four bytes in which files
// of before there were waves have the number alone: none is the first.
const waveBits = 16

func queuedKey(r solve.Run) key {
	return key(nil).text(string(r.Solve)).small(r.Experiment.Wave<<waveBits | r.N)
}

func issueKey(repo int64, issue int) key { return key(nil).id(repo).num(uint64(issue)) }
