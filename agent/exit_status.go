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

// StatusOf is the exit status for the HTTP status of a provider's refusal. It goes by the
// errors that OpenAI and Anthropic document: 402 is an account without money, 413 a
// conversation that is too long, 529 a provider with too much to do; 408 and 409 are what
// their clients try again as if it were a timeout.
func StatusOf(code int) string {
	switch code {
	case http.StatusUnauthorized:
		return StatusAuthentication
	case http.StatusPaymentRequired, http.StatusForbidden:
		return StatusPermission
	case http.StatusNotFound:
		return StatusNotFound
	case http.StatusRequestTimeout, http.StatusConflict:
		return StatusTimeout
	case http.StatusRequestEntityTooLarge:
		return StatusContext
	case http.StatusUnprocessableEntity:
		return StatusUnprocessable
	case http.StatusTooManyRequests:
		return StatusRateLimit
	case http.StatusInternalServerError:
		return StatusInternal
	}
	if code > http.StatusInternalServerError {
		return StatusUnavailable
	}
	return StatusBadRequest
}
