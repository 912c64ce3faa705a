package storetest

import (
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func stepPromises() []Promise {
	return []Promise{
		{"a step is in the transcript and in the progress", stepStored},
		{"a former owner's step changes nothing", stepFenced},
		{"a transcript is that of the present attempt, whoever wrote it", stepAttempts},
	}
}

func (w *world) transcript(id solve.ID, n int) string {
	w.Helper()
	data, err := w.s.Transcript(w.ctx, id, n)
	w.ok(err)
	return string(data)
}

func stepStored(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	n1 := w.node("n1")
	made := w.running(repo(1), 2, nil)
	r := w.admit(n1, solve.Caps{})[0]
	w.same("", w.transcript(made.ID, 1))
	text := ""
	for i, line := range []string{"one\n", "two\nthree\n", "", "four\n"} {
		text += line
		p := solve.Progress{Steps: i + 1, At: w.now, Usage: solve.Usage{Cost: 5}}
		w.ok(s.Step(w.ctx, made.ID, 1, r.Lease.Token, []byte(line), p))
		w.same(text, w.transcript(made.ID, 1))
		want := r
		want.Progress = p
		w.same(want, w.run(made.ID, 1))
	}
	w.same("", w.transcript(made.ID, 2))
}

func stepFenced(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, nil)
	w.is(s.Step(w.ctx, made.ID, 1, 0, []byte("x\n"), solve.Progress{At: w.now}), solve.ErrLeaseLost)
	r := w.admit(w.node("n1"), solve.Caps{})[0]
	w.ok(s.Step(w.ctx, made.ID, 1, r.Lease.Token, []byte("mine\n"), solve.Progress{Steps: 1, At: w.now}))
	w.ok(s.Leave(w.ctx, "n1"))
	stale := func() {
		t.Helper()
		before := w.dump(made.ID)
		w.is(s.Step(w.ctx, made.ID, 1, r.Lease.Token, []byte("zombie\n"), solve.Progress{Steps: 9, At: w.now}), solve.ErrLeaseLost)
		w.is(s.Step(w.ctx, made.ID, 1, 0, []byte("zombie\n"), solve.Progress{Steps: 9, At: w.now}), solve.ErrLeaseLost)
		w.same(before, w.dump(made.ID))
	}
	stale()
	list, err := s.Rescue(w.ctx, w.node("n2"))
	w.ok(err)
	stale()
	w.ok(s.Step(w.ctx, made.ID, 1, list[0].Lease.Token, []byte("heir\n"), solve.Progress{Steps: 2, At: w.now}))
	stale()
	w.same("mine\nheir\n", w.transcript(made.ID, 1))
}

func stepAttempts(t testing.TB, s Store, clock *Clock) {
	w := newWorld(t, s, clock)
	made := w.running(repo(1), 1, nil)
	n1 := w.node("n1")
	r := w.step(w.admit(n1, solve.Caps{})[0], solve.Started{})
	w.ok(s.Step(w.ctx, made.ID, 1, r.Lease.Token, []byte("first\n"), solve.Progress{Steps: 1, At: w.now}))
	w.step(r, solve.Requeued{})
	again := w.admit(n1, solve.Caps{})[0]
	w.same("", w.transcript(made.ID, 1))
	w.ok(s.Step(w.ctx, made.ID, 1, again.Lease.Token, []byte("second\n"), solve.Progress{Steps: 1, At: w.now}))
	w.ok(s.Leave(w.ctx, n1))
	list, err := s.Rescue(w.ctx, w.node("n2"))
	w.ok(err)
	w.ok(s.Step(w.ctx, made.ID, 1, list[0].Lease.Token, []byte("third\n"), solve.Progress{Steps: 2, At: w.now}))
	w.same("second\nthird\n", w.transcript(made.ID, 1))
	for _, ev := range []solve.Event{solve.Started{}, solve.AgentEnded{}, solve.Empty{}} {
		w.step(list[0], ev)
	}
	w.same("second\nthird\n", w.transcript(made.ID, 1))
}
