package egress

import (
	"net"
	"sync"

	"github.com/yudai-dev/yudai/internal/unixsock"
)

// Inside a sandbox with an allow-list: where the proxy's directory is shown, its
// socket in it, and the address at which the forwarder offers it to programs.
const (
	DirInside    = "/run/yudai/proxy"
	SocketInside = DirInside + "/" + unixsock.Name
	Address      = "127.0.0.1:3128"
)

// Forward hands every connection to the proxy's socket until the listener is
// closed. It runs inside the sandbox, on its own loopback.
func Forward(l net.Listener, socket string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go forward(c, socket)
	}
}

// forward copies one connection both ways.
func forward(c net.Conn, socket string) {
	defer func() { _ = c.Close() }()
	p, err := net.Dial("unix", socket) //nolint:noctx // a local socket answers at once
	if err != nil {
		return
	}
	defer func() { _ = p.Close() }()
	var both sync.WaitGroup
	both.Go(func() { pipe(p, c) })
	both.Go(func() { pipe(c, p) })
	both.Wait()
}
