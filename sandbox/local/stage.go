package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// stageArg is argv[0] of a process that is a stage. The rest of argv is the
// marker, which a later owner looks for, and stayArg if it outlives its owner.
const stageArg = "__yudai-sandbox-stage"

// forwardArg is argv[1] of the forwarder that runs inside a sandbox whose
// network has an allow-list or a socket.
const forwardArg = "__yudai-sandbox-forward"

// Stage must be the first call of main, and of TestMain in a package whose
// tests use the driver. In an ordinary process it returns at once. In a
// process that the driver started as its helper (the binary executes itself)
// it does that helper's work and never returns.
func Stage() {
	switch {
	case len(os.Args) >= 2 && os.Args[0] == stageArg:
		os.Exit(runStage(os.Args[2:]))
	case len(os.Args) >= 4 && os.Args[1] == forwardArg:
		os.Exit(runForward(os.Args[2], os.Args[3:]))
	}
}

// private is where a stage mounts its own tmpfs: a directory every Linux has,
// hidden from everybody else because the mount namespace is its own.
const private = "/tmp"

// stage is the state of a stage process: it stands in a user namespace whose
// root is the sandbox's unprivileged uid, and in its own mount namespace.
type stage struct {
	setup setup
	stays bool // it may outlive its owner
	over  chan struct{}

	mu      sync.Mutex
	ready   bool      // the mounts are made
	ended   bool      // over is closed
	owner   *session  // nil while there is none
	program *launched // launched last, nil before the first
}

// runStage serves requests until the owner is gone, and if it stays until nothing
// that was launched runs either.
func runStage(args []string) int {
	unix.Umask(0o022)
	conn, err := fileConn(os.NewFile(3, "owner"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := &stage{over: make(chan struct{}), owner: newSession(conn)}
	if len(args) > 0 && args[0] == stayArg {
		s.stays = true
		if err := s.stay(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	go s.attend(s.owner)
	<-s.over
	return 0 // what we started dies with us
}

// attend serves one owner until it closes its connection, dies or is replaced.
func (s *stage) attend(o *session) {
	for {
		r, files, err := receiveRequest(o.conn)
		if err != nil {
			break
		}
		if r.Op == opSetup {
			o.answer(r.ID, 0, "", s.begin(o, r.Setup, files))
			continue
		}
		go s.serve(o, r, files)
	}
	if s.stays {
		s.dismiss(o)
	}
	s.settle()
}

// begin makes the mounts for the first owner.
func (s *stage) begin(o *session, c *setup, files []*os.File) error {
	if err := s.prepare(c, files); err != nil {
		return err
	}
	o.marker = c.Marker
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	return nil
}

// settle ends the stage if nobody needs it any more.
func (s *stage) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.stays && (s.owner != nil || s.program.runs()) {
		return
	}
	s.ended = true
	close(s.over)
}

// serve does one request.
func (s *stage) serve(o *session, r request, files []*os.File) {
	switch r.Op {
	case opExec:
		s.exec(o, r.ID, r.Exec, files)
		return
	case opLaunch:
		s.launch(o, r.ID, r.Launch, files)
		return
	case opUsage:
		n, err := treeUsage(s.upper())
		o.answer(r.ID, n, "", err)
	case opStamp:
		text, err := treeStamp(s.upper() + "/workspace/repo")
		o.answer(r.ID, 0, text, err)
	case opCopy:
		o.answer(r.ID, 0, "", copyTree(private+"/"+s.setup.Lower[0]+"/data", s.upper()))
	case opRelease:
		o.answer(r.ID, 0, "", s.release(o))
	case opLaunched:
		runs, excess := s.launched()
		o.answer(r.ID, runs, excess, nil)
	case opHalt:
		o.answer(r.ID, 0, "", s.halt())
	default:
		o.answer(r.ID, 0, "", fmt.Errorf("unknown request %q", r.Op))
	}
	closeAll(files...)
}

// errReplaced is what an owner hears that is not the owner any more, if anything.
var errReplaced = errors.New("another owner took the sandbox over")

// session is one owner's connection to a stage, and what runs for it.
type session struct {
	conn   *net.UnixConn
	marker string // argv[0] of its bubblewraps
	send   sync.Mutex

	mu      sync.Mutex
	over    bool
	running map[*wrapped]struct{}
	busy    sync.WaitGroup
}

func newSession(conn *net.UnixConn) *session {
	return &session{conn: conn, running: make(map[*wrapped]struct{})}
}

// enter registers a command that is about to start; leave is to be called at its end.
func (o *session) enter(w *wrapped) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return errReplaced
	}
	o.busy.Add(1)
	o.running[w] = struct{}{}
	return nil
}

func (o *session) leave(w *wrapped) {
	o.mu.Lock()
	delete(o.running, w)
	o.mu.Unlock()
	o.busy.Done()
}

// end closes the connection and kills the commands: in this order, so that nobody
// takes their end for a result. When it returns no command of this owner can start any
// more, and those that did are gone but for what only their markers tell.
func (o *session) end() {
	_ = o.conn.Close()
	o.mu.Lock()
	o.over = true
	for w := range o.running {
		w.kill()
	}
	o.mu.Unlock()
	o.busy.Wait()
}
