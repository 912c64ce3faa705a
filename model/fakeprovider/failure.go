package fakeprovider

import (
	"errors"
	"net/http"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// failure is a call that fails under a status name.
type failure struct{ status, text string }

// failed is the failure of an error.
func failed(err error) failure {
	if me, ok := errors.AsType[agent.ModelError](err); ok {
		return failure{status: me.ExitStatus(), text: me.Public()}
	}
	return failure{status: agent.StatusInternal, text: "The model cannot be played."}
}

// http is the status code; a name that no provider knows is a refused request.
func (f failure) http() int {
	switch f.status {
	case agent.StatusAuthentication:
		return http.StatusUnauthorized
	case agent.StatusPermission:
		return http.StatusForbidden
	case agent.StatusNotFound:
		return http.StatusNotFound
	case agent.StatusTimeout:
		return http.StatusRequestTimeout
	case agent.StatusUnprocessable:
		return http.StatusUnprocessableEntity
	case agent.StatusRateLimit:
		return http.StatusTooManyRequests
	case agent.StatusInternal:
		return http.StatusInternalServerError
	case agent.StatusConnection:
		return http.StatusBadGateway
	case agent.StatusUnavailable:
		return http.StatusServiceUnavailable
	case agent.StatusBadResponse:
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// openAI is OpenAI's error body.
func (f failure) openAI() any {
	kind, code := "invalid_request_error", any(nil)
	switch f.status {
	case agent.StatusAuthentication:
		code = "invalid_api_key"
	case agent.StatusNotFound:
		code = "model_not_found"
	case agent.StatusContext:
		code = "context_length_exceeded"
	case agent.StatusRateLimit:
		kind, code = "requests", "rate_limit_exceeded"
	case agent.StatusInternal, agent.StatusConnection, agent.StatusUnavailable, agent.StatusTimeout:
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": f.text, "type": kind, "param": nil, "code": code}}
}

// anthropic is Anthropic's error body. A full context window has no code there, only words.
func (f failure) anthropic() any {
	kind, text := "invalid_request_error", f.text
	switch f.status {
	case agent.StatusAuthentication:
		kind = "authentication_error"
	case agent.StatusPermission:
		kind = "permission_error"
	case agent.StatusNotFound:
		kind = "not_found_error"
	case agent.StatusRateLimit:
		kind = "rate_limit_error"
	case agent.StatusTimeout:
		kind = "timeout_error"
	case agent.StatusUnavailable:
		kind = "overloaded_error"
	case agent.StatusInternal, agent.StatusConnection:
		kind = "api_error"
	case agent.StatusContext:
		if !strings.Contains(text, "prompt is too long") {
			text = "prompt is too long: " + text
		}
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}}
}

// refuse answers with a failure in the provider's shape.
func refuse(w http.ResponseWriter, a api, f failure) {
	if f.status == agent.StatusBadResponse { // an answer that is none
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte(f.text + "\n"))
		return
	}
	code := f.http()
	// What both providers tell their clients: whether to try again.
	if retry := code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500; retry {
		w.Header().Set("X-Should-Retry", "true")
	} else {
		w.Header().Set("X-Should-Retry", "false")
	}
	writeJSON(w, code, a.fail(f))
}
