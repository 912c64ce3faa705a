package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox/output"
)

// errHelper says that the helper process of a sandbox ended unexpectedly.
var errHelper = errors.New("sandbox helper ended")

// helper is our side of a helper process.
type helper struct {
	conn    *net.UnixConn
	left    chan struct{} // closed when the process is gone, or is another owner's
	stderr  *output.Tail
	answers chan answer
	disk    *diskMeter // of the sandbox whose inside it keeps

	asking sync.Mutex // one request at a time
	last   uint64
}

// newHelper returns our side of a connection.
func newHelper(conn *net.UnixConn) *helper {
	h := &helper{conn: conn, left: make(chan struct{}), stderr: &output.Tail{Most: tailSize}, answers: make(chan answer, 8)}
	go h.receive()
	return h
}

// startHelper starts a helper and lets it make its mounts. It ends with its owner and with
// close, unless something that was launched needs it.
func startHelper(ctx context.Context, uid int, c setup, files []*os.File) (*helper, answer, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, answer{}, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = conn.Close()
		_ = theirs.Close()
		return nil, answer{}, fmt.Errorf("make pipe: %w", err)
	}
	h := newHelper(conn)
	go func() {
		_, _ = io.Copy(h.stderr, errR)
		_ = errR.Close()
	}()
	cmd := helperCommand(uid, c.Marker, theirs, errW)
	err = cmd.Start()
	closeAll(theirs, errW)
	if err != nil {
		_ = conn.Close()
		return nil, answer{}, fmt.Errorf("start sandbox helper: %w", err)
	}
	go func() { _ = cmd.Wait() }()
	a, err := h.ask(ctx, request{Op: opSetup, Setup: &c}, files)
	if err != nil {
		h.close()
		return nil, answer{}, fmt.Errorf("set up sandbox: %w", err)
	}
	return h, a, nil
}

// helperCommand describes the process: this binary again, in a new user and mount
// namespace whose root is an unprivileged uid, with an empty environment and a session of
// its own, so that no terminal's signal reaches it.
func helperCommand(uid int, marker string, socket, stderr *os.File) *exec.Cmd {
	host, gid := uid, uid
	if uid < 0 {
		host, gid = os.Geteuid(), os.Getegid()
	}
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{helperArg, marker}, Env: []string{}, Dir: "/",
		Stderr: stderr, ExtraFiles: []*os.File{socket},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:                 syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: host, Size: 1}},
			GidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
			GidMappingsEnableSetgroups: uid >= 0,
			Credential:                 &syscall.Credential{Uid: 0, Gid: 0, NoSetGroups: uid < 0},
			Setsid:                     true,
		},
	}
}

// receive hands answers to who waits for them, until the process is gone.
func (h *helper) receive() {
	defer close(h.left)
	buf := make([]byte, 64<<10)
	for {
		n, err := h.conn.Read(buf)
		var a answer
		if err != nil || n == 0 || json.Unmarshal(buf[:n], &a) != nil {
			return
		}
		select {
		case h.answers <- a:
		default: // nobody waits for any of them
		}
	}
}

// ask sends a request and waits for its answer.
func (h *helper) ask(ctx context.Context, r request, files []*os.File) (answer, error) {
	h.asking.Lock()
	defer h.asking.Unlock()
	h.last++
	r.ID = h.last
	if err := sendRequest(h.conn, r, files); err != nil {
		if !h.alive() {
			err = h.gone()
		}
		return answer{}, err
	}
	for {
		select {
		case a := <-h.answers:
			if a.ID != r.ID {
				continue // to one that nobody waited for
			}
			if a.Err != "" {
				return a, errors.New(a.Err)
			}
			return a, nil
		case <-h.left:
			return answer{}, h.gone()
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
	}
}

// alive reports whether the process is still ours.
func (h *helper) alive() bool {
	select {
	case <-h.left:
		return false
	default:
		return true
	}
}

// gone is the error of a helper that ended by itself.
func (h *helper) gone() error {
	if text := strings.TrimSpace(h.stderr.String()); text != "" {
		return fmt.Errorf("%w: %s", errHelper, text)
	}
	return errHelper
}

// close leaves the process to itself: it ends, unless something that was launched runs.
func (h *helper) close() { _ = h.conn.Close() }

// tailSize is how much is kept of what a helper wrote to its standard error.
const tailSize = 2048

// hostSource opens a place of the host for a helper. As root it becomes a
// detached mount, so that the helper's unprivileged uid need not be able to walk
// there (the state directory may lie in /root). An ordinary user may not make
// one, but the helper then has that user's rights and a path is enough.
func hostSource(name, path string, dir, recursive bool, files *[]*os.File) source {
	src := source{Name: name, FD: -1, Path: path, Dir: dir}
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, flags)
	if err != nil {
		return src
	}
	src.FD = len(*files)
	*files = append(*files, os.NewFile(uintptr(fd), path))
	return src
}
