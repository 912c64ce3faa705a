package model

import "net/http"

// InProcess is the transport by which scripted models are called.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{h} }
