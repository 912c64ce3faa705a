//go:build linux

package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// forward offers unix sockets at addresses of the container's own loopback, as long as
// this process lives. A way is an address and a socket, with a space between.
func forward(r protocol.Request) {
	var all sync.WaitGroup
	for _, way := range r.Ways {
		address, socket, _ := strings.Cut(way, " ")
		l, err := listen(address)
		if err != nil {
			os.Exit(1)
		}
		all.Go(func() { accept(l, socket) })
	}
	all.Wait()
	os.Exit(1)
}

// loopback is an address like 127.0.0.1:80 in the kernel's form.
func loopback(address string) (*syscall.SockaddrInet4, error) {
	_, port, _ := strings.Cut(address, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	return &syscall.SockaddrInet4{Port: int(n), Addr: [4]byte{127, 0, 0, 1}}, err
}

func listen(address string) (*os.File, error) {
	at, err := loopback(address)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return nil, err
	}
	if err := syscall.Bind(fd, at); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), address), syscall.Listen(fd, 1024)
}

// accept hands every connection to the socket.
func accept(l *os.File, socket string) {
	raw, err := l.SyscallConn()
	for err == nil {
		fd, failed := -1, error(nil)
		err = raw.Read(func(listener uintptr) bool {
			fd, _, failed = syscall.Accept4(int(listener), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
			return failed != syscall.EAGAIN //nolint:errorlint // a bare number of the kernel's
		})
		if err == nil && failed == nil {
			go carry(os.NewFile(uintptr(fd), "connection"), socket)
		} else if err == nil { // too many open files, perhaps
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// carry copies one connection both ways.
func carry(c *os.File, socket string) {
	defer c.Close()
	out, err := connect(socket)
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(out, c) })
	both.Go(func() { copyHalf(c, out) })
	both.Wait()
}

func connect(socket string) (*os.File, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		closeFd(fd)
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // before NewFile, which looks at it
		closeFd(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), socket), nil
}

// copyHalf copies one direction and passes its end on.
func copyHalf(to, from *os.File) {
	_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
	if raw, err := to.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_WR) })
	}
}

// dial answers whether somebody listens at a socket.
func dial(r protocol.Request) protocol.Answer {
	c, err := connect(r.File)
	if err != nil {
		return failed(err.Error())
	}
	_ = c.Close()
	return protocol.Answer{Result: protocol.OK}
}

// awaitForwarder waits until something listens at every address of the ways.
func awaitForwarder(r protocol.Request, meanwhile func()) protocol.Answer {
	for _, way := range r.Ways {
		address, _, _ := strings.Cut(way, " ")
		listening := within(10*time.Second, func() bool {
			meanwhile()
			return listens(address)
		})
		if !listening {
			return protocol.Answer{Result: protocol.Unavailable, Detail: "nothing listens at " + address + " inside"}
		}
	}
	return opened()
}

func listens(address string) bool {
	at, err := loopback(address)
	if err != nil {
		return false
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer closeFd(fd)
	return syscall.Connect(fd, at) == nil
}
