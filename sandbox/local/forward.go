package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/yudai-dev/yudai/sandbox/egress"
)

// forwardPath is where a sandbox with an allow-list has our binary.
const forwardPath = "/run/yudai/forward"

// runForward listens on the sandbox's own loopback, hands every connection to
// the proxy's socket, runs the command, and ends with its exit code as a shell
// would report it. Everything it has is inside the sandbox already.
func runForward(argv []string) int {
	l, err := net.Listen("tcp", egress.Address) //nolint:noctx // it lives as long as this process
	if err != nil {
		fmt.Fprintln(os.Stderr, "yudai: no network:", err)
		return 126
	}
	go egress.Forward(l, egress.SocketInside)
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
