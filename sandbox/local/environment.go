package local

import (
	"os"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// environment joins the fixed environment with what follows from the network,
// and with the command's.
func (r *root) environment(c sandbox.Command, network bool) map[string]string {
	env := make(map[string]string, len(r.env)+len(c.Env)+16)
	for k, v := range r.env {
		env[k] = v
	}
	add := offline()
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
	env := map[string]string{"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1"}
	for _, k := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		env[k] = "http://" + proxyAddress
	}
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

// offline tells package managers that there is no network, so that they say at
// once what is missing instead of trying again for a minute.
func offline() map[string]string {
	return map[string]string{
		"GOPROXY": "off", "PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "npm_config_offline": "true", "npm_config_audit": "false",
		"npm_config_update_notifier": "false", "YARN_ENABLE_NETWORK": "0", "CARGO_NET_OFFLINE": "true",
	}
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
