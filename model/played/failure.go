package played

import (
	"errors"
	"net/http"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// Statuses of failed calls, as package model names them.
const (
	statusAuthentication = "AuthenticationError"
	statusBadRequest     = "BadRequestError"
	statusBadResponse    = "APIResponseValidationError"
	statusConnection     = "APIConnectionError"
	statusContext        = "ContextWindowExceededError"
	statusInternal       = "InternalServerError"
	statusNotFound       = "NotFoundError"
	statusPermission     = "PermissionDeniedError"
	statusRateLimit      = "RateLimitError"
	statusTimeout        = "Timeout"
	statusUnavailable    = "ServiceUnavailableError"
	statusUnprocessable  = "UnprocessableEntityError"
)

// failure is a call that fails under a status name.
type failure struct{ status, text string }

// failed is the failure of an error.
func failed(err error) failure {
	if me, ok := errors.AsType[agent.ModelError](err); ok {
		return failure{status: me.ExitStatus(), text: me.Public()}
	}
	return failure{status: statusInternal, text: "The model cannot be played."}
}

// http is the status code; a name that no provider knows is a refused request.
func (f failure) http() int {
	switch f.status {
	case statusAuthentication:
		return http.StatusUnauthorized
	case statusPermission:
		return http.StatusForbidden
	case statusNotFound:
		return http.StatusNotFound
	case statusTimeout:
		return http.StatusRequestTimeout
	case statusUnprocessable:
		return http.StatusUnprocessableEntity
	case statusRateLimit:
		return http.StatusTooManyRequests
	case statusInternal:
		return http.StatusInternalServerError
	case statusConnection:
		return http.StatusBadGateway
	case statusUnavailable:
		return http.StatusServiceUnavailable
	case statusBadResponse:
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// openAI is OpenAI's error body.
func (f failure) openAI() any {
	kind, code := "invalid_request_error", any(nil)
	switch f.status {
	case statusAuthentication:
		code = "invalid_api_key"
	case statusNotFound:
		code = "model_not_found"
	case statusContext:
		code = "context_length_exceeded"
	case statusRateLimit:
		kind, code = "requests", "rate_limit_exceeded"
	case statusInternal, statusConnection, statusUnavailable, statusTimeout:
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": f.text, "type": kind, "param": nil, "code": code}}
}

// anthropic is Anthropic's error body. A full context window has no code there, only words.
func (f failure) anthropic() any {
	kind, text := "invalid_request_error", f.text
	switch f.status {
	case statusAuthentication:
		kind = "authentication_error"
	case statusPermission:
		kind = "permission_error"
	case statusNotFound:
		kind = "not_found_error"
	case statusRateLimit:
		kind = "rate_limit_error"
	case statusTimeout:
		kind = "timeout_error"
	case statusUnavailable:
		kind = "overloaded_error"
	case statusInternal, statusConnection:
		kind = "api_error"
	case statusContext:
		if !strings.Contains(text, "prompt is too long") {
			text = "prompt is too long: " + text
		}
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}}
}

// refuse answers with a failure in the provider's shape.
func refuse(w http.ResponseWriter, a api, f failure) {
	if f.status == statusBadResponse { // an answer that is none
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
