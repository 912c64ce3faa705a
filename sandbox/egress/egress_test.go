package egress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/sandbox/egress"
)

// names resolves from a table and counts.
type names struct {
	mu    sync.Mutex
	table map[string][]string
	asked []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	var out []netip.Addr
	for _, s := range n.table[host] {
		out = append(out, netip.MustParseAddr(s))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no such host")
	}
	return out, nil
}

// world is a proxy in front of one web server that stands for the internet.
type world struct {
	proxy  *egress.Proxy
	client *http.Client // through the proxy
	addr   string       // of the proxy
	mu     sync.Mutex
	dialed []string
}

func setup(t *testing.T, table map[string][]string, o egress.Options) *world {
	t.Helper()
	w := &world{}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "hello from "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	o.Resolver = &names{table: table}
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, address)
		w.mu.Unlock()
		to := plain.Listener.Addr().String()
		if strings.HasSuffix(address, ":443") {
			to = secure.Listener.Addr().String()
		}
		return (&net.Dialer{}).DialContext(ctx, network, to)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	w.proxy = egress.Serve(l, o)
	t.Cleanup(func() {
		if err := w.proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	tr := secure.Client().Transport.(*http.Transport).Clone()
	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: w.addr})
	tr.TLSClientConfig.ServerName = "example.com" // the name in httptest's certificate
	w.client = &http.Client{Transport: tr}
	t.Cleanup(tr.CloseIdleConnections)
	return w
}

// get returns the body, or the error or status in words.
func (w *world) get(t *testing.T, url string) string {
	t.Helper()
	res, err := w.client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	return fmt.Sprint(res.StatusCode, " ", string(body))
}

func TestAllowedHostsPassBothWays(t *testing.T) {
	t.Parallel()
	table := map[string][]string{"example.com": {"93.184.216.34"}, "a.b.example.org": {"2606:2800:220::1"}}
	w := setup(t, table, egress.Options{Allow: []string{"Example.com", "*.example.org"}})
	for url, want := range map[string]string{
		"http://example.com/x":      "200 hello from example.com ",
		"https://example.com/x":     "200 hello from example.com ",
		"http://EXAMPLE.com./x":     "200 hello from EXAMPLE.com. ",
		"https://a.b.example.org/x": "200 hello from a.b.example.org ",
	} {
		if got := w.get(t, url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if r := w.proxy.Refused(); len(r) > 0 {
		t.Errorf("refused %q", r)
	}
}

func TestOthersAreRefusedAndRemembered(t *testing.T) {
	t.Parallel()
	table := map[string][]string{"example.com": {"93.184.216.34"}, "example.org": {"93.184.216.34"}}
	w := setup(t, table, egress.Options{Allow: []string{"example.com", "*.example.org"}})
	for _, url := range []string{
		"http://evil.test/", "https://evil.test/", "https://example.org/", "https://notexample.com/",
		"http://example.com:8080/", "https://example.com:22/", "http://93.184.216.34/", "http://[::1]/",
	} {
		if got := w.get(t, url); !strings.Contains(got, "403") && !strings.Contains(got, "Forbidden") {
			t.Errorf("%s: %q, want it refused", url, got)
		}
	}
	want := []string{"evil.test", "example.org", "notexample.com", "example.com", "93.184.216.34", "::1"}
	if got := w.proxy.Refused(); !slices.Equal(got, want) {
		t.Errorf("refused %q, want %q", got, want)
	}
	if len(w.dialed) > 0 {
		t.Errorf("dialled %q", w.dialed)
	}
}

func TestPrivateAddressesStayClosed(t *testing.T) {
	t.Parallel()
	table := map[string][]string{}
	var allow []string
	closed := []string{
		"127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "0.0.0.0",
		"224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.0.192", "168.63.129.16", "::1", "::", "fe80::1", "fc00::1",
		"fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1",
	}
	for i, a := range closed {
		host := fmt.Sprintf("h%d.test", i)
		table[host], allow = []string{a}, append(allow, host)
	}
	w := setup(t, table, egress.Options{Allow: allow})
	for i, a := range closed {
		if got := w.get(t, fmt.Sprintf("http://h%d.test/", i)); !strings.HasPrefix(got, "403") || !strings.Contains(got, "private") {
			t.Errorf("a name for %s: %q, want it refused", a, got)
		}
	}
	if len(w.dialed) > 0 {
		t.Errorf("dialled %q", w.dialed)
	}
}

// TestTheCheckedAddressIsDialled: the proxy dials the address it has looked
// at, never the name, so there is no second answer of the resolver to be fooled by.
func TestTheCheckedAddressIsDialled(t *testing.T) {
	t.Parallel()
	table := map[string][]string{"example.com": {"10.0.0.1", "93.184.216.34", "127.0.0.1"}}
	w := setup(t, table, egress.Options{Allow: []string{"example.com"}})
	w.get(t, "http://example.com/")
	if want := []string{"93.184.216.34:80"}; !slices.Equal(w.dialed, want) {
		t.Errorf("dialled %q, want %q", w.dialed, want)
	}
}

func TestAllowPrivateOpensARange(t *testing.T) {
	t.Parallel()
	table := map[string][]string{"mirror.test": {"10.1.2.3"}, "other.test": {"10.9.9.9"}}
	w := setup(t, table, egress.Options{
		Allow: []string{"mirror.test", "other.test"}, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
	})
	if got := w.get(t, "http://mirror.test/"); !strings.HasPrefix(got, "200") {
		t.Errorf("inside the range: %q", got)
	}
	if got := w.get(t, "http://other.test/"); !strings.HasPrefix(got, "403") {
		t.Errorf("outside the range: %q", got)
	}
}

func TestOddRequestsAndErrors(t *testing.T) {
	t.Parallel()
	w := setup(t, map[string][]string{}, egress.Options{Allow: []string{"missing.test"}})
	if got := w.get(t, "http://missing.test/"); !strings.HasPrefix(got, "502") {
		t.Errorf("a name without address: %q", got)
	}
	for _, line := range []string{"GET /local HTTP/1.1", "GET ftp://missing.test/ HTTP/1.1", "CONNECT missing.test HTTP/1.1"} {
		c, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(c, "%s\r\nHost: missing.test\r\nConnection: close\r\n\r\n", line)
		status, _ := bufio.NewReader(c).ReadString('\n')
		if !strings.Contains(status, " 40") {
			t.Errorf("%s: %q", line, status)
		}
		_ = c.Close()
	}
}

// TestTheAuthorityIsTheOneAsked: a Host header that names something else does not reach the server.
func TestTheAuthorityIsTheOneAsked(t *testing.T) {
	t.Parallel()
	w := setup(t, map[string][]string{"example.com": {"93.184.216.34"}}, egress.Options{Allow: []string{"example.com"}})
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "GET http://example.com/ HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: secret\r\nConnection: close\r\n\r\n")
	answer, _ := io.ReadAll(c)
	if !strings.Contains(string(answer), "hello from example.com ") || strings.Contains(string(answer), "secret") {
		t.Errorf("answer %q", answer)
	}
}

func TestCloseEndsTunnels(t *testing.T) {
	t.Parallel()
	w := setup(t, map[string][]string{"example.com": {"93.184.216.34"}}, egress.Options{Allow: []string{"example.com"}})
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
	r := bufio.NewReader(c)
	if status, _ := r.ReadString('\n'); !strings.Contains(status, "200") {
		t.Fatalf("status %q", status)
	}
	_, _ = r.ReadString('\n')
	if err := w.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the tunnel lives on")
	}
}
