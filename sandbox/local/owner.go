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
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errStage says that the helper process of a sandbox ended unexpectedly.
var errStage = errors.New("sandbox helper ended")

// helper is our side of a stage process.
type helper struct {
	conn   *net.UnixConn
	stays  bool          // the process may outlive us, or be another owner's next
	dead   chan struct{} // closed when the process is gone, or if it stays when it left us
	once   sync.Once
	stderr *tail

	send    sync.Mutex
	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan reply
}

// newHelper returns our side of a connection.
func newHelper(conn *net.UnixConn, stays bool) *helper {
	return &helper{conn: conn, stays: stays, dead: make(chan struct{}), stderr: &tail{}, waiting: make(map[uint64]chan reply)}
}

// startHelper starts a stage and lets it make its mounts. The stage ends with
// this process and with close. With calls, a socket at which later owners call, it
// ends by itself when it has neither an owner nor something launched to care for.
func startHelper(ctx context.Context, uid int, c setup, files []*os.File, calls *os.File) (*helper, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = conn.Close()
		_ = theirs.Close()
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	h := newHelper(conn, calls != nil)
	go func() {
		_, _ = io.Copy(h.stderr, errR)
		_ = errR.Close()
	}()
	cmd := stageCommand(uid, c.Marker, theirs, errW)
	if calls != nil {
		stay(cmd, c.Keep, calls)
	}
	started := make(chan error, 1)
	go h.run(cmd, started, theirs, errW)
	if err := <-started; err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("start sandbox helper: %w", err)
	}
	go h.receive()
	if _, err := h.ask(ctx, request{Op: opSetup, Setup: &c}, files); err != nil {
		h.close()
		return nil, fmt.Errorf("set up sandbox: %w", err)
	}
	return h, nil
}

// stay makes a stage outlive its owner: no signal at our death, and a session of its
// own, so that no terminal's signal reaches it.
func stay(cmd *exec.Cmd, keep string, calls *os.File) {
	cmd.Args = []string{stageArg, keep, stayArg}
	cmd.ExtraFiles = append(cmd.ExtraFiles, calls)
	cmd.SysProcAttr.Pdeathsig = 0
	cmd.SysProcAttr.Setsid = true
}

// stageCommand describes the process: this binary again, in a new user and
// mount namespace whose root is an unprivileged uid, with an empty environment.
func stageCommand(uid int, marker string, socket, stderr *os.File) *exec.Cmd {
	host := uid
	if uid < 0 {
		host = os.Geteuid()
	}
	gid := host
	if uid < 0 {
		gid = os.Getegid()
	}
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{stageArg, marker}, Env: []string{}, Dir: "/",
		Stderr: stderr, ExtraFiles: []*os.File{socket},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:                 syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: host, Size: 1}},
			GidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
			GidMappingsEnableSetgroups: uid >= 0,
			Credential:                 &syscall.Credential{Uid: 0, Gid: 0, NoSetGroups: uid < 0},
			Pdeathsig:                  syscall.SIGKILL,
		},
	}
}

// run starts the process and waits for it on one locked thread: the
// parent-death signal fires when the thread that forked ends.
func (h *helper) run(cmd *exec.Cmd, started chan<- error, files ...*os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	closeAll(files...)
	started <- err
	if err == nil {
		_ = cmd.Wait()
	}
	h.die()
}

// die lets all who wait know that there will be no reply.
func (h *helper) die() {
	h.once.Do(func() { close(h.dead) })
	_ = h.conn.Close()
}

// receive hands replies to those who wait for them.
func (h *helper) receive() {
	buf := make([]byte, 64<<10)
	for {
		n, err := h.conn.Read(buf)
		if err != nil || n == 0 {
			if h.stays {
				h.die()
			}
			return
		}
		var r reply
		if json.Unmarshal(buf[:n], &r) != nil {
			continue
		}
		h.mu.Lock()
		c := h.waiting[r.ID]
		if r.Kind != kindStarted {
			delete(h.waiting, r.ID)
		}
		h.mu.Unlock()
		if c != nil {
			c <- r // has room for all replies of a request
		}
	}
}

// call sends a request; its replies come through the channel.
func (h *helper) call(r request, files []*os.File) (<-chan reply, error) {
	c := make(chan reply, 2)
	h.mu.Lock()
	h.next++
	r.ID = h.next
	h.waiting[r.ID] = c
	h.mu.Unlock()
	h.send.Lock()
	err := sendRequest(h.conn, r, files)
	h.send.Unlock()
	if err != nil {
		h.mu.Lock()
		delete(h.waiting, r.ID)
		h.mu.Unlock()
		if !h.alive() {
			return nil, h.gone()
		}
		return nil, err
	}
	return c, nil
}

// ask sends a request and waits for its only reply.
func (h *helper) ask(ctx context.Context, r request, files []*os.File) (reply, error) {
	c, err := h.call(r, files)
	if err != nil {
		return reply{}, err
	}
	select {
	case got := <-c:
		if got.Err != "" {
			return got, errors.New(got.Err)
		}
		return got, nil
	case <-h.dead:
		return reply{}, h.gone()
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// alive reports whether the process still runs.
func (h *helper) alive() bool {
	select {
	case <-h.dead:
		return false
	default:
		return true
	}
}

// gone is the error of a helper that ended by itself.
func (h *helper) gone() error {
	if text := strings.TrimSpace(h.stderr.String()); text != "" {
		return fmt.Errorf("%w: %s", errStage, text)
	}
	return errStage
}

// close ends the process, and with it whatever it started. One that stays ends our
// commands only, and itself if nothing launched runs.
func (h *helper) close() {
	_ = h.conn.Close()
	select {
	case <-h.dead:
	case <-time.After(killPatience):
	}
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 2048

// Write keeps the end of p.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// hostSource opens a place of the host for a stage. As root it becomes a
// detached mount, so that the stage's unprivileged uid need not be able to walk
// there (the state directory may lie in /root). An ordinary user may not make
// one, but the stage then has that user's rights and a path is enough.
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
