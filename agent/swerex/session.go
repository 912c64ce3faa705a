package swerex

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// session is one shell. Its commands come one after the other; an interrupt may come
// in between.
type session struct {
	server *Server
	id     string // its directory
	turn   sync.Mutex

	mu     sync.Mutex
	number int      // of the last command
	going  *running // the command that has not ended; nil if the shell is free
}

// running is a command that goes on after its answer.
type running struct {
	number      int
	seen        int
	interactive bool
}

// The times of the original, and how often output is looked at for what is expected.
const (
	slice      = time.Minute
	quickSlice = 200 * time.Millisecond
	forever    = 100 * 365 * 24 * time.Hour
)

// seconds is a duration; nil and what is beyond reason is for ever.
func seconds(f *float64) time.Duration {
	switch {
	case f == nil || *f > forever.Seconds():
		return forever
	case !(*f > 0): // NaN, too
		return 0
	}
	return time.Duration(*f * float64(time.Second))
}

// createSession serves /create_session.
func (s *Server) createSession(r createSession) (any, error) {
	s.mu.Lock()
	if _, ok := s.sessions[r.Session]; ok {
		s.mu.Unlock()
		return nil, raise(classExists, "session "+r.Session+" already exists")
	}
	s.opened++
	one := &session{server: s, id: fmt.Sprintf("s%d", s.opened)}
	s.sessions[r.Session] = one
	s.mu.Unlock()
	err := s.shells.start(s.life, s.box, s.options)
	if err == nil {
		_, err = s.call(call{verb: "open", shell: one.id, patience: margin})
	}
	if err != nil {
		s.forget(r.Session)
		return nil, err
	}
	var source []string
	for _, path := range r.StartupSource {
		source = append(source, "source "+s.paths.text(path))
	}
	if len(source) == 0 {
		return sessionOpened{SessionType: "bash"}, nil
	}
	text := strings.Join(source, " ; ")
	out, err := one.run(bashAction{Command: &text, Timeout: &r.StartupTimeout, Check: checkSilent})
	if isClass(err, classTimeout) {
		return nil, raise(classPatience, "Timeout exceeded.")
	}
	return sessionOpened{Output: out.Output, SessionType: "bash"}, err
}

// find is the session of a name.
func (s *Server) find(name string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[name]
	if !ok {
		return nil, raise(classNoSession, "session "+repr(name)+" does not exist")
	}
	return one, nil
}

func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, name)
}

// closeSession serves /close_session.
func (s *Server) closeSession(r closeSession) (any, error) {
	one, err := s.find(r.Session)
	if err != nil {
		return nil, err
	}
	s.forget(r.Session)
	_, err = s.call(call{verb: "close", shell: one.id, patience: margin})
	return sessionClosed{SessionType: "bash"}, err
}

// closeAll serves /close: all sessions end, the endpoint stays.
func (s *Server) closeAll() (any, error) {
	s.mu.Lock()
	all := s.sessions
	s.sessions = make(map[string]*session)
	s.mu.Unlock()
	for _, one := range all {
		if _, err := s.call(call{verb: "close", shell: one.id, patience: margin}); err != nil {
			return nil, err
		}
	}
	return nothing{}, nil
}

// run serves a bash action.
func (s *Server) run(a bashAction) (any, error) {
	one, err := s.find(a.Session)
	if err != nil {
		return nil, err
	}
	text := s.paths.text(*a.Command)
	a.Command = &text
	if a.Interactive || a.Quit {
		return one.talk(a)
	}
	out, err := one.run(a)
	if err != nil {
		return nil, err
	}
	if a.Check == checkRaise && out.ExitCode != nil && *out.ExitCode != 0 {
		return nil, nonZero(a.ErrorMsg, fmt.Sprintf("Command %s failed with exit code %d. Here is the output:\n%s", repr(text), *out.ExitCode, repr(out.Output)))
	}
	return out, nil
}

