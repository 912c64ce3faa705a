package local

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/output"
)

// helperArg is argv[0] of a helper process. The rest of argv is the marker, by which later
// owners find it.
const helperArg = "__yudai-sandbox-helper"

// Stage must be the first call of main, and of TestMain in a package whose
// tests use the driver. In an ordinary process it returns at once. In a
// process that the driver started as its helper (the binary executes itself)
// it does that helper's work and never returns.
func Stage() {
	if len(os.Args) >= 2 && os.Args[0] == helperArg {
		os.Exit(runHelper())
	}
}

// private is where a helper mounts its own tmpfs: a directory every Linux has,
// hidden from everybody else because the mount namespace is its own.
const private = "/tmp"

// helperProcess is the state of a helper process: it is in a user namespace whose
// root is the sandbox's unprivileged uid, and in its own mount namespace.
type helperProcess struct {
	setup setup
	over  chan struct{}
	end   func() // closes over
	child int    // the first process inside, as the host sees it

	mu    sync.Mutex
	owner *net.UnixConn // nil while there is none
	leave func()        // ends what stands in for an owner
}

// runHelper serves requests until the owner is gone, and until nothing that was launched
// runs either.
func runHelper() int {
	runtime.LockOSThread() // bubblewrap ends with the thread that started it
	unix.Umask(0o022)
	conn, err := fileConn(os.NewFile(3, "owner"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r, files, err := receiveRequest(conn)
	if err != nil || r.Op != opSetup || r.Setup == nil {
		return 1
	}
	p := &helperProcess{setup: *r.Setup, over: make(chan struct{}), owner: conn}
	p.end = sync.OnceFunc(func() { close(p.over) })
	err = p.begin(files)
	closeAll(files...)
	sendAnswer(conn, answer{ID: r.ID, Number: int64(p.child)}, err)
	if err != nil {
		return 1
	}
	go p.serve(conn)
	<-p.over
	return 0 // what we started dies with us
}

// begin makes the mounts, and starts what is wanted in them.
func (p *helperProcess) begin(files []*os.File) error {
	if err := p.prepare(files); err != nil || p.setup.Start == nil {
		return err
	}
	if len(files) < startFiles {
		return errors.New("incomplete setup request")
	}
	if err := p.start(files[:startFiles-1]); err != nil {
		return err
	}
	return p.listen(files[startFiles-1])
}

// start starts bubblewrap, which waits for the block pipe before it executes the first
// process inside, and puts resource limits on it.
func (p *helperProcess) start(files []*os.File) error {
	r, status, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make status pipe: %w", err)
	}
	defer func() { _ = status.Close() }()
	c, said := p.setup.Start, &output.Tail{Most: tailSize}
	cmd := &exec.Cmd{
		Path: c.Bwrap, Args: append([]string{p.setup.Marker, "--args", fmt.Sprint(argsFD), "--"}, c.Argv...), Env: []string{}, Dir: "/",
		Stderr: said, ExtraFiles: append(files[:len(files):len(files)], status),
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.Bwrap, err)
	}
	_ = status.Close()
	go func() {
		_ = cmd.Wait()
		p.end()
	}()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var st struct {
			Child int `json:"child-pid"`
		}
		if json.Unmarshal(lines.Bytes(), &st) == nil && st.Child > 0 {
			p.child = st.Child
			return limitProcess(st.Child, c.Rlimits)
		}
	}
	<-p.over
	return fmt.Errorf("sandbox could not be built: %s", strings.TrimSpace(said.String()))
}

// limitProcess puts resource limits on a process of ours that has not started
// its program yet. A limit above the hard one is lowered to it.
func limitProcess(pid int, limits []rlimit) error {
	for _, l := range limits {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, l.Resource, nil, &old); err != nil {
			return fmt.Errorf("read resource limit %d: %w", l.Resource, err)
		}
		v := min(l.Value, old.Max)
		if err := unix.Prlimit(pid, l.Resource, &unix.Rlimit{Cur: v, Max: v}, nil); err != nil {
			return fmt.Errorf("set resource limit %d: %w", l.Resource, err)
		}
	}
	return nil
}

