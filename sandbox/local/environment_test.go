package local_test

import (
	"os"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
)

// TestPackageManagersKnowTheirNetwork: with an allow-list they trust what this
// machine trusts, so an authority that its operator added needs no setting;
// without a network they are told so, and do not try again for a minute.
func TestPackageManagersKnowTheirNetwork(t *testing.T) {
	t.Parallel()
	d := setup(t)
	const show = `echo "$GOPROXY|$PIP_NO_INDEX|$npm_config_offline|$CARGO_NET_OFFLINE|$HTTPS_PROXY$GOMAXPROCS"; for f in "$SSL_CERT_FILE" "$PIP_CERT" "$NODE_EXTRA_CA_CERTS" "$GIT_SSL_CAINFO"; do test -r "$f" && echo readable; done; true`
	bundle := ""
	if _, err := os.Stat("/etc/ssl/certs/ca-certificates.crt"); err == nil {
		bundle = strings.Repeat("readable\n", 4)
	}
	for name, c := range map[string]struct {
		allow []string
		want  string
	}{
		"off":        {nil, "off|1|true|true|\n"},
		"allow-list": {[]string{"allowed.test"}, "||||http://127.0.0.1:3128\n" + bundle},
	} {
		sb, err := d.Open(t.Context(), sandbox.Spec{Name: name, Network: sandbox.Network{Allow: c.allow}})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: show})
		if err != nil || out != c.want {
			t.Errorf("%s: %q, %v, want %q", name, out, err, c.want)
		}
	}
}
