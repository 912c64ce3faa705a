// Package egress is the only way out of a sandbox whose network has an
// allow-list: an HTTP proxy (CONNECT and plain HTTP) on the host's side. It
// knows nothing of drivers: whoever has a way to bring a socket into a sandbox
// serves it there.
//
// A name is allowed or not; then the proxy itself resolves it and refuses
// addresses that are not public, at the moment of dialling, so that a name
// cannot point at one address when checked and at another when used.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/internal/unixsock"
)

// Inside a sandbox with an allow-list: where the proxy's directory is shown, its
// socket in it, and the address at which the forwarder offers it to programs.
const (
	DirInside    = "/run/yudai/proxy"
	SocketInside = DirInside + "/" + unixsock.Name
	Address      = "127.0.0.1:3128"
)

// Resolver finds addresses; net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options say what a proxy lets through. Only Allow is needed.
type Options struct {
	// Allow are host names: exact, or "*.example.org" for every name below it.
	Allow []string
	// AllowPrivate are ranges that an allowed name may lead to although they are
	// not public.
	AllowPrivate []netip.Prefix
	// Resolver and Dial replace the system's in tests.
	Resolver Resolver
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

// Proxy is one allow-list being served.
type Proxy struct {
	options Options // complete
	server  *http.Server
	done    chan struct{} // closed when it serves no more
	ended   error         // why, before Close

	mu      sync.Mutex
	refused []string
	tunnels map[net.Conn]struct{}
	closed  bool
}

// maxRefused bounds what is remembered of refused hosts.
const maxRefused = 100

// Listen serves a proxy on a unix socket in an existing directory, which is to be shown inside
// one sandbox. The directory is opened to everybody who can see it: its parent is to be
// private. The socket of a dead owner is replaced.
func Listen(dir string, o Options) (*Proxy, error) {
	l, err := unixsock.Listen(dir)
	if err != nil {
		return nil, fmt.Errorf("serve proxy: %w", err)
	}
	return Serve(l, o), nil
}

// Serve serves a proxy on a listener until Close.
func Serve(l net.Listener, o Options) *Proxy {
	p := &Proxy{options: o, done: make(chan struct{}), tunnels: make(map[net.Conn]struct{})}
	p.options.Allow = nil
	for _, a := range o.Allow {
		p.options.Allow = append(p.options.Allow, canonical(a))
	}
	if o.Resolver == nil {
		p.options.Resolver = net.DefaultResolver
	}
	if o.Dial == nil {
		p.options.Dial = (&net.Dialer{Timeout: 15 * time.Second}).DialContext
	}
	p.server = &http.Server{Handler: p.handler(), ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(p.done)
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.ended = fmt.Errorf("serve egress proxy: %w", err)
		}
	}()
	return p
}

// Close ends all connections, tunnels included, and waits for the server. It may be called twice.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.tunnels {
		_ = c.Close()
	}
	p.mu.Unlock()
	err := p.server.Close()
	<-p.done
	if err != nil {
		err = fmt.Errorf("close egress proxy: %w", err)
	}
	return errors.Join(err, p.ended)
}

// Refused lists what was asked for and refused, each host once, in order.
func (p *Proxy) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refused)
}

// refusal is an error that the client caused.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

// refuse remembers a host and returns the error for it.
func (p *Proxy) refuse(host, why string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < maxRefused && !slices.Contains(p.refused, host) {
		p.refused = append(p.refused, host)
	}
	return refusal{fmt.Sprintf("yudai: %s is not reachable from here: %s", host, why)}
}

// canonical is a host name as it is compared.
func canonical(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// allowed reports whether a host is on the list.
func (p *Proxy) allowed(host string) bool {
	host = canonical(host)
	return slices.ContainsFunc(p.options.Allow, func(a string) bool {
		if rest, ok := strings.CutPrefix(a, "*"); ok && strings.HasPrefix(rest, ".") {
			return strings.HasSuffix(host, rest) && len(host) > len(rest)
		}
		return host == a
	})
}

// connect opens a connection to an allowed host.
func (p *Proxy) connect(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refusal{"yudai: bad address"}
	}
	if !p.allowed(host) {
		return nil, p.refuse(host, "it is not on the allow-list")
	}
	if port != "80" && port != "443" {
		return nil, p.refuse(host, "only the ports 80 and 443 are open")
	}
	addrs, err := p.options.Resolver.LookupNetIP(ctx, "ip", canonical(host))
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	var last error
	for _, a := range addrs {
		if !p.open(a) {
			continue
		}
		c, err := p.options.Dial(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return c, nil
		}
		last = err
	}
	if last == nil {
		return nil, p.refuse(host, "it leads to a private address")
	}
	return nil, fmt.Errorf("connect to %s: %w", host, last)
}

// open reports whether an address may be dialled.
func (p *Proxy) open(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	return slices.ContainsFunc(p.options.AllowPrivate, func(r netip.Prefix) bool { return r.Contains(a) }) || Public(a)
}

// Public reports whether an address may be dialled where no range was opened.
func Public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(closedRanges(), func(r netip.Prefix) bool { return r.Contains(a) })
}

// closedRanges are the special-purpose addresses (IANA registries, RFC 6890 and
// its successors) that netip's own predicates do not cover, and one public
// address where a cloud keeps its metadata.
func closedRanges() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10", "3fff::/20", "5f00::/16",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// CheckRanges reports what [Ranges] refuses in the setting allow_private.
func CheckRanges(texts []string, report setting.Report) {
	for i, s := range texts {
		if _, err := Ranges([]string{s}); err != nil {
			report(fmt.Sprintf("allow_private.%d", i), err.Error())
		}
	}
}

// Ranges reads address ranges like 10.1.0.0/16.
func Ranges(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range texts {
		r, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%q is not an address range like 10.1.0.0/16", s)
		}
		out = append(out, r)
	}
	return out, nil
}