// serve serves one owner until it closes its connection, dies or is replaced.
func (p *helperProcess) serve(conn *net.UnixConn) {
	for {
		r, files, err := receiveRequest(conn)
		if err != nil {
			break
		}
		closeAll(files...)
		a := answer{ID: r.ID}
		switch r.Op {
		case opUsage:
			a.Number, err = treeUsage(p.upper())
		case opStamp:
			a.Text, err = treeStamp(p.upper() + "/workspace/repo")
		case opCopy:
			err = copyTree(private+"/"+p.setup.Lower[0]+"/data", p.upper())
		default:
			err = fmt.Errorf("unknown request %q", r.Op)
		}
		sendAnswer(conn, a, err)
	}
	_ = conn.Close()
	p.lose(conn)
}

// lose ends the process when its owner is gone, unless something launched needs it.
func (p *helperProcess) lose(conn *net.UnixConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owner != conn {
		return
	}
	p.owner = nil
	if p.setup.Start == nil || !p.setup.Start.Launch {
		p.end()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan struct{})
	p.leave = func() {
		cancel()
		<-left
	}
	go func() {
		defer close(left)
		p.standIn(ctx)
		if ctx.Err() == nil {
			p.end()
		}
	}()
}

// standInterval is how often it is looked whether what was launched still runs.
const standInterval = time.Second

// standIn takes the place of a dead owner: it ends the owner's commands, and measures the
// disk as long as something launched runs and the sandbox was not removed.
func (p *helperProcess) standIn(ctx context.Context) {
	c := p.setup.Start
	disk := &diskMeter{limits: c.Disk, dir: p.upper(), share: 20, walk: func(context.Context) (int64, error) {
		return treeUsage(p.upper())
	}}
	h, err := guest.Attach(ctx, &firstProcess{dir: private + "/" + boxName, left: p.over}, guest.Options{
		Name: p.setup.Marker, Token: strings.ToLower(rand.Text()), Program: c.Argv[0], Launch: true,
		Disk: disk.used, DiskLimit: c.Disk.Most, DiskEvery: diskInterval,
	})
	if err != nil {
		return
	}
	defer h.End(nil)
	for {
		if runs, err := h.Launched(ctx); err != nil || !runs || clock.Sleep(ctx, standInterval) != nil {
			return
		}
		if _, err := os.Lstat(private + "/" + boxName + "/" + recordFile); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// listen lets later owners call.
func (p *helperProcess) listen(socket *os.File) error {
	l, err := net.FileListener(socket)
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
			go p.welcome(conn)
		}
	}()
	return nil
}

// helloTimeout is how long a caller may take to introduce itself.
const helloTimeout = 10 * time.Second

// welcome makes whoever calls and knows the sandbox its owner.
func (p *helperProcess) welcome(conn *net.UnixConn) {
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout))
	r, files, err := receiveRequest(conn)
	closeAll(files...)
	if err == nil && r.Op == opHello && r.Hello != nil {
		_ = conn.SetReadDeadline(time.Time{})
		err = p.handOver(conn, *r.Hello)
		sendAnswer(conn, answer{ID: r.ID, Number: int64(p.child)}, err)
		if err == nil {
			p.serve(conn)
			return
		}
	}
	_ = conn.Close()
}

// handOver replaces the owner. Its commands end when the new one attaches inside.
func (p *helperProcess) handOver(conn *net.UnixConn, h hello) error {
	switch {
	case h.Protocol != helperProtocol:
		return fmt.Errorf("the helper speaks protocol %d, not %d", helperProtocol, h.Protocol)
	case h.Marker != p.setup.Marker:
		return errors.New("the helper is another sandbox's")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leave != nil {
		p.leave()
		p.leave = nil
	}
	select {
	case <-p.over:
		return errors.New("the helper is at its end")
	default:
	}
	if p.owner != nil {
		_ = p.owner.Close()
	}
	p.owner = conn
	return nil
}
