package e2b

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// gather says how opens of one base are gathered to forks of its parent.
type gather struct {
	window time.Duration // how long the first waits for others
	rest   time.Duration // how long a parent stays awake for them
}

func defaultGather() gather { return gather{window: 250 * time.Millisecond, rest: time.Minute} }

// mostForks is how many one call may make.
const mostForks = 20

// source is the parent of a base: the machine that was frozen, which lives on for
// a while because forking it is the fastest way to many copies.
type source struct {
	base    records.Record
	stopped chan struct{} // closed by whoever wants it to end
	ended   chan struct{} // closed when nothing is done with it any more
	forked  chan struct{} // closed after the one call that forks it

	mu      sync.Mutex
	waiting []*wish
	full    chan struct{} // closed when as many wait as one call may make
	spent   bool          // nobody may join
}

// wish is one open that waits for a fork.
type wish struct {
	record records.Record
	got    chan machine // closed without one: make it of the snapshot
}

// join adds a wish. The first one leads: it makes the call for all.
func (s *source) join(w *wish) (leads, ok bool) {
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
func (s *source) batch(window time.Duration) []*wish {
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
// opened now. It reports false where it has to be made of the snapshot: the parent
// is spent, nobody else came, or the fork failed.
func (d *Driver) fork(base, r records.Record) (machine, records.Record, bool) {
	d.mu.Lock()
	s := d.sources[base.Name]
	d.mu.Unlock()
	if s == nil {
		return machine{}, r, false
	}
	w := &wish{record: r, got: make(chan machine, 1)}
	leads, ok := s.join(w)
	if !ok {
		return machine{}, r, false
	}
	if leads {
		if all := s.batch(d.gather.window); all != nil {
			d.forkAll(s, all)
			close(s.forked)
		}
	}
	m, ok := <-w.got
	return m, w.record, ok
}

// forkAll makes one call for all wishes and notes what came of it before anybody
// may take it for nobody's. Its context is no caller's: others wait for it.
func (d *Driver) forkAll(s *source, all []*wish) {
	leave := d.enter(s.base.Key)
	defer leave()
	ctx, cancel := context.WithTimeout(context.Background(), d.control.pace.slow)
	defer cancel()
	life := d.config.Lease
	for _, w := range all {
		life = min(life, d.config.life(w.record))
	}
	answers, err := d.control.fork(ctx, s.base.ID, len(all), life)
	if err != nil {
		d.log.Warn().Err(err).Str(logkey.SandboxID, s.base.Name).Msg("fork failed, making copies of the snapshot")
	}
	var lost error
	for i, a := range answers {
		if a.Sandbox == nil || a.Sandbox.ID == "" {
			continue
		}
		if i < len(all) && d.hand(all[i], s.base, *a.Sandbox) {
			continue
		}
		lost = errors.Join(lost, d.control.remove(ctx, a.Sandbox.ID))
	}
	for _, w := range all {
		close(w.got)
	}
	if err != nil {
		lost = errors.Join(lost, d.reap(ctx, s.base.Key))
	}
	if lost != nil {
		d.log.Warn().Err(lost).Str(logkey.SandboxID, s.base.Name).Msg("forks left over, they will be swept")
	}
}

// hand gives a fork to the one who waits for it.
func (d *Driver) hand(w *wish, base records.Record, m machine) bool {
	r := with(w.record, moreNetwork, base.More[moreNetwork])
	r.ID, r.Key = m.ID, base.Key
	if err := d.book.Put(r); err != nil {
		return false
	}
	w.record = r
	w.got <- m
	return true
}

// nurse lets a parent rest once it was forked, or when it was not for so long. A
// parent that rests costs nothing, and what was forked from it keeps what it came
// from; one that nobody was forked from is of no more use.
func (d *Driver) nurse(s *source) {
	defer close(s.ended)
	t := time.NewTimer(d.gather.rest)
	defer t.Stop()
	select {
	case <-s.forked:
	case <-s.stopped:
	case <-t.C:
	}
	s.mu.Lock()
	busy := s.spent
	s.spent = true
	s.mu.Unlock()
	if busy {
		<-s.forked
	}
	d.mu.Lock()
	delete(d.sources, s.base.Name)
	d.mu.Unlock()
	select {
	case <-s.stopped:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.control.pace.slow)
	defer cancel()
	act := d.control.remove
	if busy {
		act = d.control.pause
	}
	if err := act(ctx, s.base.ID); err != nil {
		d.log.Warn().Err(err).Str(logkey.SandboxID, s.base.Name).Msg("parent of a base neither resting nor ended, its lease ends it")
	}
}

// still ends what is done with a base's parent, and waits for it.
func (d *Driver) still(base string) {
	d.mu.Lock()
	s := d.sources[base]
	d.mu.Unlock()
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
