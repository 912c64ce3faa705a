package local

import (
	"os"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
)

// environment joins the fixed environment with what follows from the network,
// and with the command's.
func (r *root) environment(c sandbox.Command, network bool) map[string]string {
	env := make(map[string]string, len(r.env)+len(c.Env)+16)
	for k, v := range r.env {
		env[k] = v
	}
	add := sandbox.OfflineEnv()
	if network {
		add = r.online()
	}
	for k, v := range add {
		env[k] = v
	}
	if len(c.Path) > 0 {
		env["PATH"] = strings.Join(c.Path, ":") + ":" + env["PATH"]
	}
	for k, v := range c.Env {
		env[k] = v
	}
	return env
}

// online names the proxy, and the machine's own certificates to the programs
// that bring others along: where somebody added an authority of their own to this
// machine (a company's proxy or mirror), package managers trust it, too.
func (r *root) online() map[string]string {
	env := sandbox.ProxyEnv(egress.Address)
	if r.bundle == "" {
		return env
	}
	for _, k := range []string{
		"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
	} {
		env[k] = r.bundle
	}
	return env
}

// findBundle is the file of this machine's certificates, one that sandboxes see; "" if there is none.
func findBundle() string {
	for _, p := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"} {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			return p
		}
	}
	return ""
}
