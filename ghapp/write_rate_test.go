package ghapp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// reply is an effect of an ask.
func (w *world) reply(id string, text string) solve.Effect {
	return solve.Effect{
		V: 1, Key: id + "/reply", Kind: solve.EffectReply, Repo: w.repo, Issue: w.issue, Text: text,
		Priority: solve.Priority(solve.EffectReply),
	}
}

func TestWritesKeepTheirDistance(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		stop := w.write("node-1")
		for i := range 20 {
			w.store.want(w.reply(fmt.Sprintf("ask-%d", i), "hello"))
		}
		w.settle()
		stop()
		writes := w.traffic.writes()
		if len(writes) != 20 {
			t.Errorf("%d writes", len(writes))
		}
		for i := 1; i < len(writes); i++ {
			if d := writes[i].at.Sub(writes[i-1].at); d < w.cfg.Write.Interval {
				t.Errorf("%v between writes %d and %d", d, i-1, i)
			}
		}
	})
}

func TestNoHourHasMoreWritesThanAllowed(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{WritesPerMinute: 40, WritesPerHour: 50}, func(t *testing.T, w *world) {
		w.cfg.Write.PerHour = 50
		stop := w.write("node-1")
		for i := range 75 {
			w.store.want(w.reply(fmt.Sprintf("ask-%d", i), "hello"))
		}
		w.settle()
		stop()
		writes := w.traffic.writes()
		for i := range writes {
			n := 0
			for _, r := range writes[i:] {
				if r.at.Sub(writes[i].at) < time.Hour {
					n++
				}
			}
			if n > 50 {
				t.Fatalf("%d writes in the hour after write %d", n, i)
			}
		}
		if w.store.retries != 0 {
			t.Errorf("%d writes were refused by the limit", w.store.retries)
		}
	})
}

func TestProgressLeavesRoomForResults(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.cfg.Write.PerHour = 40 // four at once, then one in 100 s
		w.cfg.Write.ProgressEvery = 0
		stop := w.write("node-1")
		s := w.newSolve("d0000000000000000001")
		w.store.put(s, solve.EventClaimed)
		w.settle()
		for range 20 {
			w.store.want(solve.EffectsOf(s, nil, solve.EventBaseReady)...)
			pass(10 * time.Minute)
		}
		// Progress has used up what it may; a reply does not wait for the bucket.
		for range 8 {
			w.store.want(solve.EffectsOf(s, nil, solve.EventBaseReady)...)
			pass(10 * time.Second)
		}
		asked := time.Now()
		w.store.want(w.reply("ask-1", "hello"))
		w.await("reply", func() bool { return w.store.given("ask-1", solve.EffectReply, 0).State == solve.EffectApplied })
		if d := time.Since(asked); d > 5*time.Second {
			t.Errorf("the reply took %v", d)
		}
		stop()
	})
}

func TestPriorityGoesFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.newSolve("d0000000000000000001")
		s.State, s.Decision = solve.StatePublishing, &solve.Decision{Champion: 1}
		// Asked for in the wrong order, before the writer starts.
		progress := solve.EffectsOf(s, nil, solve.EventBaseReady)
		w.store.put(s, "")
		w.store.want(progress...)
		w.store.want(solve.EffectsOf(s, nil, solve.EventClaimed)...)
		w.store.want(solve.EffectsOf(s, nil, solve.EventChampion)...)
		final := s
		final.State = solve.StateSolved
		w.store.want(solve.EffectsOf(final, nil, solve.EventPublished)...)
		stop := w.write("node-1")
		w.settle()
		stop()
		var got []string
		for _, r := range w.traffic.writes() {
			got = append(got, r.method+" "+r.path[strings.LastIndex(r.path, "/")+1:])
		}
		// The sign that it was heard; result and closing reaction; first answers (the
		// pull request needs the claim); pull request; progress.
		want := []string{
			"POST reactions", "POST comments", "POST reactions", "POST refs",
			"PATCH ai", "POST pulls", "POST check-runs", "POST comments", "POST check-runs", "POST check-runs", "POST check-runs",
		}
		for i := range got {
			if strings.HasPrefix(got[i], "PATCH fix-") {
				got[i] = "PATCH ai"
			}
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("order is\n%v, want\n%v", got, want)
		}
	})
}

