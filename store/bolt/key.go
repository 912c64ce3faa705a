package bolt

import (
	"encoding/binary"
	"fmt"
	"strings"
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

// placeOf is the wave and the number of a queued run, from its key.
func placeOf(k []byte) (wave, n int) {
	if len(k) < 4 {
		return 0, 0
	}
	at := int(binary.BigEndian.Uint32(k[len(k)-4:]))
	return at >> waveBits, at & solve.MaxRun
}

func issueKey(repo int64, issue int) key { return key(nil).id(repo).num(uint64(issue)) }

// checkName refuses what cannot be one part of a key and of a file's path.
func checkName(what, name string) error {
	if name == "" || len(name) > 200 || name[0] == '.' {
		return fmt.Errorf("%s %q: not a usable name", what, name)
	}
	if i := strings.IndexFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}); i >= 0 {
		return fmt.Errorf("%s %q: only letters, digits and . _ - may be used", what, name)
	}
	return nil
}
