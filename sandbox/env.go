package sandbox

// OfflineEnv tells package managers that there is no network, so that they say at
// once what is missing instead of trying again for a minute.
func OfflineEnv() map[string]string {
	return map[string]string{
		"GOPROXY": "off", "PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "npm_config_offline": "true", "npm_config_audit": "false",
		"npm_config_update_notifier": "false", "YARN_ENABLE_NETWORK": "0", "CARGO_NET_OFFLINE": "true",
	}
}

// ProxyEnv names the proxy at host:port in the usual variables.
func ProxyEnv(address string) map[string]string {
	env := map[string]string{"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1"}
	for _, k := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		env[k] = "http://" + address
	}
	return env
}
