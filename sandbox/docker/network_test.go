package docker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
)

// public resolves every name to a public address.
type public struct{}

func (public) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

// internet is one web server that stands for all of it.
func internet(t *testing.T, d *docker.Driver) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello from "+r.Host)
	}))
	t.Cleanup(web.Close)
	d.SetNetwork(public{}, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, web.Listener.Addr().String())
	})
}

// fetch asks as package managers do, by the proxy variables.
const fetch = `python3 -c '
import urllib.request, urllib.error
for host in ("allowed.test", "denied.test"):
    try: print(urllib.request.urlopen("http://" + host + "/x", timeout=20).read().decode())
    except urllib.error.HTTPError as e: print(e.code)
'`

// TestAllowList goes through forwarder, socket and proxy; a new owner of the
// sandbox serves it as the old one did, and a fork has no network.
func TestAllowList(t *testing.T) {
	t.Parallel()
	c, book := config(t), newBook(t)
	old := driver(t, c, book)
	internet(t, old)
	sb := open(t, old, sandbox.Spec{Name: "net", Network: sandbox.Network{Allow: []string{"allowed.test"}}})
	const want = "hello from allowed.test\n403"
	if got := output(t, sb, fetch); got != want {
		t.Errorf("got %q", got)
	}
	if got := sb.(sandbox.Refuser).Refused(); !slices.Equal(got, []string{"denied.test"}) {
		t.Errorf("refused %q", got)
	}
	next := driver(t, c, book)
	internet(t, next)
	again, err := next.Attach(t.Context(), "net")
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, again, fetch); got != want {
		t.Errorf("with a new owner: %q", got)
	}
	base, err := next.Freeze(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	fork := open(t, next, sandbox.Spec{Name: "fork", From: base})
	if got := output(t, fork, "env | grep -iE '^https?_proxy'; ls -A /run/yudai/proxy; tail -n +3 /proc/net/dev | grep -v lo:; true"); got != "" {
		t.Errorf("network in a fork: %q", got)
	}
	for _, bad := range []string{"", "*", "10.0.0.1"} {
		if sb, err := next.Open(t.Context(), sandbox.Spec{Name: "bad", Network: sandbox.Network{Allow: []string{bad}}}); err == nil {
			_ = sb.Close(t.Context())
			t.Errorf("allow-list entry %q was accepted", bad)
		}
	}
}

// TestEngineElsewhere: an engine behind TCP cannot show a socket of ours; all but the
// allow-list works, uploads included.
func TestEngineElsewhere(t *testing.T) {
	t.Parallel()
	c := config(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", strings.TrimPrefix(engine.Host, "unix://"))
			if err != nil {
				_ = in.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{in: out, out: in} {
				go func() {
					_, _ = io.Copy(to, from)
					_ = to.(interface{ CloseWrite() error }).CloseWrite()
				}()
			}
		}
	}()
	c.Host = "tcp://" + l.Addr().String()
	d := driver(t, c, newBook(t))
	if tr := d.Traits(); tr.Network || !slices.ContainsFunc(tr.Notes, func(n string) bool { return strings.Contains(n, "not on this machine") }) {
		t.Errorf("traits %+v", tr)
	}
	_, err = d.Open(t.Context(), sandbox.Spec{Name: "net", Network: sandbox.Network{Allow: []string{"allowed.test"}}})
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "not on this machine") {
		t.Errorf("with an allow-list: %v", err)
	}
	sb := open(t, d, sandbox.Spec{Name: "far"})
	big := strings.Repeat("0123456789abcdef", 1<<16)
	if err := sb.Put(t.Context(), "/tmp/big", strings.NewReader(big), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := sb.Get(t.Context(), "/tmp/big")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if data, err := io.ReadAll(r); err != nil || string(data) != big {
		t.Errorf("%d bytes came back, %v", len(data), err)
	}
}
