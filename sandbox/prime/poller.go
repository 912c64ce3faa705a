package prime

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// poller asks for the status of the sandboxes that somebody waits for. The limits on
// requests are per account, so it asks for many at once.
type poller struct {
	provider *provider
	single   atomic.Bool // the service does not answer for many at once

	mu      sync.Mutex
	waiting map[string]chan condition // by sandbox id; holds the newest
	running bool
	changed chan struct{} // a signal that somebody has begun to wait, or nobody waits any more
}

func newPoller(p *provider) *poller {
	return &poller{provider: p, waiting: map[string]chan condition{}, changed: make(chan struct{}, 1)}
}

// mostAtOnce is how many sandboxes one request may ask for.
const mostAtOnce = 100

// wait passes what is heard of a sandbox to see, until see is satisfied or fails.
func (l *poller) wait(ctx context.Context, id string, see func(condition) (done bool, err error)) error {
	heard := make(chan condition, 1)
	l.mu.Lock()
	l.waiting[id] = heard
	if !l.running {
		l.running = true
		go l.run()
	}
	l.mu.Unlock()
	l.signal()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, id)
		if len(l.waiting) == 0 {
			l.signal()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case n := <-heard:
			if done, err := see(n); done || err != nil {
				return err
			}
		}
	}
}

func (l *poller) signal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// run asks until nobody waits. The pauses grow, and begin anew when somebody arrives.
func (l *poller) run() {
	timing := l.provider.timing
	pause := timing.poll
	for next := time.Now().Add(pause); ; {
		t := time.NewTimer(time.Until(next))
		select {
		case <-l.changed:
			t.Stop()
			if len(l.ids()) == 0 {
				return
			}
			pause = timing.poll
			if soon := time.Now().Add(pause); soon.Before(next) {
				next = soon
			}
			continue
		case <-t.C:
		}
		ids := l.ids()
		if len(ids) == 0 {
			return
		}
		for some := range slices.Chunk(ids, mostAtOnce) {
			l.ask(some)
		}
		pause = min(pause*3/2, timing.pollMost)
		next = time.Now().Add(pause)
	}
}

// ids lists those who are waited for. If there are none, run ends.
func (l *poller) ids() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id := range l.waiting {
		ids = append(ids, id)
	}
	l.running = len(ids) > 0
	slices.Sort(ids)
	return ids
}

// tell passes on what is heard of a sandbox. An error that passes by itself is not passed on.
func (l *poller) tell(id string, n condition) {
	passing := []int{0, http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict}
	if n.err != nil && (cloud.Transient(n.err) || cloud.HasStatus(n.err, passing...)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	heard := l.waiting[id]
	if heard == nil {
		return
	}
	select {
	case <-heard: // older
	default:
	}
	heard <- n
}

// ask asks for many at once, or one by one where that is not offered.
func (l *poller) ask(ids []string) {
	ctx := context.Background()
	if !l.single.Load() {
		var answer struct {
			Statuses []struct {
				SandboxID string `json:"sandbox_id"`
				condition
			} `json:"statuses"`
			Errors []struct {
				SandboxID string `json:"sandbox_id"`
			} `json:"errors"`
		}
		err := l.provider.control.Ask(ctx, http.MethodPost, "/sandbox/status:batchGet", map[string][]string{"sandbox_ids": ids}, &answer)
		if cloud.NotOffered(err) {
			l.single.Store(true)
		} else if err != nil {
			for _, id := range ids {
				l.tell(id, condition{err: err})
			}
			return
		} else {
			ids = nil
		}
		for _, s := range answer.Statuses {
			l.tell(s.SandboxID, s.condition)
		}
		for _, e := range answer.Errors { // a look at the sandbox itself tells more
			ids = append(ids, e.SandboxID)
		}
	}
	for _, id := range ids {
		o, err := l.provider.get(ctx, id)
		n := o.condition()
		n.err = err
		l.tell(id, n)
	}
}
