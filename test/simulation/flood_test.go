package simulation_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// flood is an hour in which strangers write commands in ten repositories of an installation.
type flood struct {
	*world
	comments int           // of strangers
	people   int           // who write them
	length   time.Duration // of the flood

	mu       sync.Mutex
	writes   int // to any repository
	requests int // about the flood's repositories

	questions atomic.Int32 // of somebody with rights, in another repository
	late      atomic.Int32 // of these, without eyes after five seconds
}

// TestStrangersDelayNobody: 10,000 commands of strangers within an hour cost few requests and
// few writes, and nobody with rights waits for them. Every result is written.
func TestStrangersDelayNobody(t *testing.T) {
	t.Parallel()
	require.Daily(t)
	all := require.Sample(10_000, 500)
	dir := memory(t)
	key, err := sharedKey()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := scenarios()[0]
		w := &world{t: t, scenario: s, mut: whole, dir: dir, host: newHost(), log: zerolog.Nop(), trace: &trace{began: time.Now()}}
		f := &flood{world: w, comments: all, people: all/5 + 1, length: time.Hour * time.Duration(all) / 10_000}
		w.asked = f.count
		w.build(key)
		f.furnish()
		w.start()
		f.run()
		f.check()
		w.process.bury()
		w.must(w.hub.Close())
		if len(w.problems) > 0 {
			t.Error(w.problems)
		}
	})
}

// count counts a request of the program.
func (f *flood) count(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.Contains(r.URL.Path, "/repos/octo/") && r.Method != http.MethodGet {
		f.writes++
	}
	if strings.Contains(r.URL.Path, "/repos/octo/flood") {
		f.requests++
	}
}

func (f *flood) repository(n int) string { return fmt.Sprintf("octo/flood%d", n%10) }

func (f *flood) furnish() {
	f.t.Helper()
	for n := range 10 {
		_, err := f.hub.CreateRepo("octo", fmt.Sprintf("flood%d", n), map[string]string{answerFile: "base\n"})
		f.must(err)
		_, err = f.hub.OpenIssue(f.repository(n), person, "It is wrong", "Make it right.")
		f.must(err)
	}
	for n := range f.people {
		f.hub.CreateUser(fmt.Sprintf("stranger%d", n))
	}
}

// run is the flood. A solve is asked for at its beginning, and a question each half minute or so.
func (f *flood) run() {
	f.t.Helper()
	question, err := f.hub.OpenIssue(f.repo.FullName(), person, "Another", "And another.")
	f.must(err)
	verbs := []string{"/yudai help", "/yudai solve", "/yudai status", "/yudai retry", "/yudai nonsense"}
	pause := f.length / time.Duration(f.comments)
	ask := max(f.comments/100, 17)
	for n := range f.comments {
		if n == ask {
			f.must(f.hub.Label(f.repo.FullName(), f.issue, person, "yudai:solve"))
		}
		if n%ask == ask/2 {
			id, err := f.hub.Comment(f.repo.FullName(), question, person, "/yudai help")
			f.must(err)
			f.questions.Add(1)
			time.AfterFunc(5*time.Second, func() {
				if f.hub.Requests(http.MethodPost, fmt.Sprintf("/issues/comments/%d/reactions", id)) == 0 {
					f.late.Add(1)
				}
			})
		}
		// The people and the repositories pass by at paces without a common divisor, so that all meet.
		id, err := f.hub.Comment(f.repository(n), 1, fmt.Sprintf("stranger%d", n*7%f.people), verbs[n%len(verbs)])
		f.must(err)
		if n%3 == 0 {
			f.must(f.hub.DeleteComment(f.repository(n), id, fmt.Sprintf("stranger%d", n*7%f.people)))
		}
		<-time.After(pause)
	}
	<-time.After(10 * time.Minute)
}

func (f *flood) check() {
	f.t.Helper()
	s, err := f.process.store.LatestSolve(f.t.Context(), f.repo.ID, f.issue)
	f.must(err)
	late, questions := f.late.Load(), f.questions.Load()
	f.t.Logf("%d comments of %d strangers in %s: %d writes, %d requests about them; %d of %d people with rights waited longer than 5 s; the solve is %s",
		f.comments, f.people, f.length, f.writes, f.requests, late, questions, s.State)
	effects, err := f.process.store.Effects(f.t.Context())
	f.must(err)
	for _, e := range effects {
		if e.State != solve.EffectApplied && e.Priority < solve.PriorityDenied {
			f.t.Errorf("effect %s is %s: %s", e.Key, e.State, e.Error)
		}
	}
	live, err := f.process.store.LiveSolves(f.t.Context())
	f.must(err)
	waiting, err := f.process.store.Commands(f.t.Context())
	f.must(err)
	if s.State != solve.StateSolved || len(live)+len(waiting) > 0 {
		f.t.Errorf("the solve is %s:\n%s", s.State, f.dump())
	}
	if f.writes >= 400 || f.requests >= 500 || f.requests == 0 || late*100 > questions {
		f.t.Error("that is too much")
	}
}
