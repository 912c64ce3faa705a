package simulation_test

import (
	"context"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// ledger is the store as one process sees it: every method passes the gate.
type ledger struct {
	store *bolt.Store
	gate  *gate
	mut   mutation
}

// got passes a read.
func got[T any](g *gate, do func() (T, error)) (v T, err error) {
	err = g.read(func() (err error) {
		v, err = do()
		return err
	})
	return v, err
}

// made passes a write that is a boundary if it succeeds. What it would have
// returned is nobody's after the crash.
func made[T any](g *gate, name string, do func() (T, error)) (v T, err error) {
	err = g.pass(name, func() (err error) {
		v, err = do()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return v, nil
}

func (l *ledger) Solve(ctx context.Context, id solve.ID) (solve.Solve, error) {
	return got(l.gate, func() (solve.Solve, error) { return l.store.Solve(ctx, id) })
}

func (l *ledger) Runs(ctx context.Context, id solve.ID) ([]solve.Run, error) {
	return got(l.gate, func() ([]solve.Run, error) { return l.store.Runs(ctx, id) })
}

func (l *ledger) Run(ctx context.Context, id solve.ID, n int) (solve.Run, error) {
	return got(l.gate, func() (solve.Run, error) { return l.store.Run(ctx, id, n) })
}

func (l *ledger) Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error) {
	return got(l.gate, func() ([]solve.Entry, error) { return l.store.Events(ctx, id, after) })
}

func (l *ledger) LiveSolves(ctx context.Context) ([]solve.Solve, error) {
	return got(l.gate, func() ([]solve.Solve, error) { return l.store.LiveSolves(ctx) })
}

func (l *ledger) LatestSolve(ctx context.Context, repo int64, issue int) (solve.Solve, error) {
	return got(l.gate, func() (solve.Solve, error) { return l.store.LatestSolve(ctx, repo, issue) })
}

func (l *ledger) Spent(ctx context.Context, since time.Time) ([]solve.Spending, error) {
	return got(l.gate, func() ([]solve.Spending, error) { return l.store.Spent(ctx, since) })
}

func (l *ledger) TrackRecords(ctx context.Context) ([]solve.TrackRecord, error) {
	return got(l.gate, func() ([]solve.TrackRecord, error) { return l.store.TrackRecords(ctx) })
}

func (l *ledger) Learn(ctx context.Context, id solve.ID, news solve.Fate) error {
	return l.gate.pass("learn", func() error { return l.store.Learn(ctx, id, news) })
}

func (l *ledger) SolveEffects(ctx context.Context, id solve.ID) ([]solve.Effect, error) {
	return got(l.gate, func() ([]solve.Effect, error) { return l.store.SolveEffects(ctx, id) })
}

func (l *ledger) Effect(ctx context.Context, key string) (solve.Effect, error) {
	return got(l.gate, func() (solve.Effect, error) { return l.store.Effect(ctx, key) })
}

func (l *ledger) DueEffects(ctx context.Context) ([]solve.Effect, error) {
	return got(l.gate, func() ([]solve.Effect, error) { return l.store.DueEffects(ctx) })
}

func (l *ledger) Commands(ctx context.Context) ([]solve.Command, error) {
	return got(l.gate, func() ([]solve.Command, error) { return l.store.Commands(ctx) })
}

func (l *ledger) Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error) {
	return got(l.gate, func() ([]byte, error) { return l.store.Artifact(ctx, id, name) })
}

func (l *ledger) Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error) {
	if l.mut == mutForget {
		return nil, nil
	}
	return got(l.gate, func() ([]byte, error) { return l.store.Transcript(ctx, id, n) })
}

func (l *ledger) Watch(ctx context.Context) <-chan struct{} { return l.store.Watch(ctx) }

func (l *ledger) Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (bool, error) {
	if l.mut == mutAck && w.Solve != nil {
		go l.acceptLater(d, w)
		return true, nil
	}
	var accepted bool
	err := l.gate.may("accept "+d.Event+"."+d.Action, func() (_ bool, err error) {
		accepted, err = l.store.Accept(ctx, d, w)
		return accepted, err
	})
	return accepted, err
}

func (l *ledger) Apply(ctx context.Context, c solve.Change) (s solve.Solve, r solve.Run, err error) {
	name := fmt.Sprintf("apply %s of run %d", solve.NameOf(c.Event), c.Run)
	err = l.gate.pass(name, func() (err error) {
		s, r, err = l.store.Apply(ctx, c)
		return err
	})
	if err != nil {
		return solve.Solve{}, solve.Run{}, err
	}
	return s, r, nil
}

