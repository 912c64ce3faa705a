package local

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Inside a sandbox with an allow-list: the proxy's socket and the address
// where the forwarder offers it to programs.
const (
	proxyDirInside = "/run/yudai/proxy"
	proxySocket    = proxyDirInside + "/sock"
	forwardPath    = "/run/yudai/forward"
	proxyAddress   = "127.0.0.1:3128"
)

// runForward listens on the sandbox's own loopback, hands every connection to
// the proxy's socket, runs the command, and ends with its exit code as a shell
// would report it. Everything it has is inside the sandbox already.
func runForward(argv []string) int {
	l, err := net.Listen("tcp", proxyAddress) //nolint:noctx // it lives as long as this process
	if err != nil {
		fmt.Fprintln(os.Stderr, "yudai: no network:", err)
		return 126
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go forward(c)
		}
	}()
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // the sandbox ends it together with this process
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if st, ok := waitStatus(cmd); ok {
		if st.Signaled() {
			return 128 + int(st.Signal())
		}
		return st.ExitStatus()
	}
	fmt.Fprintln(os.Stderr, "yudai:", err)
	if errors.Is(err, os.ErrPermission) {
		return 126
	}
	return 127
}

// waitStatus returns how a command ended, if it ran.
func waitStatus(cmd *exec.Cmd) (syscall.WaitStatus, bool) {
	if cmd.ProcessState == nil {
		return 0, false
	}
	st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return st, ok
}

// forward copies one connection both ways.
func forward(c net.Conn) {
	defer func() { _ = c.Close() }()
	p, err := net.Dial("unix", proxySocket) //nolint:noctx // a local socket answers at once
	if err != nil {
		return
	}
	defer func() { _ = p.Close() }()
	var both sync.WaitGroup
	both.Go(func() { pipe(p, c) })
	both.Go(func() { pipe(c, p) })
	both.Wait()
}

// pipe copies until the end and passes the end on.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if w, ok := to.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
}
