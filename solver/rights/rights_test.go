package rights_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/rights"
)

// hub counts who is looked up; those in writers may write.
type hub struct {
	asked   int
	writers map[string]bool
}

func (h *hub) Permission(_ context.Context, _ solve.Repo, login string) (string, bool, error) {
	h.asked++
	if h.writers[login] {
		return "write", true, nil
	}
	return "read", false, nil
}

func repo(n int64) solve.Repo { return solve.Repo{Installation: 1, ID: n} }

// asked counts what is asked for: each time it is something else.
var asked atomic.Int64

func of(t *testing.T, r *rights.Rights, n int64, login string, stranger bool) rights.Answer {
	t.Helper()
	a, err := r.Of(t.Context(), repo(n), login, stranger, fmt.Sprint(asked.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRefusalIsRemembered: a stranger is looked up once in ten minutes, whoever has a tie each time.
func TestRefusalIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hub{writers: map[string]bool{}}
		r := rights.New(h)
		for range 5 {
			if a := of(t, r, 1, "mallory", true); a.Write || a.Role != "read" {
				t.Errorf("%+v", a)
			}
		}
		if h.asked != 1 {
			t.Errorf("looked up %d times", h.asked)
		}
		h.writers["mallory"] = true // and so GitHub tells a tie
		if a := of(t, r, 1, "mallory", false); !a.Write || h.asked != 2 {
			t.Errorf("%+v after %d look-ups", a, h.asked)
		}
		h.writers["mallory"] = false
		if a := of(t, r, 1, "mallory", true); a.Write || h.asked != 3 {
			t.Errorf("a right is no answer for the next time: %+v after %d look-ups", a, h.asked)
		}
		<-time.After(11 * time.Minute)
		if of(t, r, 1, "mallory", true); h.asked != 4 {
			t.Errorf("remembered for too long: %d look-ups", h.asked)
		}
	})
}

// TestSameQuestionSameAnswer: who asks again about the same, because the refusal could not be stored, hears the
// same and takes no second answer from the others. What they ask next is refused in silence.
func TestSameQuestionSameAnswer(t *testing.T) {
	t.Parallel()
	for _, stranger := range []bool{true, false} {
		h := &hub{writers: map[string]bool{}}
		r := rights.New(h)
		for range 50 {
			if a, err := r.Of(t.Context(), repo(1), "mallory", stranger, "comment 1"); err != nil || a.Write || a.Silent || a.Role != "read" {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		if a := of(t, r, 1, "ben", stranger); a.Silent {
			t.Errorf("mallory took all answers: %+v", a)
		}
		if a, err := r.Of(t.Context(), repo(1), "mallory", true, "comment 2"); err != nil || !a.Silent {
			t.Errorf("the next one: %+v, %v", a, err)
		}
	}
}

// TestFloodOfStrangers: unknown strangers of one repository use up its look-ups, and nobody
// else's; few of them are answered. Who had rights before is looked up all the same.
func TestFloodOfStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hub{writers: map[string]bool{"ann": true, "ben": true}}
		r := rights.New(h)
		of(t, r, 1, "ann", true)
		told := 0
		for n := range 1000 {
			if a := of(t, r, 1, fmt.Sprintf("s%d", n), true); a.Write {
				t.Fatalf("%+v", a)
			} else if !a.Silent {
				told++
			}
		}
		if h.asked != 21 || told != 10 {
			t.Errorf("%d look-ups, %d were told", h.asked, told)
		}
		for who, c := range map[string]struct {
			repo     int64
			stranger bool
		}{"ann": {1, true}, "ben": {1, false}} {
			if a := of(t, r, c.repo, who, c.stranger); !a.Write {
				t.Errorf("%s waits for strangers: %+v", who, a)
			}
		}
		if a := of(t, r, 2, "ben", true); !a.Write {
			t.Errorf("another repository is flooded, too: %+v", a)
		}
		<-time.After(time.Hour)
		before := h.asked
		for n := range 1000 {
			of(t, r, 1, fmt.Sprintf("t%d", n), true)
		}
		if got := h.asked - before; got != 10 {
			t.Errorf("%d look-ups in the next hour", got)
		}
	})
}

// TestMemoryIsBounded: a crowd of any size is forgotten, not kept.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	r := rights.New(&hub{})
	for n := range 20_000 {
		of(t, r, int64(n), "mallory", true)
	}
	if n := r.Remembered(); n > 2*4096+1 {
		t.Errorf("%d things are remembered", n)
	}
}

// reader is a hub that tells what a comment says.
type reader struct {
	hub
	says string
}

func (r *reader) CommentDigest(context.Context, solve.Repo, int64) (string, error) {
	r.asked++
	if r.says == "" {
		return "", solve.ErrNotFound
	}
	return solve.Digest(r.says), nil
}

// TestLateCommentMustStand: what a late delivery asks for is done only where its comment is there
// and says what it said; nothing else costs a look.
func TestLateCommentMustStand(t *testing.T) {
	t.Parallel()
	said := solve.Digest("/yudai retry")
	for says, want := range map[string]bool{"/yudai retry": true, "never mind": false, "": false} {
		h := &reader{says: says}
		r := rights.New(h)
		if ok, err := r.Stands(t.Context(), repo(1), true, 77, said); ok != want || err != nil || h.asked != 1 {
			t.Errorf("%q: %v, %v after %d looks", says, ok, err, h.asked)
		}
		if ok, err := r.Stands(t.Context(), repo(1), false, 77, said); !ok || err != nil || h.asked != 1 {
			t.Errorf("in time: %v, %v after %d looks", ok, err, h.asked)
		}
	}
}
