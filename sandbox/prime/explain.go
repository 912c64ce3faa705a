package prime

import (
	"context"
	"errors"
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
	var r *cloud.Refusal
	var l *cloud.Lost
	c := p.config
	switch {
	case err == nil || errors.Is(err, context.Canceled) || cloud.Explained(err):
		return err
	case errors.As(err, &l):
		return fmt.Errorf("%w: Prime does not answer at %s (%sapi_url): %w", sandbox.ErrUnavailable, c.base(), section, err)
	case !errors.As(err, &r):
		return err
	case isQuota(r):
		return fmt.Errorf("%w: the account has as many sandboxes as it may have: %w", sandbox.ErrCapacity, err)
	}
	fix := ""
	switch r.Status {
	case http.StatusUnauthorized:
		fix = "the key is not accepted: make a new one in the dashboard and put it into " + c.key().Place()
	case http.StatusPaymentRequired:
		fix = "the account has no credit: add some under Billing in the dashboard, https://app.primeintellect.ai, for the team of " + section + "team_id if one is set"
	case http.StatusForbidden:
		fix = "the key in " + c.key().Place() + " may not read and write sandboxes, or not those of the team in " + section + "team_id"
	case http.StatusGone:
		fix = "Prime has retired this way of making sandboxes: update yudai"
	case http.StatusTooManyRequests:
		return fmt.Errorf("%w: too many requests: %w", sandbox.ErrCapacity, err)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return c.invalid(r)
	}
	switch {
	case fix != "":
		return fmt.Errorf("%w: %s (%w)", sandbox.ErrSetting, fix, err)
	case r.Status >= 300 && r.Status < 400, r.Status == http.StatusNotFound, r.Status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%w: %sapi_url is not the address of the service: %s answers %w", sandbox.ErrSetting, section, c.base(), err)
	}
	return fmt.Errorf("%w: Prime answers %w", sandbox.ErrUnavailable, err)
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
func (c Config) invalid(r *cloud.Refusal) error {
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
			return fmt.Errorf("%w: Prime refuses %s%s: %w", known.kind, section, known.key, r)
		}
	}
	if strings.Contains(text, "allowlist") || strings.Contains(text, "network") {
		return fmt.Errorf("%w: Prime refuses a host that the install may reach: %w", sandbox.ErrSetting, r)
	}
	return fmt.Errorf("%w: Prime refuses the request made of the settings in %s: %w", sandbox.ErrSetting, strings.TrimSuffix(section, "."), r)
}
