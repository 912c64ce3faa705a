package gateway

// Valid is the gateway's own look at a request.
func Valid(data []byte) bool { return valid(data) }
