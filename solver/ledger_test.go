package solver_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// ledger is the store as one process sees it, with scripted faults.
type ledger struct {
	*bolt.Store
	mu     sync.Mutex
	before func(op string, c solve.Change) error
	after  func(op string, c solve.Change)
	pulse  func(ctx context.Context) error
	dead   bool
}

// beat replaces the heartbeat.
func (l *ledger) beat(f func(ctx context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pulse = f
}

// on installs functions that run before and after each writing operation; before may make it fail.
func (l *ledger) on(before func(op string, c solve.Change) error, after func(op string, c solve.Change)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before, l.after = before, after
}

func (l *ledger) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

// begin returns what is to be done after the operation, or its fault.
func (l *ledger) begin(op string, c solve.Change) (func(), error) {
	l.mu.Lock()
	before, after, dead := l.before, l.after, l.dead
	l.mu.Unlock()
	if dead {
		return nil, errDead
	}
	if before != nil {
		if err := before(op, c); err != nil {
			return nil, err
		}
	}
	return func() {
		if after != nil {
			after(op, c)
		}
	}, nil
}

var errDisk = errors.New("the disk is full")

// read is begin for what changes nothing; the dead may go on reading.
func (l *ledger) read(op string, id solve.ID) error {
	l.mu.Lock()
	before, dead := l.before, l.dead
	l.mu.Unlock()
	if dead || before == nil {
		return nil
	}
	return before(op, solve.Change{Solve: id})
}

func (l *ledger) Solve(ctx context.Context, id solve.ID) (solve.Solve, error) {
	if err := l.read("solve", id); err != nil {
		return solve.Solve{}, err
	}
	return l.Store.Solve(ctx, id)
}

func (l *ledger) Runs(ctx context.Context, id solve.ID) ([]solve.Run, error) {
	if err := l.read("runs", id); err != nil {
		return nil, err
	}
	return l.Store.Runs(ctx, id)
}

func (l *ledger) Effect(ctx context.Context, key string) (solve.Effect, error) {
	if err := l.read("effect", ""); err != nil {
		return solve.Effect{}, err
	}
	return l.Store.Effect(ctx, key)
}

func (l *ledger) Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error) {
	if err := l.read("read artifact", id); err != nil {
		return nil, err
	}
	return l.Store.Artifact(ctx, id, name)
}

func (l *ledger) Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error) {
	if err := l.read("transcript", id); err != nil {
		return nil, err
	}
	return l.Store.Transcript(ctx, id, n)
}

func (l *ledger) Heartbeat(ctx context.Context, node string, ttl time.Duration) error {
	done, err := l.begin("heartbeat", solve.Change{})
	if err != nil {
		return err
	}
	defer done()
	l.mu.Lock()
	pulse := l.pulse
	l.mu.Unlock()
	if pulse != nil {
		return pulse(ctx)
	}
	return l.Store.Heartbeat(ctx, node, ttl)
}

func (l *ledger) Leave(ctx context.Context, node string) error {
	done, err := l.begin("leave", solve.Change{})
	if err != nil {
		return err
	}
	defer done()
	return l.Store.Leave(ctx, node)
}

func (l *ledger) Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	done, err := l.begin("apply", c)
	if err != nil {
		return solve.Solve{}, solve.Run{}, err
	}
	defer done()
	return l.Store.Apply(ctx, c)
}

func (l *ledger) Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error {
	done, err := l.begin("step", solve.Change{Solve: id, Run: n, Token: token})
	if err != nil {
		return err
	}
	defer done()
	return l.Store.Step(ctx, id, n, token, lines, p)
}

func (l *ledger) PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error {
	done, err := l.begin("artifact", solve.Change{Solve: id, Reason: name})
	if err != nil {
		return err
	}
	defer done()
	return l.Store.PutArtifact(ctx, id, name, data)
}

func (l *ledger) ClaimSolve(ctx context.Context, node string) (solve.Solve, error) {
	done, err := l.begin("claim", solve.Change{})
	if err != nil {
		return solve.Solve{}, err
	}
	defer done()
	return l.Store.ClaimSolve(ctx, node)
}

func (l *ledger) Admit(ctx context.Context, node string, caps solve.Caps) ([]solve.Run, error) {
	done, err := l.begin("admit", solve.Change{})
	if err != nil {
		return nil, err
	}
	defer done()
	return l.Store.Admit(ctx, node, caps)
}

func (l *ledger) Rescue(ctx context.Context, node string) ([]solve.Run, error) {
	done, err := l.begin("rescue", solve.Change{})
	if err != nil {
		return nil, err
	}
	defer done()
	return l.Store.Rescue(ctx, node)
}

func (l *ledger) LiveSolves(ctx context.Context) ([]solve.Solve, error) {
	done, err := l.begin("live", solve.Change{})
	if err != nil {
		return nil, err
	}
	defer done()
	return l.Store.LiveSolves(ctx)
}

func (l *ledger) Answer(ctx context.Context, ask string, effects []solve.Effect) error {
	done, err := l.begin("answer", solve.Change{})
	if err != nil {
		return err
	}
	defer done()
	return l.Store.Answer(ctx, ask, effects)
}

func (l *ledger) WithdrawEffect(ctx context.Context, key, reason string) (bool, error) {
	done, err := l.begin("withdraw", solve.Change{})
	if err != nil {
		return false, err
	}
	defer done()
	return l.Store.WithdrawEffect(ctx, key, reason)
}
