package ghapp_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// memStore is a store in memory: a test puts solves into any state. What happens to effects is up to the rules of solve.
type memStore struct {
	mu       sync.Mutex
	effects  map[string]solve.Effect
	order    map[string]int // when it came to be wanted
	wanted   int
	solves   map[solve.ID]solve.Solve
	runs     map[solve.ID][]solve.Run
	watchers map[chan struct{}]bool
	// sending, if set, is called after SentAt was stored: a process that dies there.
	sending func(e solve.Effect)
	// finishing, if set, may refuse what FinishEffect is about to store.
	finishing func(e solve.Effect) error
	// retrying, if set, is called with what RetryEffect stores.
	retrying func(e solve.Effect)
	retries  int
}

func newMemStore() *memStore {
	return &memStore{
		effects: map[string]solve.Effect{}, order: map[string]int{}, solves: map[solve.ID]solve.Solve{},
		runs: map[solve.ID][]solve.Run{}, watchers: map[chan struct{}]bool{},
	}
}

func (m *memStore) hint() {
	for w := range m.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// want asks for an effect, or for a newer version of a level-triggered one.
func (m *memStore) want(effects ...solve.Effect) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range effects {
		old, known := m.effects[e.Key]
		after, changed := e.First(), true
		if known {
			after, changed = old.Again()
		}
		if !changed {
			continue
		}
		if !known || old.State == solve.EffectApplied {
			m.wanted++
			m.order[e.Key] = m.wanted
		}
		m.effects[e.Key] = after
	}
	m.hint()
}

// put stores a solve as it is after an event and asks for what follows from it.
func (m *memStore) put(s solve.Solve, ev solve.EventName) {
	m.mu.Lock()
	m.solves[s.ID] = s
	m.mu.Unlock()
	m.want(solve.EffectsOf(s, nil, ev)...)
}

// putRun does the same for a run.
func (m *memStore) putRun(id solve.ID, r solve.Run, ev solve.EventName) {
	m.mu.Lock()
	runs := slices.DeleteFunc(slices.Clone(m.runs[id]), func(x solve.Run) bool { return x.N == r.N })
	m.runs[id] = append(runs, r)
	s := m.solves[id]
	m.mu.Unlock()
	m.want(solve.EffectsOf(s, &r, ev)...)
}

func (m *memStore) DueEffects(_ context.Context) ([]solve.Effect, error) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []solve.Effect
	for _, e := range m.effects {
		if at, ok := e.NextLook(); ok && !at.After(now) {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b solve.Effect) int {
		return cmp.Or(solve.CompareDue(a, b), cmp.Compare(m.order[a.Key], m.order[b.Key]))
	})
	return due, nil
}

func (m *memStore) ClaimEffect(_ context.Context, key, node string, ttl time.Duration) (solve.Effect, error) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.effects[key].Claim(node, now, now.Add(ttl))
	if err == nil {
		m.effects[key] = e
	}
	return e, err
}

// change lets the holder of a claim change its effect. Every node lives.
func (m *memStore) change(key string, token uint64, fn func(e solve.Effect, now time.Time) (solve.Effect, error)) error {
	e := m.effects[key]
	if err := e.CheckClaim(token, func(string) bool { return true }); err != nil {
		return err
	}
	after, err := fn(e, time.Now())
	if err != nil {
		return err
	}
	m.effects[key] = after
	m.hint()
	return nil
}

func (m *memStore) SendingEffect(_ context.Context, key string, token uint64) error {
	m.mu.Lock()
	err := m.change(key, token, solve.Effect.Sending)
	then, e := m.sending, m.effects[key]
	m.mu.Unlock()
	if err == nil && then != nil {
		then(e)
	}
	return err
}

func (m *memStore) FinishEffect(_ context.Context, key string, token, version uint64, r solve.Receipt) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finishing != nil {
		if err := m.finishing(m.effects[key]); err != nil {
			return err
		}
	}
	return m.change(key, token, func(e solve.Effect, now time.Time) (solve.Effect, error) { return e.Finish(version, r, now), nil })
}

func (m *memStore) RetryEffect(_ context.Context, key string, token uint64, wait time.Duration, reason string, unknown bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retries++
	return m.change(key, token, func(e solve.Effect, now time.Time) (solve.Effect, error) {
		e = e.Retry(now.Add(wait), reason, unknown)
		if m.retrying != nil {
			m.retrying(e)
		}
		return e, nil
	})
}

func (m *memStore) KillEffect(_ context.Context, key string, token uint64, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.change(key, token, func(e solve.Effect, now time.Time) (solve.Effect, error) { return e.Kill(reason, now), nil })
}

func (m *memStore) Effect(_ context.Context, key string) (solve.Effect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.effects[key]
	if !ok {
		return e, fmt.Errorf("effect %s: %w", key, solve.ErrNotFound)
	}
	return e, nil
}

func (m *memStore) RenewEffect(_ context.Context, key string) error {
	m.mu.Lock()
	e := m.effects[key]
	m.mu.Unlock()
	m.want(e)
	return nil
}

func (m *memStore) SolveEffects(_ context.Context, id solve.ID) (list []solve.Effect, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.effects {
		if e.Solve == id {
			list = append(list, e)
		}
	}
	return list, nil
}

func (m *memStore) LiveSolves(_ context.Context) (list []solve.Solve, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.solves {
		if !s.State.Final() {
			list = append(list, s)
		}
	}
	return list, nil
}

func (m *memStore) Solve(_ context.Context, id solve.ID) (solve.Solve, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.solves[id]
	if !ok {
		return s, fmt.Errorf("solve %s: %w", id, solve.ErrNotFound)
	}
	return s, nil
}

func (m *memStore) Runs(_ context.Context, id solve.ID) ([]solve.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.runs[id]), nil
}

func (m *memStore) Watch(ctx context.Context) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := make(chan struct{}, 1)
	m.watchers[w] = true
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, w)
		close(w)
	})
	return w
}

// settled says whether every effect was written or given up.
func (m *memStore) settled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.effects {
		if e.State != solve.EffectApplied && e.State != solve.EffectDead {
			return false
		}
	}
	return true
}

// given returns an effect that must exist, by solve and rest of its key.
func (m *memStore) given(id solve.ID, kind solve.EffectKind, run int) solve.Effect {
	key := string(id) + "/" + string(kind)
	if run > 0 {
		key += "/" + strconv.Itoa(run)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.effects[key]
}
