package local

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stayArg is argv[2] of a stage that outlives its owner while something launched runs.
// Its descriptors are the owner's connection and the socket at which later owners call.
const stayArg = "stay"

// What a staying stage waits for.
const (
	// helloPatience is how long a caller may take to introduce itself.
	helloPatience = 10 * time.Second
	// lookInterval is how often it looks whether its sandbox still exists.
	lookInterval = 2 * time.Second
)

// stay lets later owners call.
func (s *stage) stay() error {
	f := os.NewFile(4, "calls")
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		return fmt.Errorf("open socket: %w", err)
	}
	calls, ok := l.(*net.UnixListener)
	if !ok {
		return errors.New("open socket: not a unix socket")
	}
	calls.SetUnlinkOnClose(false)
	go func() {
		for {
			conn, err := calls.AcceptUnix()
			if err != nil {
				return
			}
			go s.welcome(conn)
		}
	}()
	go s.look()
	return nil
}

// welcome makes whoever calls and knows the sandbox its owner.
func (s *stage) welcome(conn *net.UnixConn) {
	_ = conn.SetReadDeadline(time.Now().Add(helloPatience))
	r, files, err := receiveRequest(conn)
	closeAll(files...)
	if err != nil || r.Op != opHello || r.Hello == nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	o := newSession(conn)
	o.marker = r.Hello.Marker
	err = s.handOver(o, *r.Hello)
	o.answer(r.ID, stageProtocol, "", err)
	if err != nil {
		_ = conn.Close()
		return
	}
	s.attend(o)
}

// handOver ends the old owner's session, with its commands, before the new one may do
// anything. What was launched runs on, if it was let run.
func (s *stage) handOver(o *session, h hello) error {
	if h.Protocol != stageProtocol {
		return fmt.Errorf("the stage speaks protocol %d, not %d", stageProtocol, h.Protocol)
	}
	s.mu.Lock()
	if !s.ready || s.ended {
		s.mu.Unlock()
		return errors.New("the stage is at its end")
	}
	if h.Keep != s.setup.Keep {
		s.mu.Unlock()
		return errors.New("the stage is another sandbox's")
	}
	old := s.owner
	s.owner = o
	s.mu.Unlock()
	if old != nil {
		s.dismiss(old)
	}
	return nil
}

// dismiss ends an owner's session and what only it was about to launch.
func (s *stage) dismiss(o *session) {
	s.mu.Lock()
	p := s.program
	if p != nil && p.held != o {
		p = nil
	}
	s.mu.Unlock()
	if p != nil {
		_ = p.end() // one that cannot be killed is found by its marker
	}
	o.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == o {
		s.owner = nil
	}
}

// look ends the stage once its sandbox was removed without it.
func (s *stage) look() {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for range tick.C {
		s.mu.Lock()
		ready := s.ready
		s.mu.Unlock()
		var st unix.Stat_t
		if err := unix.Lstat(private+"/"+boxName+"/"+recordFile, &st); !ready || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s.mu.Lock()
		if !s.ended {
			s.ended = true
			close(s.over)
		}
		s.mu.Unlock()
		return
	}
}