func (l *ledger) Create(ctx context.Context, wish solve.Solve) (stored solve.Solve, created bool, err error) {
	stored, err = made(l.gate, "create", func() (solve.Solve, error) {
		stored, created, err = l.store.Create(ctx, wish)
		return stored, err
	})
	return stored, created, err
}

func (l *ledger) RequestCancel(ctx context.Context, id solve.ID, by, why string) (solve.Solve, error) {
	return made(l.gate, "ask for cancel", func() (solve.Solve, error) { return l.store.RequestCancel(ctx, id, by, why) })
}

func (l *ledger) WithdrawEffect(ctx context.Context, key, reason string) (gone bool, err error) {
	err = l.gate.may("withdraw effect", func() (_ bool, err error) {
		gone, err = l.store.WithdrawEffect(ctx, key, reason)
		return gone, err
	})
	return gone, err
}

func (l *ledger) RenewEffect(ctx context.Context, key string) error {
	return l.gate.pass("renew effect", func() error { return l.store.RenewEffect(ctx, key) })
}

func (l *ledger) Heartbeat(ctx context.Context, node string, ttl time.Duration) error {
	return l.gate.pass("heartbeat", func() error { return l.store.Heartbeat(ctx, node, ttl) })
}

func (l *ledger) Leave(ctx context.Context, node string) error {
	return l.gate.pass("leave", func() error { return l.store.Leave(ctx, node) })
}

func (l *ledger) ClaimSolve(ctx context.Context, node string) (s solve.Solve, err error) {
	err = l.gate.may("claim solve", func() (_ bool, err error) {
		s, err = l.store.ClaimSolve(ctx, node)
		return err == nil, err
	})
	return s, err
}

func (l *ledger) Admit(ctx context.Context, node string, caps solve.Caps) (list []solve.Run, err error) {
	err = l.gate.may("admit runs", func() (_ bool, err error) {
		list, err = l.store.Admit(ctx, node, caps)
		return len(list) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (l *ledger) Rescue(ctx context.Context, node string) (list []solve.Run, err error) {
	err = l.gate.may("rescue runs", func() (_ bool, err error) {
		list, err = l.store.Rescue(ctx, node)
		return len(list) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (l *ledger) Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error {
	return l.gate.pass(fmt.Sprintf("step of run %d", n), func() error { return l.store.Step(ctx, id, n, token, lines, p) })
}

func (l *ledger) PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error {
	return l.gate.pass("artifact "+name, func() error { return l.store.PutArtifact(ctx, id, name, data) })
}

func (l *ledger) Answer(ctx context.Context, ask string, effects []solve.Effect) error {
	return l.gate.pass("answer ask", func() error { return l.store.Answer(ctx, ask, effects) })
}

func (l *ledger) ClaimEffect(ctx context.Context, key, node string, ttl time.Duration) (solve.Effect, error) {
	f, err := made(l.gate, "claim effect "+kindOf(key), func() (solve.Effect, error) {
		return l.store.ClaimEffect(ctx, key, node, ttl)
	})
	if l.mut == mutLookUp {
		f.SentAt = time.Time{}
	}
	return f, err
}

func (l *ledger) SendingEffect(ctx context.Context, key string, token uint64) error {
	return l.gate.pass("sending "+kindOf(key), func() error { return l.store.SendingEffect(ctx, key, token) })
}

func (l *ledger) FinishEffect(ctx context.Context, key string, token, version uint64, r solve.Receipt) error {
	return l.gate.pass("finish "+kindOf(key), func() error { return l.store.FinishEffect(ctx, key, token, version, r) })
}

func (l *ledger) RetryEffect(ctx context.Context, key string, token uint64, wait time.Duration, reason string, unknown bool) error {
	return l.gate.pass("retry "+kindOf(key), func() error { return l.store.RetryEffect(ctx, key, token, wait, reason, unknown) })
}

func (l *ledger) KillEffect(ctx context.Context, key string, token uint64, reason string) error {
	return l.gate.pass("kill "+kindOf(key), func() error { return l.store.KillEffect(ctx, key, token, reason) })
}

// acceptLater is the mutation of an intake that answers first.
func (l *ledger) acceptLater(d solve.Delivery, w solve.Intent) {
	<-time.After(6 * time.Second)
	_ = l.gate.pass("accept later", func() error {
		_, err := l.store.Accept(context.Background(), d, w)
		return err
	})
}
