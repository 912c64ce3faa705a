package e2b

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// forking says how opens of one base are gathered to one fork of its parent.
type forking struct {
	window time.Duration // how long the first waits for others
	rest   time.Duration // how long a parent stays awake for them
}

func defaultForking() forking { return forking{window: 250 * time.Millisecond, rest: time.Minute} }

// mostForks is how many one call may make.
const mostForks = 20

// parent is the machine of which a base was made, and which lives on for a while:
// forking it is the fastest way to many copies.
type parent struct {
	base    cloud.Note
	stopped chan struct{} // closed by whoever wants it to end
	ended   chan struct{} // closed when nothing is done with it any more
	forked  chan struct{} // closed after the one call that forks it

	mu      sync.Mutex
	waiting []*waiter
	full    chan struct{} // closed when as many wait as one call may make
	spent   bool          // nobody may join
}

// waiter is one open that waits for a fork.
type waiter struct {
	note *cloud.Note
	got  chan machine // closed without one: make it of the snapshot
}

// join adds a waiter. The first one leads: it makes the call for all.
func (s *parent) join(w *waiter) (leads, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent || len(s.waiting) >= mostForks {
		return false, false
	}
	s.waiting = append(s.waiting, w)
	switch len(s.waiting) {
	case 1:
		s.full = make(chan struct{})
		return true, true
	case mostForks:
		close(s.full)
	}
	return false, true
}

// batch waits for others and returns those that came. One alone is no batch: it
// is made of the snapshot, and the parent stays as it is.
func (s *parent) batch(window time.Duration) []*waiter {
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	t := time.NewTimer(window)
	defer t.Stop()
	select {
	case <-t.C:
	case <-full:
	case <-s.stopped:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting
	s.waiting = nil
	if len(all) < 2 || s.spent {
		for _, w := range all {
			close(w.got)
		}
		return nil
	}
	s.spent = true
	return all
}

// fork gets a machine by forking the base's parent together with others that are
// opened now, and notes its id. It reports false where the machine has to be made of
// the snapshot: the parent is spent, nobody else came, or the fork failed.
func (p *provider) fork(base cloud.Note, n *cloud.Note) (machine, bool) {
	p.mu.Lock()
	s := p.parents[base.ID]
	p.mu.Unlock()
	if s == nil {
		return machine{}, false
	}
	w := &waiter{note: n, got: make(chan machine, 1)}
	leads, ok := s.join(w)
	if !ok {
		return machine{}, false
	}
	if leads {
		if all := s.batch(p.forking.window); all != nil {
			p.forkAll(s.base, all)
			close(s.forked)
		}
	}
	m, ok := <-w.got
	return m, ok
}

// forkAll makes one call for all who wait and notes what came of it before the call
// counts as over. Its context is no caller's: others wait for it.
func (p *provider) forkAll(base cloud.Note, all []*waiter) {
	done := p.journal.Making(base.Name)
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), p.control.Patience.Slow)
	defer cancel()
	life := p.config.Lease
	for _, w := range all {
		life = min(life, w.note.Life(life))
	}
	answers, err := p.forkMachine(ctx, base.ID, len(all), life)
	if err != nil {
		p.log.Warn().Err(err).Str(logkey.SandboxID, base.Name).Msg("fork failed, making copies of the snapshot")
	}
	var left error
	for i, a := range answers {
		if a.Sandbox == nil || a.Sandbox.ID == "" || i < len(all) && p.give(all[i], *a.Sandbox) {
			continue
		}
		left = errors.Join(left, p.remove(ctx, a.Sandbox.ID))
	}
	for _, w := range all {
		close(w.got)
	}
	if err != nil {
		left = errors.Join(left, p.removeStrayForks(ctx, base))
	}
	if left != nil {
		p.log.Warn().Err(left).Str(logkey.SandboxID, base.Name).Msg("forks left over, they will be swept")
	}
}

// give gives a fork to the one who waits for it.
func (p *provider) give(w *waiter, m machine) bool {
	w.note.ID = m.ID
	if err := p.journal.Write(*w.note); err != nil {
		w.note.ID = ""
		return false
	}
	w.got <- m
	return true
}

// removeStrayForks ends what a fork made whose answer was lost. Forks carry their
// parent's metadata.
func (p *provider) removeStrayForks(ctx context.Context, base cloud.Note) error {
	ids, err := p.Find(ctx, &base)
	if err != nil {
		return err
	}
	notes, err := p.journal.All()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, n := range notes {
		known[n.ID] = true
	}
	for _, id := range ids {
		if !known[id] {
			err = errors.Join(err, p.remove(ctx, id))
		}
	}
	return err
}

// keepParent lets the parent of a base be forked.
func (p *provider) keepParent(base cloud.Note) {
	s := &parent{base: base, stopped: make(chan struct{}), ended: make(chan struct{}), forked: make(chan struct{})}
	p.mu.Lock()
	p.parents[base.ID] = s
	p.mu.Unlock()
	go p.expireParent(s)
}

// expireParent pauses a parent once it was forked, and ends it when it was not for so
// long. A parent that is paused costs nothing, and what was forked from it keeps what
// it came from; one that nobody was forked from is of no more use.
func (p *provider) expireParent(s *parent) {
	defer close(s.ended)
	t := time.NewTimer(p.forking.rest)
	defer t.Stop()
	select {
	case <-s.forked:
	case <-s.stopped:
	case <-t.C:
	}
	s.mu.Lock()
	used := s.spent
	s.spent = true
	s.mu.Unlock()
	if used {
		<-s.forked
	}
	p.mu.Lock()
	delete(p.parents, s.base.ID)
	p.mu.Unlock()
	select {
	case <-s.stopped:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.control.Patience.Slow)
	defer cancel()
	act := p.remove
	if used {
		act = p.pause
	}
	if err := act(ctx, s.base.ID); err != nil {
		p.log.Warn().Err(err).Str(logkey.SandboxID, s.base.Name).Msg("parent of a base neither paused nor ended, its lease ends it")
	}
}

// stopForking ends what is done with a parent, and waits for it.
func (p *provider) stopForking(id string) {
	p.mu.Lock()
	s := p.parents[id]
	p.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	select {
	case <-s.stopped:
	default:
		close(s.stopped)
	}
	s.mu.Unlock()
	<-s.ended
}
