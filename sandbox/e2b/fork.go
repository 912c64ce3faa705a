package e2b

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// mostForks is how many one call may make.
const mostForks = 20

// parent is the machine of which a base was made, and which lives on for a while:
// forking it is the fastest way to many copies. It is forked once.
type parent struct {
	base    cloud.Note
	joins   chan *waiter
	spent   chan struct{} // closed when nobody may join
	ended   chan struct{} // closed when nothing is done with it any more
	stopped chan struct{} // closed by stop
	stop    func()
}

// waiter is one open that waits for a fork.
type waiter struct {
	note *cloud.Note
	got  chan machine // closed without one: make it of the snapshot
}

// fork gets a machine by forking the base's parent together with others that are
// opened now, and notes its id. It reports false where the machine has to be made of
// the snapshot: the parent is spent, nobody else came, or the fork failed.
func (p *provider) fork(base cloud.Note, n *cloud.Note) (machine, bool) {
	s := p.parent(base.ID)
	if s == nil {
		return machine{}, false
	}
	w := &waiter{note: n, got: make(chan machine, 1)}
	select {
	case s.joins <- w:
	case <-s.spent:
		return machine{}, false
	}
	m, ok := <-w.got
	return m, ok
}

// parent is the one of this id, nil if there is none to be forked.
func (p *provider) parent(id string) *parent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parents[id]
}

// keepParent lets the parent of a base be forked.
func (p *provider) keepParent(base cloud.Note) {
	s := &parent{base: base, joins: make(chan *waiter), spent: make(chan struct{}), ended: make(chan struct{}), stopped: make(chan struct{})}
	s.stop = sync.OnceFunc(func() { close(s.stopped) })
	p.mu.Lock()
	p.parents[base.ID] = s
	p.mu.Unlock()
	go p.useParent(s)
}

// useParent forks a parent once and then pauses it, or ends it when nobody came for so
// long. A parent that is paused costs nothing, and what was forked from it keeps what
// it came from; one that nobody was forked from is of no more use.
func (p *provider) useParent(s *parent) {
	defer close(s.ended)
	all := p.gather(s)
	close(s.spent)
	act := p.remove
	if len(all) > 0 {
		p.forkAll(s.base, all)
		act = p.pause
	}
	p.mu.Lock()
	delete(p.parents, s.base.ID)
	p.mu.Unlock()
	select {
	case <-s.stopped:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.control.Retry.Slow)
	defer cancel()
	if err := act(ctx, s.base.ID); err != nil {
		p.log.Warn().Err(err).Str(logkey.SandboxID, s.base.Name).Msg("parent of a base neither paused nor ended, its lease ends it")
	}
}

// gather waits for those who open the base at the same time. One alone is no batch:
// it is made of the snapshot, and the parent waits on.
func (p *provider) gather(s *parent) (all []*waiter) {
	rest := time.NewTimer(p.timing.rest)
	defer rest.Stop()
	var window <-chan time.Time
	for len(all) < mostForks {
		select {
		case w := <-s.joins:
			if all = append(all, w); len(all) == 1 {
				window = time.After(p.timing.window)
			}
			continue
		case <-window:
			if len(all) > 1 {
				return all
			}
			dismiss(all)
			all = nil
		case <-rest.C:
			dismiss(all)
			return nil
		case <-s.stopped:
			dismiss(all)
			return nil
		}
	}
	return all
}

// dismiss tells those who wait that they get nothing more.
func dismiss(all []*waiter) {
	for _, w := range all {
		close(w.got)
	}
}

// forkAll makes one call for all who wait, and notes what came of it and removes what is
// left over while the base's name is locked. Its context is no caller's: others wait for it.
func (p *provider) forkAll(base cloud.Note, all []*waiter) {
	release, ok := p.journal.TryLock(base.Name) // what a fork makes is called like the base until it is noted
	if !ok {
		dismiss(all) // it is being removed
		return
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), p.control.Retry.Slow)
	defer cancel()
	life := p.config.Lease
	for _, w := range all {
		life = min(life, w.note.Life(life))
	}
	answers, err := p.forkMachine(ctx, base.ID, len(all), life)
	var over []string
	for i, a := range answers {
		if a.Sandbox != nil && cloud.IsID(a.Sandbox.ID) && (i >= len(all) || !p.give(all[i], *a.Sandbox)) {
			over = append(over, a.Sandbox.ID)
		}
	}
	dismiss(all)
	clean, cancel := cloud.Cleaning(ctx)
	defer cancel()
	if err != nil {
		p.log.Warn().Err(err).Str(logkey.SandboxID, base.Name).Msg("fork failed, making copies of the snapshot")
		over, err = p.strayForks(clean, base)
	}
	for _, id := range over {
		err = errors.Join(err, p.remove(clean, id))
	}
	if err != nil {
		p.log.Warn().Err(err).Str(logkey.SandboxID, base.Name).Msg("forks left over, they will be swept")
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

// strayForks are what a fork made whose answer was lost. Forks carry their parent's metadata.
func (p *provider) strayForks(ctx context.Context, base cloud.Note) ([]string, error) {
	ids, err := p.Find(ctx, &base)
	if err != nil {
		return nil, err
	}
	notes, err := p.journal.All()
	return slices.DeleteFunc(ids, func(id string) bool {
		return err != nil || slices.ContainsFunc(notes, func(n cloud.Note) bool { return n.ID == id })
	}), err
}

// stopForking ends what is done with a parent, and waits for it.
func (p *provider) stopForking(id string) {
	if s := p.parent(id); s != nil {
		s.stop()
		<-s.ended
	}
}
