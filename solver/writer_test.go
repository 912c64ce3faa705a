package solver_test

import (
	"context"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// writer plays ghapp.Writer for the one effect the engine waits for, the pull
// request. The others stay pending.
type writer struct {
	w      *world
	mu     sync.Mutex
	claim  bool   // pull requests are claimed
	finish bool   // and written
	refuse string // or refused, for this reason
	pulls  int
}

// writer starts one that writes at once.
func (w *world) writer() *writer {
	p := &writer{w: w, claim: true, finish: true}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.must(w.store.Heartbeat(ctx, "writer", 1000*time.Hour))
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	w.Cleanup(func() { cancel(); <-done })
	return p
}

// set changes what it does from now on.
func (p *writer) set(claim, finish bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claim, p.finish = claim, finish
}

// refuses makes it answer that GitHub says no.
func (p *writer) refuses(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = reason
}

func (p *writer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pulls
}

func (p *writer) run(ctx context.Context) {
	hints := p.w.store.Watch(ctx)
	ticker := time.NewTicker(2 * time.Second) // for set and refuses
	defer ticker.Stop()
	held := map[string]solve.Effect{}
	for ctx.Err() == nil {
		p.look(ctx, held)
		select {
		case <-ctx.Done():
		case <-hints:
		case <-ticker.C:
		}
	}
}

func (p *writer) look(ctx context.Context, held map[string]solve.Effect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	store := p.w.store
	live, err := store.LiveSolves(ctx)
	if err != nil {
		return // the store is closed
	}
	for _, s := range live {
		f, err := store.Effect(ctx, string(s.ID)+"/"+string(solve.EffectPull))
		if err != nil || f.State != solve.EffectPending || !p.claim {
			continue
		}
		if f, err = store.ClaimEffect(ctx, f.Key, "writer", time.Hour); err == nil {
			err = store.SendingEffect(ctx, f.Key, f.Token)
		}
		if err == nil { // else withdrawn meanwhile
			held[f.Key] = f
		}
	}
	for key, f := range held {
		var err error
		switch {
		case p.refuse != "":
			err = store.KillEffect(ctx, key, f.Token, p.refuse)
		case p.finish:
			p.pulls++
			err = store.FinishEffect(ctx, key, f.Token, f.Wanted, p.receipt(f))
		default:
			continue
		}
		delete(held, key)
		if err != nil {
			p.w.Errorf("write %s: %v", key, err)
		}
	}
}

// receipt is a new pull request, or the one that the solve goes on with.
func (p *writer) receipt(f solve.Effect) solve.Receipt {
	r := solve.Receipt{Number: 100 + p.pulls, URL: "https://example.com/pull", SHA: "c0ffee"}
	if t := p.w.solve(f.Solve).Target(); t != nil {
		r.Number, r.SHA = t.Number, "c0ffee2"
	}
	return r
}
