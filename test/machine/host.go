package machine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// hostAddress is the address inside that the n-th of Options.Hosts has.
func hostAddress(n int) string { return fmt.Sprintf("127.1.1.%d", n+1) }

// names are the hosts of a machine, in the order of their addresses.
func (o Options) names() []string { return slices.Sorted(maps.Keys(o.Hosts)) }

// writeHosts names the hosts in /etc/hosts, in which a machine looks all names up.
func writeHosts(o Options, root string) error {
	if len(o.Hosts) == 0 {
		return nil
	}
	text := etc["hosts"]
	for i, name := range o.names() {
		host, _, err := net.SplitHostPort(name)
		if err != nil {
			return err
		}
		text += hostAddress(i) + " " + host + "\n"
	}
	return os.WriteFile(filepath.Join(root, "etc/hosts"), []byte(text), 0o644)
}

// lead listens inside for connections to the hosts, and carries them out.
func (m *Machine) lead() error {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	m.cut = func() { cancel(); work.Wait() }
	for i, name := range m.o.names() {
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			return err
		}
		l, err := m.listen(net.JoinHostPort(hostAddress(i), port))
		if err != nil {
			return fmt.Errorf("lead to %s: %w", name, err)
		}
		context.AfterFunc(ctx, func() { _ = l.Close() })
		work.Go(func() {
			for {
				in, err := l.Accept()
				if err != nil {
					return
				}
				work.Go(func() { m.carry(ctx, in.(*net.TCPConn), host, m.o.Hosts[name]) })
			}
		})
	}
	return nil
}

// listen listens in the machine's network.
func (m *Machine) listen(address string) (l net.Listener, err error) {
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		runtime.LockOSThread() // for good: a thread that has been inside ends with its goroutine
		if err = unix.Setns(int(m.spaces[slices.Index(namespaces(), "net")].Fd()), unix.CLONE_NEWNET); err == nil {
			l, err = new(net.ListenConfig).Listen(context.Background(), "tcp4", address)
		}
	}()
	<-listening
	return l, err
}

// carry carries a connection from inside to an address of the host, if the rules allow its name now.
func (m *Machine) carry(ctx context.Context, in *net.TCPConn, host, address string) {
	defer func() { _ = in.Close() }()
	if m.o.Allowed == nil || !names(m.o.Allowed(), host) {
		_ = in.SetLinger(0) // a reset: the program inside sees it at once
		return
	}
	dialled, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	out := dialled.(*net.TCPConn)
	defer func() { _ = out.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(in, out)
		_ = in.CloseWrite()
	})
	_, _ = io.Copy(out, in)
	_ = out.CloseWrite()
	back.Wait()
}

// names reports whether a rule names the host: by its name, or as *.domain.
func names(rules []string, host string) bool {
	return slices.ContainsFunc(rules, func(rule string) bool {
		domain, below := strings.CutPrefix(rule, "*")
		return rule == host || below && strings.HasPrefix(domain, ".") && strings.HasSuffix(host, domain)
	})
}
