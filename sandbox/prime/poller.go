package prime

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// poller asks how sandboxes are that are waited for. The limits on requests are per
// account: one of those that wait asks for all whose time has come.
type poller struct {
	provider *provider
	single   atomic.Bool // the service does not answer for many at once

	mu      sync.Mutex
	waiters map[string]*waiter
	asking  chan struct{} // held by who asks
	arrived chan struct{} // a signal that somebody has begun to wait
}

// waiter waits for one sandbox.
type waiter struct {
	news  chan news // the newest
	due   time.Time // of the next look
	pause time.Duration
	slow  bool // its image is being built
}

func newPoller(p *provider) *poller {
	return &poller{provider: p, waiters: map[string]*waiter{}, asking: make(chan struct{}, 1), arrived: make(chan struct{}, 1)}
}

// mostAtOnce is how many sandboxes one request may ask for.
const mostAtOnce = 100

// wait passes what is heard of a sandbox to see, until see is satisfied or fails.
func (l *poller) wait(ctx context.Context, id string, see func(news) (slow, done bool, err error)) error {
	w := l.add(id)
	defer l.remove(id)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case n := <-w.news:
			slow, done, err := see(n)
			if done || err != nil {
				return err
			}
			l.mu.Lock()
			w.slow = slow
			l.mu.Unlock()
		case l.asking <- struct{}{}:
			if len(w.news) == 0 { // who asked before may have heard something
				l.round(ctx)
			}
			<-l.asking
		}
	}
}

func (l *poller) add(id string) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &waiter{news: make(chan news, 1), pause: l.provider.pace.poll}
	w.due = time.Now().Add(jitter(w.pause))
	l.waiters[id] = w
	select {
	case l.arrived <- struct{}{}:
	default:
	}
	return w
}

func (l *poller) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiters, id)
}

// jitter varies by a quarter to either side.
func jitter(d time.Duration) time.Duration { return d - d/4 + rand.N(d/2+1) }

// round waits until somebody's time has come, asks, and hands out what is heard.
func (l *poller) round(ctx context.Context) {
	for wait := l.untilFirst(); wait > 0; wait = l.untilFirst() {
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-l.arrived:
			t.Stop()
		case <-t.C:
		}
	}
	for ids := range slices.Chunk(l.due(), mostAtOnce) {
		l.handOut(l.ask(ctx, ids))
	}
}

func (l *poller) untilFirst() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := time.Hour
	for _, w := range l.waiters {
		first = min(first, time.Until(w.due))
	}
	return first
}

// due lists those whose time has come, or comes soon, and plans the next look.
func (l *poller) due() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, most := time.Now(), l.provider.pace.pollMost
	var ids []string
	for id, w := range l.waiters {
		if w.due.After(now.Add(w.pause / 2)) {
			continue
		}
		ids = append(ids, id)
		w.pause = min(w.pause*3/2, most)
		if w.slow {
			w.pause = most
		}
		w.due = now.Add(jitter(w.pause))
	}
	slices.Sort(ids)
	return ids
}

func (l *poller) handOut(heard map[string]news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range heard {
		w := l.waiters[id]
		if w == nil {
			continue
		}
		select {
		case <-w.news: // older
		default:
		}
		w.news <- n
	}
}

// ask asks for many at once, or one by one where that is not offered. Those of
// whom nothing was heard are not in the answer.
func (l *poller) ask(ctx context.Context, ids []string) map[string]news {
	heard, alone := map[string]news{}, ids
	if !l.single.Load() {
		var answer struct {
			Statuses []struct {
				SandboxID string `json:"sandbox_id"`
				news
			} `json:"statuses"`
			Errors []struct {
				SandboxID string `json:"sandbox_id"`
			} `json:"errors"`
		}
		err := l.provider.call(ctx, http.MethodPost, "/sandbox/status:batchGet", map[string][]string{"sandbox_ids": ids}, &answer)
		switch {
		case cloud.NotOffered(err):
			l.single.Store(true)
		case err != nil:
			return failed(ids, err)
		default:
			alone = nil
		}
		for _, s := range answer.Statuses {
			heard[s.SandboxID] = s.news
		}
		for _, e := range answer.Errors { // a look at the sandbox itself tells more
			alone = append(alone, e.SandboxID)
		}
	}
	for _, id := range alone {
		o, err := l.provider.get(ctx, id)
		if err != nil {
			maps.Copy(heard, failed([]string{id}, err))
			continue
		}
		heard[id] = o.news()
	}
	return heard
}

// failed tells everybody of an error that does not pass, and nobody of one that does.
func failed(ids []string, err error) map[string]news {
	heard := map[string]news{}
	if cloud.Transient(err) || cloud.HasStatus(err, 0, http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict) {
		return heard
	}
	for _, id := range ids {
		heard[id] = news{err: err}
	}
	return heard
}
