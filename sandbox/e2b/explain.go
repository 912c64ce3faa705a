package e2b

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// isFull reports the 429 of a team whose slots are all in use: waiting a second does
// not help, something must end. The other kind says when to come again.
func isFull(r *cloud.Refusal) bool { return r.After == 0 }

// isUnchanged reports an answer that promises that nothing was changed. A 503 without the
// service's own word may be a proxy's, which knows nothing of that.
func isUnchanged(r *cloud.Refusal) bool {
	return r.Code == noCapacity || r.Code == "sandbox_placement_timeout"
}

// noCapacity is the service's word where no node has room for a sandbox.
const noCapacity = "sandbox_capacity_unavailable"

// Explain turns an error of the control plane into one of the contract's, with the
// setting to change.
func (p *provider) Explain(err error) error { return p.config.explain(err) }

func (c Config) explain(err error) error {
	return cloud.Explain(err, "E2B", c.apiBase(), func(r *cloud.Refusal) (text string, kind error) {
		switch {
		case r.Status == http.StatusUnauthorized:
			return "the key was refused: put a key of your team into " + c.key().Place(), sandbox.ErrSetting
		case r.Status == http.StatusForbidden:
			return "the team of the key in " + c.key().Place() + " may not do that", sandbox.ErrSetting
		case r.Status == http.StatusTooManyRequests && isFull(r):
			return "as many sandboxes as the plan allows are running: end some, or lower solver.caps", sandbox.ErrCapacity
		case r.Status == http.StatusTooManyRequests:
			return "too many requests for longer than a minute", sandbox.ErrCapacity
		case r.Code == noCapacity:
			return "E2B has no capacity now", sandbox.ErrCapacity
		}
		return "", nil
	})
}

// explainCreate says what is special about the call that makes a sandbox of the template.
func (c Config) explainCreate(err error) error {
	var r *cloud.Refusal
	if !errors.As(err, &r) {
		return err
	}
	switch {
	case r.Status == http.StatusNotFound, cloud.HasStatus(err, http.StatusForbidden, http.StatusBadRequest) && r.Says("template"):
		return fmt.Errorf("%w: there is no template %q for this key: build it with `yudai sandbox build e2b`, or set %stemplate (%w)",
			sandbox.ErrSetting, c.Template, section, err)
	case r.Status == http.StatusBadRequest && r.Says("timeout", "instance length", "hours"):
		return fmt.Errorf("%w: the plan does not allow so long a session: lower %slease (%s) (%w)", sandbox.ErrSetting, section, c.Lease, err)
	case r.Status == http.StatusBadRequest:
		return fmt.Errorf("%w: the service refuses the settings in sandbox.e2b (%w)", sandbox.ErrSetting, err)
	}
	return err
}
