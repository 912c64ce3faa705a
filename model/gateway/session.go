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

// errNotOpen says that the run continues, but another owner has it or will have it.
var errNotOpen = errors.New("the run is not open here now")

// session is one run's access to the gateway.
type session struct {
	run       string
	where     agent.GatewayAccess
	x         solve.Experiment
	allowance agent.Allowance
	room      *semaphore.Weighted // bytes of requests

	calls sync.WaitGroup // the running ones

	mu      sync.Mutex
	closed  error // why calls are refused; nil while the session is open
	running map[*context.CancelCauseFunc]struct{}
	usage   solve.Usage
	lastErr error
	counted []time.Time // the latest counts of tokens
}

// requestsHeld is how many requests of the largest size a run's calls may hold at once; the
// next ones wait. Of usual requests that is thousands.
const requestsHeld = 4

// newSession makes a session whose requests have at most so many bytes.
func newSession(run string, where agent.GatewayAccess, x solve.Experiment, a agent.Allowance, request int64) *session {
	return &session{
		run: run, where: where, x: x, allowance: a, room: semaphore.NewWeighted(requestsHeld * request),
		running: map[*context.CancelCauseFunc]struct{}{},
	}
}

// begin registers a call; cancel ends it when the session closes.
func (s *session) begin(cancel context.CancelCauseFunc) (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return nil, s.closed
	}
	s.calls.Add(1)
	s.running[&cancel] = struct{}{}
	return func() {
		s.mu.Lock()
		delete(s.running, &cancel)
		s.mu.Unlock()
		s.calls.Done()
	}, nil
}

// close refuses further calls and cancels the running ones. It does not wait for them.
func (s *session) close(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return
	}
	s.closed = why
	for cancel := range s.running {
		(*cancel)(why)
	}
}

// closedBy says why the session is closed; nil if it is open.
func (s *session) closedBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// book counts a call: with its run first, then for [agent.GatewaySession]. When the run cannot
// take it, the session closes.
func (s *session) book(ctx context.Context, c agent.Call) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := s.allowance.End(ctx, c)
	s.mu.Lock()
	s.usage.Add(c.Usage)
	s.mu.Unlock()
	if err != nil {
		s.close(errNotOpen)
	}
	return err
}

// setLastError stores the error of the last call; nil if it succeeded.
func (s *session) setLastError(lastErr error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = lastErr
}

func (s *session) totalUsage() solve.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

func (s *session) lastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastErr
}

// mayCount bounds how often a run may have its tokens counted: it costs nothing, and
// must not cost the deployment its rate limit.
func (s *session) mayCount(now time.Time) bool {
	const most, span = 60, time.Minute
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.counted) > 0 && now.Sub(s.counted[0]) >= span {
		s.counted = s.counted[1:]
	}
	if len(s.counted) >= most {
		return false
	}
	s.counted = append(s.counted, now)
	return true
}
