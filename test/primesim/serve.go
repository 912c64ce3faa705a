package primesim

import (
	"context"
	"encoding/json"
	"net/http"
)

// faultOf is the key of a request's context under which its fault lies.
type faultOf struct{}

// ServeHTTP answers every call: it counts it, lets it go wrong, and then does it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, b, do := s.resolve(r)
	s.mu.Lock()
	s.calls[c]++
	hit, down, latency := s.faultFor(c, b), s.down, s.o.Latency
	if s.latency > 0 {
		latency = s.latency
	}
	s.mu.Unlock()
	if down {
		abort(r)
	}
	wait(r, latency)
	if hit == nil {
		do(w, r)
		return
	}
	if hit.before(w, r, c, b) {
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), faultOf{}, hit))
	switch hit.fault.Kind {
	case FaultLost:
		do(nowhere{}, r)
		abort(r)
	case FaultLostStatus:
		do(nowhere{}, r)
		s.refuse(w, c, hit.fault.Status, "")
	default:
		do(w, r)
	}
}

// fault is the one that hit this call, nil for none.
func fault(ctx context.Context) *Injection {
	in, _ := ctx.Value(faultOf{}).(*Injection)
	return in
}

// nowhere takes an answer that is lost.
type nowhere struct{}

// Header is part of [http.ResponseWriter].
func (nowhere) Header() http.Header { return http.Header{} }

// Write is part of [http.ResponseWriter].
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader is part of [http.ResponseWriter].
func (nowhere) WriteHeader(int) {}

// Flush is part of [http.Flusher].
func (nowhere) Flush() {}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// refuse answers a status in the body that this kind of call has for it.
func (s *Server) refuse(w http.ResponseWriter, c Call, status int, text string) {
	if text == "" {
		text = refusals[status]
	}
	if text == "" {
		text = http.StatusText(status)
	}
	switch {
	case c.command() && status == http.StatusUnauthorized:
		writeJSON(w, status, map[string]string{"code": "unauthenticated", "message": text})
	case c.command() && status == http.StatusNotFound:
		writeJSON(w, status, map[string]string{"code": "not_found", "message": text})
	case c.gateway():
		writeJSON(w, status, map[string]any{"error": gatewayErrors[status], "message": text, "code": status})
	default:
		writeJSON(w, status, map[string]any{"detail": text})
	}
}

// refusals are the service's texts.
var refusals = map[int]string{
	http.StatusUnauthorized:    "Invalid or missing credentials",
	http.StatusPaymentRequired: "Insufficient balance",
	http.StatusForbidden:       "API key lacks the required scope",
	http.StatusTooManyRequests: "Rate limit exceeded",
	http.StatusConflict:        "Sandbox is temporarily not reachable",
}

// gatewayErrors are the gateway's words for its refusals.
var gatewayErrors = map[int]string{
	http.StatusBadRequest:            "bad_request",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusRequestTimeout:        "timeout",
	http.StatusConflict:              "conflict",
	http.StatusGone:                  "sandbox_terminated",
	http.StatusRequestEntityTooLarge: "file_too_large",
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusInternalServerError:   "internal_error",
	http.StatusBadGateway:            "gateway_error",
	http.StatusServiceUnavailable:    "gateway_error",
	http.StatusGatewayTimeout:        "gateway_error",
}

// refuseMissing is the gateway's answer for a sandbox that it does not know.
func refuseMissing(w http.ResponseWriter, b *box) {
	id := ""
	if b != nil {
		id = b.id
	}
	writeJSON(w, http.StatusBadGateway, map[string]any{
		"error": "sandbox_not_found", "sandboxId": id, "message": "sandbox is not registered", "code": http.StatusBadGateway,
	})
}
