package prime

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// Explain turns an error of the control plane into one of the contract, with the
// setting and the fix.
func (p *provider) Explain(err error) error {
	address := fmt.Sprintf("%s (%sapi_url)", p.config.base(), section)
	return cloud.Explain(err, "Prime", address, p.config.fix)
}

// fix says what a refusal means for the settings.
func (c Config) fix(r *cloud.Refusal) (text string, kind error) {
	if isQuota(r) {
		return "the account has as many sandboxes as it may have", sandbox.ErrCapacity
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return "the key is not accepted: make a new one in the dashboard and put it into " + c.key().Place(), sandbox.ErrSetting
	case http.StatusPaymentRequired:
		return "the account has no credit: add some under Billing in the dashboard, https://app.primeintellect.ai, for the team of " +
			section + "team_id if one is set", sandbox.ErrSetting
	case http.StatusForbidden:
		return "the key in " + c.key().Place() + " may not read and write sandboxes, or not those of the team in " + section + "team_id",
			sandbox.ErrSetting
	case http.StatusGone:
		return "Prime has retired this way of making sandboxes: update yudai", sandbox.ErrSetting
	case http.StatusTooManyRequests:
		return "too many requests", sandbox.ErrCapacity
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return c.invalid(r)
	}
	if r.Status >= 300 && r.Status < 400 || r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed {
		return fmt.Sprintf("%sapi_url is not the address of the service: %s refuses", section, c.base()), sandbox.ErrSetting
	}
	return "Prime refuses", sandbox.ErrUnavailable
}

// isQuota reports whether a new sandbox is refused because of how many there may be. What
// is said of requests is about their rate.
func isQuota(r *cloud.Refusal) bool {
	known := []int{http.StatusPaymentRequired, http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests}
	return slices.Contains(known, r.Status) && strings.HasPrefix(r.Call, http.MethodPost) && strings.HasSuffix(r.Call, "/sandbox") &&
		r.Says("quota", "concurren", "limit reached", "maximum number", "too many sandboxes") && !r.Says("rate limit", "requests")
}

// invalid names the setting that a refused request came from.
func (c Config) invalid(r *cloud.Refusal) (message string, kind error) {
	for _, known := range []struct {
		word, key string
		kind      error
	}{
		{"cpu", "limits.cpus", sandbox.ErrLimit},
		{"memory", "limits.memory_gb", sandbox.ErrLimit},
		{"disk", "limits.disk_gb", sandbox.ErrLimit},
		{"idle_timeout", "idle_time", sandbox.ErrSetting},
		{"timeout", "max_life", sandbox.ErrSetting},
		{"region", "region", sandbox.ErrSetting},
		{"team", "team_id", sandbox.ErrSetting},
		{"image", "image", sandbox.ErrSetting},
	} {
		if r.Says(known.word) {
			return "Prime refuses " + section + known.key, known.kind
		}
	}
	if r.Says("allowlist", "network") {
		return "Prime refuses a host that the install may reach", sandbox.ErrSetting
	}
	return "Prime refuses the request made of the settings in " + strings.TrimSuffix(section, "."), sandbox.ErrSetting
}
