package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func intakePromises() []Promise {
	return []Promise{
		{"a delivery counts once", acceptOnce},
		{"what a delivery is about counts once", acceptAboutOnce},
		{"a wished solve is queued", acceptSolve},
		{"a known trigger changes nothing but the delivery", acceptKnownTrigger},
		{"a trigger on an issue with a live solve becomes an ask", acceptLiveIssue},
		{"what is refused is not stored in part", acceptRefused},
		{"asks wait, oldest first, until answered", askUntilAnswered},
		{"a solve of the API is created once", createOnce},
	}
}

func (w *world) delivery(guid string) solve.Delivery {
	return solve.Delivery{GUID: guid, Event: "issues", Action: "labeled", Payload: []byte(`{"a":1}`), Received: w.tick()}
}

func (w *world) accept(guid string, wish solve.Intent) bool {
	w.Helper()
	accepted, err := w.s.Accept(w.ctx, w.delivery(guid), wish)
	w.ok(err)
	return accepted
}

func (w *world) asks() []solve.Command {
	w.Helper()
	list, err := w.s.Commands(w.ctx)
	w.ok(err)
	return list
}

func (w *world) live() []solve.Solve {
	w.Helper()
	list, err := w.s.LiveSolves(w.ctx)
	w.ok(err)
	return list
}

func acceptOnce(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	if !w.accept("g1", solve.Intent{}) {
		t.Fatal("the first delivery was not accepted")
	}
	wish := w.wish(repo(1))
	if w.accept("g1", solve.Intent{Solve: &wish}) {
		t.Error("a known GUID was accepted")
	}
	if w.accept("g1", solve.Intent{Command: &solve.Command{ID: "g1", Kind: solve.CommandHelp}}) {
		t.Error("a known GUID was accepted")
	}
	if n := len(w.live()) + len(w.asks()); n != 0 {
		t.Errorf("a known GUID left %d records", n)
	}
	for _, guid := range []string{"", "a\x00b", "a\xff", strings.Repeat("a", 201)} {
		if ok, err := s.Accept(w.ctx, w.delivery(guid), solve.Intent{}); ok || err == nil || !strings.Contains(err.Error(), "not a usable GUID") {
			t.Errorf("GUID %q: %v, %v", guid, ok, err)
		}
	}
}

func acceptAboutOnce(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	about := func(guid, about string) bool {
		w.Helper()
		d := w.delivery(guid)
		d.About = about
		accepted, err := s.Accept(w.ctx, d, solve.Intent{Command: &solve.Command{ID: guid, Kind: solve.CommandHelp}})
		w.ok(err)
		return accepted
	}
	if !about("g1", "comment:1") || about("g2", "comment:1") || !about("g3", "comment:2") || !about("g4", "") || !about("g5", "") {
		t.Error("what is new is not what was accepted")
	}
	if about("g2", "comment:3") {
		t.Error("a delivery that asked for nothing new is not known")
	}
	if unknown, err := s.UnknownDeliveries(w.ctx, []string{"g1", "g2", "g3", "g6"}); err != nil || len(unknown) != 1 {
		t.Errorf("unknown are %v, %v", unknown, err)
	}
	if n := len(w.asks()); n != 4 {
		t.Errorf("%d asks", n)
	}
}

func acceptSolve(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	wish := w.wish(repo(1))
	wish.Lease, wish.Seq, wish.State = solve.Lease{Node: "x", Token: 9}, 7, solve.StateSolved
	w.accept("g1", solve.Intent{Solve: &wish})
	got := w.solve(wish.ID)
	want := wish
	want.V, want.Lease, want.Seq, want.State = 1, solve.Lease{}, 0, solve.StateQueued
	w.same(want, got)
	w.same([]solve.Solve{want}, w.live())
	latest, err := s.LatestSolve(w.ctx, 1, wish.Issue.Number)
	w.ok(err)
	w.same(want, latest)
}

func acceptKnownTrigger(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	wish := w.wish(repo(1))
	w.accept("g1", solve.Intent{Solve: &wish})
	before := w.dump(wish.ID)
	again := wish
	again.ID = "other"
	if !w.accept("g2", solve.Intent{Solve: &again}) {
		t.Error("the second delivery was not accepted")
	}
	w.same(before, w.dump(wish.ID))
	if _, err := s.Solve(w.ctx, "other"); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("the same trigger made a second solve: %v", err)
	}
	if len(w.asks()) != 0 {
		t.Error("the same trigger became an ask")
	}
}

