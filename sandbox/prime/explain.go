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
func (c Config) fix(r *cloud.Refusal) (kind error, text string) {
	if isQuota(r) {
		return sandbox.ErrCapacity, "the account has as many sandboxes as it may have"
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return sandbox.ErrSetting, "the key is not accepted: make a new one in the dashboard and put it into " + c.key().Place()
	case http.StatusPaymentRequired:
		return sandbox.ErrSetting, "the account has no credit: add some under Billing in the dashboard, https://app.primeintellect.ai, for the team of " +
			section + "team_id if one is set"
	case http.StatusForbidden:
		return sandbox.ErrSetting, "the key in " + c.key().Place() + " may not read and write sandboxes, or not those of the team in " + section + "team_id"
	case http.StatusGone:
		return sandbox.ErrSetting, "Prime has retired this way of making sandboxes: update yudai"
	case http.StatusTooManyRequests:
		return sandbox.ErrCapacity, "too many requests"
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return c.invalid(r)
	}
	if r.Status >= 300 && r.Status < 400 || r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed {
		return sandbox.ErrSetting, fmt.Sprintf("%sapi_url is not the address of the service: %s refuses", section, c.base())
	}
	return sandbox.ErrUnavailable, "Prime refuses"
}

// isQuota reports whether a refusal is about how many sandboxes there may be.
func isQuota(r *cloud.Refusal) bool {
	if !slices.Contains([]int{http.StatusPaymentRequired, http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests}, r.Status) {
		return false
	}
	text := strings.ToLower(r.Message)
	return slices.ContainsFunc([]string{"quota", "concurren", "limit reached", "maximum number", "too many sandboxes"}, func(s string) bool {
		return strings.Contains(text, s)
	})
}

// invalid names the setting that a refused request came from.
func (c Config) invalid(r *cloud.Refusal) (kind error, message string) {
	text := strings.ToLower(r.Message)
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
		if strings.Contains(text, known.word) {
			return known.kind, "Prime refuses " + section + known.key
		}
	}
	if strings.Contains(text, "allowlist") || strings.Contains(text, "network") {
		return sandbox.ErrSetting, "Prime refuses a host that the install may reach"
	}
	return sandbox.ErrSetting, "Prime refuses the request made of the settings in " + strings.TrimSuffix(section, ".")
}
