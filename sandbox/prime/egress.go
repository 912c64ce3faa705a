package prime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// rules are what a sandbox may reach, as the service holds them.
type rules struct {
	Policy struct {
		Allowlist []string `json:"allowlist"`
		Denylist  []string `json:"denylist"`
	} `json:"policy"`
	Generation        int64 `json:"generation"`
	AppliedGeneration int64 `json:"applied_generation"`
	Applied           bool  `json:"applied"`
}

// wishes replace all rules: an empty list of what is allowed is no network.
type wishes struct {
	Allowlist []string `json:"allowlist"` // never nil
	Denylist  []string `json:"denylist"`  // always null
}

// hosts is the allow-list of a network, never nil.
func hosts(n sandbox.Network) ([]string, error) {
	if n.Socket != "" {
		return nil, fmt.Errorf("%w: no socket of this machine can be shown in a sandbox of prime (%s): allow a public name that leads here", errors.ErrUnsupported, n.Socket)
	}
	if len(n.Allow) > mostHosts {
		return nil, fmt.Errorf("%w: %d hosts: Prime takes at most %d", sandbox.ErrLimit, len(n.Allow), mostHosts)
	}
	all := append([]string{}, n.Allow...)
	slices.Sort(all)
	return slices.Compact(all), nil
}

// hold reports whether these rules are in force for allow, from generation on.
func (r rules) hold(allow []string, from int64) bool {
	return r.match(allow) && r.Applied && r.AppliedGeneration >= max(r.Generation, from)
}

// match reports whether they are the rules for allow, in force or not.
func (r rules) match(allow []string) bool {
	have := append([]string{}, r.Policy.Allowlist...)
	slices.Sort(have)
	return r.Policy.Allowlist != nil && slices.Equal(slices.Compact(have), allow)
}

// restrict makes the rules hold that allow says, and returns when they do. What
// holds already is left alone.
func (c *control) restrict(ctx context.Context, id string, allow []string) error {
	at := path("sandbox", id, "egress-policy")
	var now rules
	if err := c.do(ctx, call{method: http.MethodGet, path: at, answer: &now}); err != nil {
		return err
	}
	if now.hold(allow, 0) {
		return nil
	}
	if !now.match(allow) {
		now = rules{}
		if err := c.do(ctx, call{method: http.MethodPut, path: at, body: wishes{Allowlist: allow}, answer: &now}); err != nil {
			return err
		}
	}
	from, wait := now.Generation, c.pace.poll/4
	for until := time.Now().Add(c.pace.egress); !now.hold(allow, from); {
		if time.Now().Add(wait).After(until) {
			return fmt.Errorf("%w: Prime has saved the network rules and not applied them within %s", sandbox.ErrUnavailable, c.pace.egress)
		}
		if !sleep(ctx, wait) {
			return context.Cause(ctx)
		}
		wait = min(wait*3/2, c.pace.poll*2)
		now = rules{}
		if err := c.do(ctx, call{method: http.MethodGet, path: at, answer: &now}); err != nil && !transient(err) {
			return err
		}
	}
	return nil
}

// restrict is the same, with the contract's errors.
func (d *Driver) restrict(ctx context.Context, id string, allow []string) error {
	err := d.control.restrict(ctx, id, allow)
	if s := statusOf(err); isGone(err) || s == http.StatusConflict || s == http.StatusMethodNotAllowed || s == http.StatusNotImplemented {
		if n, e := d.control.why(ctx, id); isGone(e) || e == nil && n.Status.ended() {
			return fmt.Errorf("set network rules: %w: %s", sandbox.ErrGone, n)
		}
		return fmt.Errorf("%w: Prime does not set network rules for this sandbox: %w", sandbox.ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("set network rules: %w", d.config.explain(err))
	}
	return nil
}