func acceptLiveIssue(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	first := w.wish(repo(1))
	w.accept("g1", solve.Intent{Solve: &first})
	second := w.wish(repo(1))
	second.Issue, second.Trigger.CommentID = first.Issue, 77
	w.accept("g2", solve.Intent{Solve: &second})
	asks := w.asks()
	if len(asks) != 1 || asks[0].ID != "g2" || asks[0].Kind != solve.CommandRunning || asks[0].Repo != second.Repo ||
		asks[0].Issue != first.Issue.Number || asks[0].Actor != "actor" || asks[0].CommentID != 77 {
		t.Fatalf("asks are %+v, want one of kind running", asks)
	}
	if len(w.live()) != 1 {
		t.Error("the issue has two live solves")
	}
	_, err := s.RequestCancel(w.ctx, first.ID, "me", "")
	w.ok(err)
	w.accept("g3", solve.Intent{Solve: &second})
	w.state(second.ID, solve.StateQueued)
	latest, err := s.LatestSolve(w.ctx, 1, first.Issue.Number)
	w.ok(err)
	if latest.ID != second.ID {
		t.Errorf("the latest solve is %s, want %s", latest.ID, second.ID)
	}
}

func acceptRefused(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	w.queued(repo(1))
	bad := w.wish(repo(1))
	bad.ID = "solve0001" // taken
	if _, err := s.Accept(w.ctx, w.delivery("g1"), solve.Intent{Solve: &bad}); err == nil {
		t.Fatal("a taken ID was accepted")
	}
	bad.ID = "../escape"
	if _, err := s.Accept(w.ctx, w.delivery("g1"), solve.Intent{Solve: &bad}); err == nil {
		t.Fatal("an ID that is a path was accepted")
	}
	if !w.accept("g1", solve.Intent{}) {
		t.Error("the GUID of a refused delivery is taken")
	}
	if len(w.live()) != 1 {
		t.Error("a refused delivery left a solve")
	}
}

func askUntilAnswered(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	for i := range 3 {
		guid := fmt.Sprintf("g%d", 9-i)
		w.accept(guid, solve.Intent{Command: &solve.Command{ID: guid, Kind: solve.CommandStatus, Repo: repo(1), Issue: 1, At: w.tick()}})
	}
	var ids []string
	for _, a := range w.asks() {
		ids = append(ids, a.ID)
	}
	w.same([]string{"g9", "g8", "g7"}, ids)
	reply := solve.Effect{Key: "g8/reply", Kind: solve.EffectReply, Repo: repo(1), Issue: 1, Text: "hello"}
	w.ok(s.Answer(w.ctx, "g8", []solve.Effect{reply}))
	if len(w.asks()) != 2 {
		t.Error("the answered ask is still there")
	}
	e, err := s.Effect(w.ctx, "g8/reply")
	w.ok(err)
	if e.State != solve.EffectPending || e.Wanted != 1 || e.Text != "hello" {
		t.Errorf("the answer's effect is %+v", e)
	}
	other := solve.Effect{Key: "g8/react", Kind: solve.EffectReact, Repo: repo(1)}
	w.ok(s.Answer(w.ctx, "g8", []solve.Effect{other}))
	if _, err := s.Effect(w.ctx, "g8/react"); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("an ask was answered twice: %v", err)
	}
}

func createOnce(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	first := w.queued(repo(1))
	same := w.wish(repo(2))
	same.Trigger.Key = first.Trigger.Key
	got, created, err := s.Create(w.ctx, same)
	w.ok(err)
	if created || got.ID != first.ID {
		t.Errorf("a known key gave %s, created %v", got.ID, created)
	}
	issue := w.wish(repo(1))
	issue.Issue = first.Issue
	got, created, err = s.Create(w.ctx, issue)
	w.ok(err)
	if created || got.ID != first.ID {
		t.Errorf("an issue with a live solve gave %s, created %v", got.ID, created)
	}
	if len(w.live()) != 1 || len(w.asks()) != 0 {
		t.Error("a second Create left a record")
	}
}
