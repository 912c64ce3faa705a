package prime

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
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

// replacement replaces all rules: an empty list of what is allowed is no network.
type replacement struct {
	Allowlist []string `json:"allowlist"` // never nil
	Denylist  []string `json:"denylist"`  // always null
}

func checkHosts(allow []string) error {
	if len(allow) > mostHosts {
		return fmt.Errorf("%w: %d hosts: Prime takes at most %d", sandbox.ErrLimit, len(allow), mostHosts)
	}
	return nil
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

// Restrict makes the rules hold that the note says, and returns when they do. What
// holds already is left alone.
func (p *provider) Restrict(ctx context.Context, n cloud.Note) error {
	err := p.restrict(ctx, n.ID, append([]string{}, n.Allow...))
	if cloud.HasStatus(err, http.StatusNotFound, http.StatusGone, http.StatusConflict, http.StatusMethodNotAllowed, http.StatusNotImplemented) {
		if n, ended := p.hasEnded(ctx, n.ID); ended {
			return fmt.Errorf("set network rules: %w: %s", sandbox.ErrGone, n)
		}
		return fmt.Errorf("%w: Prime does not set network rules for this sandbox: %w", sandbox.ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("set network rules: %w", p.Explain(err))
	}
	return nil
}

func (p *provider) restrict(ctx context.Context, id string, allow []string) error {
	at := cloud.Path("sandbox", id, "egress-policy")
	var now rules
	if err := p.call(ctx, http.MethodGet, at, nil, &now); err != nil {
		return err
	}
	if now.hold(allow, 0) {
		return nil
	}
	if !now.match(allow) {
		now = rules{}
		if err := p.call(ctx, http.MethodPut, at, replacement{Allowlist: allow}, &now); err != nil {
			return err
		}
	}
	from, first := now.Generation, true
	late, err := cloud.Poll(ctx, p.pace.poll/4, p.pace.poll*2, p.pace.egress, func() (bool, error) {
		if !first {
			now = rules{}
			if err := p.call(ctx, http.MethodGet, at, nil, &now); err != nil && !cloud.Transient(err) {
				return false, err
			}
		}
		first = false
		return now.hold(allow, from), nil
	})
	if late {
		return fmt.Errorf("%w: Prime has saved the network rules and not applied them within %s", sandbox.ErrUnavailable, p.pace.egress)
	}
	return err
}
