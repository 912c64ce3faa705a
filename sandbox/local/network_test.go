package local_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
)

// public resolves every name to a public address.
type public struct{}

func (public) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

// TestAllowListWithCurl uses the network as package managers do: a program that
// honours the proxy variables, through the forwarder, the socket and the proxy.
func TestAllowListWithCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello from "+r.Host)
	}))
	t.Cleanup(web.Close)
	d := setup(t)
	d.SetNetwork(public{}, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, web.Listener.Addr().String())
	})
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "net", Network: sandbox.Network{Allow: []string{"allowed.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{
		Shell: "curl -sS --max-time 20 http://allowed.test/x; echo; curl -sS --max-time 20 -o /dev/null -w '%{http_code}' http://denied.test/; exit 9",
	})
	if err != nil || res.ExitCode != 9 || out != "hello from allowed.test\n403" {
		t.Errorf("got %q, %+v, %v", out, res, err)
	}
	if got := sb.(sandbox.Refuser).Refused(); !slices.Equal(got, []string{"denied.test"}) {
		t.Errorf("refused %q", got)
	}
	// The forwarder changes nothing about how commands end.
	for text, want := range map[string]int{"exit 3": 3, "kill -TERM $$": 143} {
		if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: text}); err != nil || res.ExitCode != want {
			t.Errorf("%q: %+v, %v", text, res, err)
		}
	}
	if res, err := sb.Exec(t.Context(), sandbox.Command{Argv: []string{"no-such-program"}}); err != nil || res.ExitCode != 127 {
		t.Errorf("missing program: %+v, %v", res, err)
	}
}

// TestForkOfAPreparedBaseHasNoNetwork: the policy belongs to the sandbox, not to the files.
func TestForkOfAPreparedBaseHasNoNetwork(t *testing.T) {
	t.Parallel()
	d := setup(t)
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "prep", Network: sandbox.Network{Allow: []string{"allowed.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	base, err := d.Freeze(t.Context(), sb)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := d.Open(t.Context(), sandbox.Spec{Name: "fork", From: base})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := sandbox.Output(t.Context(), fork, sandbox.Command{Shell: "env | grep -i http_proxy; env | grep -i https_proxy; ls /run/yudai 2>/dev/null; tail -n +3 /proc/net/dev | grep -v lo:; true"})
	if err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("network in a fork: %q, %v", out, err)
	}
	for _, bad := range []string{"", "*", "10.0.0.1"} {
		if sb, err := d.Open(t.Context(), sandbox.Spec{Name: "bad", Network: sandbox.Network{Allow: []string{bad}}}); err == nil {
			_ = sb.Close(t.Context())
			t.Errorf("allow-list entry %q was accepted", bad)
		}
	}
}