func TestProgressIsMergedAndTheEndIsShownAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.cfg.Write.ProgressEvery = 20 * time.Second
		stop := w.write("node-1")
		s := w.newSolve("d0000000000000000001")
		w.store.put(s, solve.EventClaimed)
		w.settle()
		pass(w.cfg.Write.ProgressEvery)
		from := len(w.traffic.writes())
		s.State = solve.StateRunning
		start := time.Now()
		for range 60 { // one change a second
			w.store.put(s, solve.EventBaseReady)
			pass(time.Second)
		}
		edits := map[string][]time.Time{}
		for _, r := range w.traffic.writes()[from:] {
			edits[r.path] = append(edits[r.path], r.at)
		}
		if len(edits) != 2 {
			t.Errorf("writes to %v", edits)
		}
		for path, at := range edits {
			if len(at) < 2 || len(at) > 4 { // the first may come after 25 seconds
				t.Errorf("%s was written %d times in a minute", path, len(at))
			}
			for i := 1; i < len(at); i++ {
				if d := at[i].Sub(at[i-1]); d < w.cfg.Write.ProgressEvery {
					t.Errorf("%s written again after %v", path, d)
				}
			}
			if at[0].Sub(start) > w.cfg.Write.ProgressEvery+5*time.Second { // the text was renewed just before
				t.Errorf("the first change was shown after %v", at[0].Sub(start))
			}
		}
		w.await("progress shown", w.store.settled)
		pass(time.Second) // the last edit was just now
		s.State = solve.StateUnsolved
		ended := time.Now()
		w.store.put(s, solve.EventNoChampion)
		w.settle()
		if d := time.Since(ended); d > 5*w.cfg.Write.Interval {
			t.Errorf("the end was shown after %v", d)
		}
		stop()
		if got := w.comments(string(s.ID), "comment"); len(got) != 1 || got[0].GetBody() != report.ProgressComment(report.View{Solve: s}) {
			t.Errorf("the comment does not show the newest state: %v", got)
		}
	})
}

func TestALimitPausesTheInstallationAndNoOther(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultSecondary429, Method: "POST", Path: "/octo/hello/issues", Retry: 10 * time.Minute})
		w.hub.CreateUser("bob")
		other, err := w.hub.CreateRepo("bob", "other", map[string]string{"a": "a"})
		must(t, err)
		in, err := w.hub.Install(githubsim.App{ID: w.secrets.AppID}, "bob")
		must(t, err)
		n, err := w.hub.OpenIssue("bob/other", "bob", "t", "b")
		must(t, err)

		stop := w.write("node-1")
		start := time.Now()
		w.store.want(w.reply("ask-1", "one"), w.reply("ask-2", "two"))
		elsewhere := w.reply("ask-3", "three")
		elsewhere.Repo = solve.Repo{Installation: in.ID, ID: other.ID, Owner: "bob", Name: "other"}
		elsewhere.Issue = n
		w.store.want(elsewhere)
		w.await("the other's reply", func() bool { return w.store.given("ask-3", solve.EffectReply, 0).State == solve.EffectApplied })
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("the other installation waited %v", d)
		}
		w.settle()
		stop()
		for _, r := range w.traffic.writes()[1:] {
			if d := r.at.Sub(start); strings.Contains(r.path, "octo") && d > time.Second && d < 10*time.Minute {
				t.Errorf("a write after %v, while limited", d)
			}
		}
		if d := time.Since(start); d < 10*time.Minute || d > 11*time.Minute {
			t.Errorf("all was written after %v", d)
		}
		if w.store.retries != 1 {
			t.Errorf("%d writes were refused, want the first only", w.store.retries)
		}
	})
}

// slow answers the creation of comments late, unless the caller goes away.
type slow struct{ next http.RoundTripper }

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == "POST" && strings.HasSuffix(req.URL.Path, "/comments") {
		select {
		case <-time.After(5 * time.Second):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return s.next.RoundTrip(req)
}

func TestRunEndsWithItsContextAndCutsNoCall(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.app = w.newApp(slow{w.traffic})
		stop := w.write("node-1")
		w.store.want(w.reply("ask-1", "hello"), w.reply("ask-2", "hello"))
		pass(3 * time.Second)
		start := time.Now()
		stop()
		if d := time.Since(start); d > w.cfg.Write.Timeout {
			t.Errorf("stopping took %v", d)
		}
		if n := len(w.comments("ask-1", "reply")); n != 1 {
			t.Errorf("the call in flight was cut: %d comments", n)
		}
		// Its verification was not made any more; the next writer knows that it is to look.
		if e := w.store.given("ask-1", solve.EffectReply, 0); e.State == solve.EffectPending && e.SentAt.IsZero() {
			t.Error("the effect would be written again")
		}
		if e := w.store.given("ask-2", solve.EffectReply, 0); e.State != solve.EffectPending || e.Tries != 0 {
			t.Errorf("the next effect is %s after %d tries", e.State, e.Tries)
		}
	})
}

// TestAPaceSlowerThanTheClaimIsWaitedFor: an effect of several writes whose next
// turn comes after its claim is put off until then, and each try gets further.
func TestAPaceSlowerThanTheClaimIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]func(*ghapp.WriteConfig){
		"few an hour":      func(c *ghapp.WriteConfig) { c.PerHour = 10 },
		"far between":      func(c *ghapp.WriteConfig) { c.Interval = 2 * time.Minute },
		"far between, few": func(c *ghapp.WriteConfig) { c.Interval, c.PerHour = time.Minute, 30 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				slow(&w.cfg.Write)
				w.store.retrying = func(e solve.Effect) {
					if strings.Contains(e.Error, "too soon") && !e.Due.After(time.Now()) {
						t.Errorf("%s is tried again at once", e.Kind)
					}
					if e.Tries > 6 {
						t.Errorf("%s: try %d", e.Kind, e.Tries)
					}
				}
				stop := w.write("node-1")
				s := w.solveAll("d0000000000000000001", func() {})
				w.settle()
				stop()
				w.checkOnce(s)
			})
		})
	}
}
