package agent

import "net/http"

// Exit statuses of runs whose model failed: the names of LiteLLM's exceptions, which is
// what mini-SWE-agent writes into its trajectory files.
const (
	StatusAuthentication = "AuthenticationError"
	StatusBadRequest     = "BadRequestError"
	StatusBadResponse    = "APIResponseValidationError"
	StatusConnection     = "APIConnectionError"
	StatusContext        = "ContextWindowExceededError"
	StatusInternal       = "InternalServerError"
	StatusNotFound       = "NotFoundError"
	StatusPermission     = "PermissionDeniedError"
	StatusRateLimit      = "RateLimitError"
	StatusTimeout        = "Timeout"
	StatusUnavailable    = "ServiceUnavailableError"
	StatusUnprocessable  = "UnprocessableEntityError"
)

// statuses are the exit statuses for the refusals that OpenAI and Anthropic document: 402 is
// an account without money, 413 a conversation that is too long; 408 and 409 are what their
// clients try again as if it were a timeout.
var statuses = map[int]string{
	http.StatusUnauthorized:          StatusAuthentication,
	http.StatusPaymentRequired:       StatusPermission,
	http.StatusForbidden:             StatusPermission,
	http.StatusNotFound:              StatusNotFound,
	http.StatusRequestTimeout:        StatusTimeout,
	http.StatusConflict:              StatusTimeout,
	http.StatusRequestEntityTooLarge: StatusContext,
	http.StatusUnprocessableEntity:   StatusUnprocessable,
	http.StatusTooManyRequests:       StatusRateLimit,
	http.StatusInternalServerError:   StatusInternal,
}

// StatusOf is the exit status for the HTTP status of a provider's refusal.
func StatusOf(code int) string {
	if status, ok := statuses[code]; ok {
		return status
	}
	if code > http.StatusInternalServerError {
		return StatusUnavailable
	}
	return StatusBadRequest
}
