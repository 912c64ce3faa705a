package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A helper and its owner speak over a sequenced-packet socket, one request at a time. A
// request is a packet whose first descriptor is a memory file with JSON, so that size and
// secrets never meet the socket's buffer or argv. The others belong to the operation. An
// answer is a small JSON packet.

// op names what a helper is asked to do.
type op string

const (
	opSetup op = "setup" // mount everything and start bubblewrap; first and only once
	opHello op = "hello" // a new owner takes over; first and only once on its connection
	opUsage op = "usage" // bytes of disk the sandbox uses
	opStamp op = "stamp" // a value that changes with the work tree
	opCopy  op = "copy"  // copy the base instead of mounting an overlay
)

// helperProtocol changes whenever a helper of one version of yudai cannot serve an owner
// of another: then nothing that was launched survives the change of version. An
// incompatible change of package guest/protocol must change it, too: the program inside is as
// old as the helper.
const helperProtocol = 2

// request is what the owner sends to a helper.
type request struct {
	ID    uint64 `json:"id"`
	Op    op     `json:"op"`
	Setup *setup `json:"setup,omitempty"`
	Hello *hello `json:"hello,omitempty"`
}

// answer is what a helper says to a request.
type answer struct {
	ID     uint64 `json:"id"`
	Err    string `json:"err,omitempty"`
	Number int64  `json:"number,omitempty"`
	Text   string `json:"text,omitempty"`
}

// hello is how a new owner introduces itself to a helper that outlived the old one.
type hello struct {
	Protocol int    `json:"protocol"`
	Marker   string `json:"marker"` // as in setup: only who can read the record knows it
}

// setup describes the mounts of one helper, and what it starts in them. All names are
// below the private directory of the helper.
type setup struct {
	Marker  string            `json:"marker"` // names the sandbox's processes for later owners
	Sources []source          `json:"sources"`
	Lower   []string          `json:"lower,omitempty"` // source names, newest first
	Overlay bool              `json:"overlay"`
	Files   map[string]string `json:"files"` // contents of the few files of /etc that we make
	Etc     []string          `json:"etc"`   // what is shown of the host's /etc
	Start   *startup          `json:"start,omitempty"`
}

// startup describes the first process inside. The first descriptors of its request are:
// arguments of bubblewrap, system call filter, block pipe, the socket at which the first
// process takes calls, the one at which the helper does.
type startup struct {
	Bwrap   string     `json:"bwrap"`
	Argv    []string   `json:"argv"`
	Rlimits []rlimit   `json:"rlimits"`
	Launch  bool       `json:"launch"` // it stays without its owner while something launched runs
	Disk    diskLimits `json:"disk"`
}

// startFiles is how many descriptors of a setup belong to its startup.
const startFiles = 5

// source is one thing of the host that the helper makes reachable by a name:
// a detached mount (as root), or a path (as an ordinary user, whose own rights
// decide).
type source struct {
	Name string `json:"name"`
	FD   int    `json:"fd"` // index among the descriptors of the packet, -1: use Path
	Path string `json:"path,omitempty"`
	Dir  bool   `json:"dir"`
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
	callsFD   = 6
	statusFD  = 7
)

// memFile returns an anonymous memory file with that content, at offset 0.
func memFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write memory file: %w", err)
	}
	return f, nil
}

// sendPacket sends a packet with descriptors.
func sendPacket(conn *net.UnixConn, data []byte, files ...*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if err := conn.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	if _, _, err := conn.WriteMsgUnix(data, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return nil
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
	return sendPacket(conn, []byte{'r'}, append([]*os.File{mem}, files...)...)
}

// maxFDs is how many descriptors one packet may carry (the kernel's limit).
const maxFDs = 253

// receiveRequest reads one request; the descriptors belong to the caller.
func receiveRequest(conn *net.UnixConn) (r request, files []*os.File, err error) {
	buf, oob := make([]byte, 16), make([]byte, unix.CmsgSpace(4*maxFDs))
	n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return r, nil, fmt.Errorf("receive request: %w", err)
	}
	if n == 0 {
		return r, nil, io.EOF
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(msgs) != 1 {
		return r, nil, errors.New("receive request: no content")
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return r, nil, fmt.Errorf("receive request: %w", err)
	}
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "received"))
	}
	content, files := files[0], files[1:]
	defer func() { _ = content.Close() }()
	body, err := io.ReadAll(io.NewSectionReader(content, 0, 1<<30))
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err != nil {
		closeAll(files...)
		return r, nil, fmt.Errorf("read request: %w", err)
	}
	return r, files, nil
}

// sendAnswer answers a request; a lost owner is noticed by the reading side.
func sendAnswer(conn *net.UnixConn, a answer, err error) {
	if err != nil {
		a.Err = err.Error()
	}
	if body, err := json.Marshal(a); err == nil {
		_, _ = conn.Write(body)
	}
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
	theirs := os.NewFile(uintptr(fds[1]), "helper")
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

// Sockets in a sandbox's directory, which only its owner and the helper see.
const (
	helperSocket = "helper.sock" // the next owner calls the helper
	callsSocket  = "calls.sock"  // the owner calls the first process inside
)

// dialIn connects to a socket in a directory. The path of a socket is limited to 107
// bytes, so it goes through a descriptor.
func dialIn(dir, name string) (*net.UnixConn, error) {
	at, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("call the sandbox: %w", err)
	}
	defer func() { _ = at.Close() }()
	conn, err := net.DialUnix("unixpacket", nil, socketAddr(at, name))
	if err != nil {
		return nil, fmt.Errorf("call the sandbox: %w", err)
	}
	return conn, nil
}

func socketAddr(dir *os.File, name string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixpacket", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)}
}

// listenIn makes a socket in a directory, in the place of a dead one. It belongs to the
// user uid, if that is not negative.
func listenIn(dir, name string, uid int) (*os.File, error) {
	at, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("listen for calls: %w", err)
	}
	defer func() { _ = at.Close() }()
	_ = os.Remove(filepath.Join(dir, name))
	l, err := net.ListenUnix("unixpacket", socketAddr(at, name))
	if err != nil {
		return nil, fmt.Errorf("listen for calls: %w", err)
	}
	defer func() { _ = l.Close() }()
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(filepath.Join(dir, name), 0o600), os.Lchown(filepath.Join(dir, name), uid, uid)); err != nil {
		return nil, fmt.Errorf("listen for calls: %w", err)
	}
	f, err := l.File()
	if err != nil {
		return nil, fmt.Errorf("listen for calls: %w", err)
	}
	return f, nil
}
