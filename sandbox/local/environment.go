package local

import (
	"maps"
	"os"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
)

// environment is that of every command: the fixed one, and what follows from the network.
func (r *root) environment(network bool) map[string]string {
	env := maps.Clone(r.env)
	if network {
		maps.Copy(env, r.online())
	} else {
		maps.Copy(env, sandbox.OfflineEnv())
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
	for _, p := range []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	} {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			return p
		}
	}
	return ""
}
