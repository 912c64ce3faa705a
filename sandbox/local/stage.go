package local

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// stageArg is argv[0] of a process that is a stage. The rest of argv is the
// marker, which a later owner looks for.
const stageArg = "__yudai-sandbox-stage"

// forwardArg is argv[1] of the forwarder that runs inside a sandbox whose
// network has an allow-list.
const forwardArg = "__yudai-sandbox-forward"

// Stage must be the first call of main, and of TestMain in a package whose
// tests use the driver. In an ordinary process it returns at once. In a
// process that the driver started as its helper (the binary executes itself)
// it does that helper's work and never returns.
func Stage() {
	switch {
	case len(os.Args) >= 2 && os.Args[0] == stageArg:
		os.Exit(runStage())
	case len(os.Args) >= 3 && os.Args[1] == forwardArg:
		os.Exit(runForward(os.Args[2:]))
	}
}

// private is where a stage mounts its own tmpfs: a directory every Linux has,
// hidden from everybody else because the mount namespace is its own.
const private = "/tmp"

// stage is the state of a stage process: it stands in a user namespace whose
// root is the sandbox's unprivileged uid, and in its own mount namespace.
type stage struct {
	conn  *net.UnixConn
	send  sync.Mutex
	setup setup
}

// runStage serves requests until the owner is gone.
func runStage() int {
	unix.Umask(0o022)
	conn, err := fileConn(os.NewFile(3, "owner"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := &stage{conn: conn}
	for {
		r, files, err := receiveRequest(conn)
		if err != nil {
			return 0 // the owner closed or died; what we started dies with us
		}
		if r.Op == opSetup {
			s.answer(r.ID, 0, "", s.prepare(r.Setup, files))
			continue
		}
		go s.serve(r, files)
	}
}

// serve does one request.
func (s *stage) serve(r request, files []*os.File) {
	switch r.Op {
	case opExec:
		s.exec(r.ID, r.Exec, files)
		return
	case opUsage:
		n, err := treeUsage(s.upper())
		s.answer(r.ID, n, "", err)
	case opStamp:
		text, err := treeStamp(s.upper() + "/workspace/repo")
		s.answer(r.ID, 0, text, err)
	case opCopy:
		s.answer(r.ID, 0, "", copyTree(private+"/"+s.setup.Lower[0]+"/data", s.upper()))
	default:
		s.answer(r.ID, 0, "", fmt.Errorf("unknown request %q", r.Op))
	}
	closeAll(files...)
}

// answer sends the final reply of a request.
func (s *stage) answer(id uint64, number int64, text string, err error) {
	r := reply{ID: id, Kind: kindDone, Number: number, Text: text}
	if err != nil {
		r.Err = err.Error()
	}
	s.reply(r)
}

// reply sends one reply; a lost owner is noticed by the reading side.
func (s *stage) reply(r reply) {
	body, err := json.Marshal(r)
	if err != nil {
		return
	}
	s.send.Lock()
	defer s.send.Unlock()
	_, _ = s.conn.Write(body)
}
