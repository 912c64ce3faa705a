package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// errAway says that the run is not over, but not here: another owner has it, or will.
var errAway = errors.New("the run is not open here now")

// door is one run's way through.
type door struct {
	run     string
	where   agent.GatewayAccess
	x       solve.Experiment
	account agent.Allowance
	room    *semaphore.Weighted // bytes of requests

	calls sync.WaitGroup // that are under way

	mu      sync.Mutex
	closed  error // why no call is let in any more
	running map[*context.CancelCauseFunc]struct{}
	usage   solve.Usage
	trouble error
	counted []time.Time // the latest counts of tokens
}

// requestsHeld is how many requests of the largest size a run's calls may hold at once; the
// next ones wait. Of usual requests that is thousands.
const requestsHeld = 4

// newDoor makes a door for requests of so many bytes at most.
func newDoor(run string, where agent.GatewayAccess, x solve.Experiment, a agent.Allowance, request int64) *door {
	return &door{
		run: run, where: where, x: x, account: a, room: semaphore.NewWeighted(requestsHeld * request),
		running: map[*context.CancelCauseFunc]struct{}{},
	}
}

// enter lets a call in, which cancel ends when the door closes.
func (d *door) enter(cancel context.CancelCauseFunc) (leave func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed != nil {
		return nil, d.closed
	}
	d.calls.Add(1)
	d.running[&cancel] = struct{}{}
	return func() {
		d.mu.Lock()
		delete(d.running, &cancel)
		d.mu.Unlock()
		d.calls.Done()
	}, nil
}

// shut lets nobody in any more and ends the calls that are under way. It does not wait
// for them.
func (d *door) shut(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed != nil {
		return
	}
	d.closed = why
	for cancel := range d.running {
		(*cancel)(why)
	}
}

// gone says why the door is closed; nil if it is open.
func (d *door) gone() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// end settles a call: with its run first, then for [agent.GatewaySession]. When the run cannot
// take it, the door closes.
func (d *door) end(ctx context.Context, c agent.Call) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := d.account.End(ctx, c)
	d.mu.Lock()
	d.usage.Add(c.Usage)
	d.mu.Unlock()
	if err != nil {
		d.shut(errAway)
	}
	return err
}

// note keeps what went wrong last; nil says that nothing did.
func (d *door) note(trouble error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trouble = trouble
}

func (d *door) spent() solve.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.usage
}

func (d *door) wrong() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trouble
}

// mayCount bounds how often a run may have its tokens counted: it costs nothing, and
// must not cost the deployment its rate limit.
func (d *door) mayCount(now time.Time) bool {
	const most, span = 60, time.Minute
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.counted) > 0 && now.Sub(d.counted[0]) >= span {
		d.counted = d.counted[1:]
	}
	if len(d.counted) >= most {
		return false
	}
	d.counted = append(d.counted, now)
	return true
}
