package primesim

import "time"

// now is the stub's time: the host's, and what Advance added.
func (s *Server) now() time.Time { return time.Now().Add(s.ahead).UTC() }

// Advance moves the stub's clock forward, so that deadlines and delays pass.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
	s.stepAll()
}

// stepAll brings everything to the present, and returns when the next thing is due.
func (s *Server) stepAll() time.Time {
	now, next := s.now(), time.Time{}
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, b := range s.boxes {
		sooner(s.step(b, now))
	}
	for _, c := range s.checkpoints {
		sooner(c.step(now))
	}
	return next
}

// watch does what is due while nobody calls.
func (s *Server) watch() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		s.mu.Lock()
		next := s.stepAll()
		wait := time.Hour
		if !next.IsZero() {
			wait = max(next.Sub(s.now()), time.Millisecond)
		}
		s.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-s.kick:
		case <-s.stop:
			return
		}
	}
}

// wake makes watch look again.
func (s *Server) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}