func nonZero(first, message string) error {
	if first != "" {
		message = first + ": " + message
	}
	return raise(classNonZero, message)
}

// run gives the shell a command and waits for its end. A command of before that still
// runs is waited for first.
func (one *session) run(a bashAction) (observation, error) {
	one.turn.Lock()
	defer one.turn.Unlock()
	patterns, err := compile(a.Expect)
	if err != nil {
		return observation{}, err
	}
	limit := seconds(a.Timeout)
	end := time.Now().Add(limit)
	if old := one.busy(); old != nil {
		got, err := one.wait(call{verb: "wait"}, old, end, nil)
		if err != nil {
			return observation{}, err
		}
		if !got.ended {
			return observation{}, timeout(a)
		}
	}
	got, err := one.wait(call{verb: "run", input: *a.Command}, one.next(false), end, patterns)
	switch {
	case err != nil:
		return observation{}, err
	case !got.ended && got.match == "":
		return observation{}, timeout(a)
	case !got.ended && a.Check == checkRaise:
		return observation{}, raise(classNoExit, "timeout while getting exit code")
	}
	out := observation{Output: shown(got.output, false), ExpectString: got.match, SessionType: "bash"}
	if got.ended && a.Check != checkIgnore {
		out.ExitCode = &got.code
	}
	return out, nil
}

// talk serves what is said to an interactive program: its start, a line for it, and
// the line that ends it.
func (one *session) talk(a bashAction) (any, error) {
	one.turn.Lock()
	defer one.turn.Unlock()
	patterns, err := compile(a.Expect)
	if err != nil {
		return nil, err
	}
	c, on := call{verb: "type", input: *a.Command + "\n"}, one.busy()
	if on == nil {
		c, on = call{verb: "run", input: *a.Command, interactive: true}, one.next(true)
	}
	got, err := one.wait(c, on, time.Now().Add(seconds(a.Timeout)), patterns)
	switch {
	case err != nil:
		return nil, err
	case !got.ended && got.match == "":
		return nil, timeout(a)
	}
	text := shown(got.output, true)
	if a.Interactive { // the program may repeat what it was told
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(text, " \t\r\n\v\f"), *a.Command))
	}
	return observation{Output: text, ExitCode: new(int), ExpectString: got.match, SessionType: "bash"}, nil
}

// interrupt serves a bash_interrupt action: first as the keys would, then by force.
func (s *Server) interrupt(a interruptAction) (any, error) {
	one, err := s.find(a.Session)
	if err != nil {
		return nil, err
	}
	patterns, err := compile(a.Expect)
	if err != nil {
		return nil, err
	}
	out := observation{ExitCode: new(int), ExpectString: prompt, SessionType: "bash"}
	for try := range max(a.Retries, 0) + 2 {
		on := one.busy()
		if on == nil {
			return out, nil
		}
		c, patience := call{verb: "interrupt"}, max(seconds(&a.Timeout), quickSlice)
		switch {
		case try >= max(a.Retries, 0):
			c.verb, patience = "kill", time.Second
		case on.interactive && try == 0:
			c = call{verb: "type", input: "\x03"}
		}
		got, err := one.wait(c, on, time.Now().Add(patience), patterns)
		if err != nil {
			return nil, err
		}
		if got.ended || got.match != "" {
			out.Output, out.ExpectString = strings.TrimSpace(shown(got.output, on.interactive)), got.match
			return out, nil
		}
	}
	return nil, raise(classPatience, "Failed to interrupt session")
}

func timeout(a bashAction) error {
	return raise(classTimeout, fmt.Sprintf("timeout after %s seconds while running command %s", number(a.Timeout), repr(*a.Command)))
}

// compile reads the patterns that end a wait, the dot of which is any sign.
func compile(expect []string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for _, e := range expect {
		p, err := regexp.Compile("(?s)" + e)
		if err != nil {
			return nil, raise(classPattern, "bad pattern "+repr(e)+": "+err.Error())
		}
		out = append(out, p)
	}
	return out, nil
}
