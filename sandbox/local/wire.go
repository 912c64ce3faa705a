package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A stage and its owner speak over one sequenced-packet socket. A request is
// a packet without content whose first descriptor is a sealed memory file
// with the JSON (so that size and secrets never meet the socket buffer or
// argv), the others belong to the operation. A reply is a small JSON packet.

// op names what a stage is asked to do.
type op string

const (
	opSetup op = "setup" // mount everything; first and only once
	opExec  op = "exec"  // start bubblewrap: replies started, then exited
	opUsage op = "usage" // bytes of disk the sandbox uses
	opStamp op = "stamp" // a value that changes with the work tree
	opCopy  op = "copy"  // copy the base instead of mounting an overlay

	// Of a stage that outlives its owner.
	opHello    op = "hello"    // a new owner takes over; first and only once on its connection
	opLaunch   op = "launch"   // prepare a program: replies started, then exited
	opRelease  op = "release"  // let the program run
	opLaunched op = "launched" // whether it runs
	opHalt     op = "halt"     // kill all of it
)

// stageProtocol changes whenever a stage of one version of yudai cannot serve an
// owner of another: then nothing that was launched survives the change of version.
const stageProtocol = 1

// request is what the owner sends to a stage.
type request struct {
	ID     uint64     `json:"id"`
	Op     op         `json:"op"`
	Setup  *setup     `json:"setup,omitempty"`
	Exec   *execReq   `json:"exec,omitempty"`
	Hello  *hello     `json:"hello,omitempty"`
	Launch *launchReq `json:"launch,omitempty"`
}

// hello is how a new owner introduces itself to a stage that outlived the old one.
type hello struct {
	Protocol int    `json:"protocol"`
	Keep     string `json:"keep"`   // as in setup: only who can read the record knows it
	Marker   string `json:"marker"` // of the new owner
}

// setup describes the mounts of one stage. All names are below the private
// directory of the stage.
type setup struct {
	Bwrap   string            `json:"bwrap"`
	Marker  string            `json:"marker"`         // argv[0] of every bubblewrap, found again by a later owner
	Keep    string            `json:"keep,omitempty"` // argv[0] of a launched program's; empty in a stage that ends with its owner
	Sources []source          `json:"sources"`
	Lower   []string          `json:"lower,omitempty"` // source names, newest first
	Overlay bool              `json:"overlay"`
	Files   map[string]string `json:"files"` // contents of the few files of /etc that we make
	Etc     []string          `json:"etc"`   // what is shown of the host's /etc
}

// source is one thing of the host that the stage makes reachable by a name:
// a detached mount (as root), or a path (as an ordinary user, whose own rights
// decide).
type source struct {
	Name string `json:"name"`
	FD   int    `json:"fd"` // index among the descriptors of the packet, -1: use Path
	Path string `json:"path,omitempty"`
	Dir  bool   `json:"dir"`
}

// execReq describes one command. The descriptors are: arguments of bubblewrap,
// seccomp program, block pipe, stdin, stdout, stderr, and what FDs need.
type execReq struct {
	Argv    []string `json:"argv"`
	Rlimits []rlimit `json:"rlimits"`
}

// launchReq describes a program to launch. The descriptors are: arguments of
// bubblewrap, seccomp program, and what FDs need.
type launchReq struct {
	Argv    []string      `json:"argv"`
	Rlimits []rlimit      `json:"rlimits"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Disk    diskLimits    `json:"disk"`
}

// rlimit is one resource limit put on the first process inside.
type rlimit struct {
	Resource int    `json:"r"`
	Value    uint64 `json:"v"`
}

// Descriptor numbers inside the bubblewrap process.
const (
	argsFD    = 3
	seccompFD = 4
	blockFD   = 5
	statusFD  = 6
	extraFD   = 7 // the command's text, if it is too long for argv
)

// reply is what a stage answers.
type reply struct {
	ID     uint64 `json:"id"`
	Kind   string `json:"kind"` // "started", "exited", "done"
	Err    string `json:"err,omitempty"`
	Child  int    `json:"child,omitempty"` // pid of the first process inside, as the host sees it
	Code   int    `json:"code,omitempty"`
	Ran    bool   `json:"ran,omitempty"` // bubblewrap had finished its work when the command ended
	Number int64  `json:"number,omitempty"`
	Text   string `json:"text,omitempty"`
}

const (
	kindStarted = "started"
	kindExited  = "exited"
	kindDone    = "done"
)

// is reports the yes or no in a reply.
func (r reply) is() bool { return r.Number != 0 }

// memFile returns an anonymous memory file with that content, at offset 0.
func memFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write memory file: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("rewind memory file: %w", err)
	}
	return f, nil
}

// sendRequest sends a request with its descriptors.
func sendRequest(conn *net.UnixConn, r request, files []*os.File) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	mem, err := memFile("request", body)
	if err != nil {
		return err
	}
	defer func() { _ = mem.Close() }()
	fds := []int{int(mem.Fd())}
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if err := conn.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	if _, _, err := conn.WriteMsgUnix([]byte{'r'}, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return nil
}

// maxFDs is how many descriptors one packet may carry (the kernel's limit).
const maxFDs = 253

// receiveRequest reads one request; the descriptors belong to the caller.
func receiveRequest(conn *net.UnixConn) (request, []*os.File, error) {
	buf := make([]byte, 16)
	oob := make([]byte, unix.CmsgSpace(4*maxFDs))
	n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return request{}, nil, fmt.Errorf("receive request: %w", err)
	}
	if n == 0 {
		return request{}, nil, io.EOF
	}
	files, err := rightsOf(oob[:oobn])
	if err != nil {
		return request{}, nil, err
	}
	if len(files) == 0 {
		return request{}, nil, errors.New("receive request: no content")
	}
	defer func() { _ = files[0].Close() }()
	body, err := io.ReadAll(io.NewSectionReader(files[0], 0, 1<<30))
	if err != nil {
		return request{}, nil, fmt.Errorf("read request: %w", err)
	}
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return request{}, nil, fmt.Errorf("decode request: %w", err)
	}
	return r, files[1:], nil
}

// rightsOf turns the control messages of a packet into files.
func rightsOf(oob []byte) ([]*os.File, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("parse control message: %w", err)
	}
	var files []*os.File
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return nil, fmt.Errorf("parse descriptors: %w", err)
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

// closeAll closes files, ignoring nil ones.
func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// socketPair returns two connected ends: ours as a connection, the other as a
// file for a child.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "stage")
	conn, err := fileConn(os.NewFile(uintptr(fds[0]), "owner"))
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

// fileConn turns a socket into a connection and closes the file.
func fileConn(f *os.File) (*net.UnixConn, error) {
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("open socket: not a unix socket")
	}
	return conn, nil
}
