package agent_test

import (
	"net/http"
	"testing"

	"github.com/yudai-dev/yudai/agent"
)

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		http.StatusBadRequest: agent.StatusBadRequest, http.StatusUnauthorized: agent.StatusAuthentication,
		http.StatusPaymentRequired: agent.StatusPermission, http.StatusForbidden: agent.StatusPermission,
		http.StatusNotFound: agent.StatusNotFound, http.StatusRequestTimeout: agent.StatusTimeout,
		http.StatusConflict: agent.StatusTimeout, http.StatusRequestEntityTooLarge: agent.StatusContext,
		http.StatusUnsupportedMediaType: agent.StatusBadRequest, http.StatusUnprocessableEntity: agent.StatusUnprocessable,
		http.StatusTooManyRequests: agent.StatusRateLimit, http.StatusInternalServerError: agent.StatusInternal,
		http.StatusBadGateway: agent.StatusUnavailable, 529: agent.StatusUnavailable, 0: agent.StatusBadRequest,
	} {
		if got := agent.StatusOf(code); got != want {
			t.Errorf("%d is %s, want %s", code, got, want)
		}
	}
}
