package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
)

// forwardPath is where a sandbox with an allow-list or a socket has our binary.
const forwardPath = "/run/yudai/forward"

// forward is one unix socket of the host that commands reach by TCP.
type forward struct {
	source  string // in the stage: the directory of the socket
	inside  string // where that is shown
	socket  string // its name there
	address string // at which commands reach it
}

// proxyForward and socketForward are those of Network.Allow and Network.Socket.
func proxyForward() forward {
	return forward{source: "proxy", inside: egress.DirInside, socket: egress.SocketInside, address: egress.Address}
}

func socketForward() forward {
	const dir = "/run/yudai/socket"
	return forward{source: "socket", inside: dir, socket: dir + "/" + sandbox.SocketName, address: sandbox.SocketAddress}
}

// forwarder is the command line that runs another one with its forwards.
func forwarder(forwards []forward, argv []string) []string {
	if len(forwards) == 0 {
		return argv
	}
	var pairs []string
	for _, f := range forwards {
		pairs = append(pairs, f.address+"="+f.socket)
	}
	return append([]string{forwardPath, forwardArg, strings.Join(pairs, ",")}, argv...)
}

// runForward listens on the sandbox's own loopback, hands every connection to
// the socket of its address, runs the command, and ends with its exit code as a
// shell would report it. Everything it has is inside the sandbox already.
func runForward(pairs string, argv []string) int {
	for _, pair := range strings.Split(pairs, ",") {
		address, socket, _ := strings.Cut(pair, "=")
		l, err := net.Listen("tcp", address) //nolint:noctx // it lives as long as this process
		if err != nil {
			fmt.Fprintln(os.Stderr, "yudai: no network:", err)
			return 126
		}
		go egress.Forward(l, socket)
	}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // the sandbox ends it together with this process
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
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
