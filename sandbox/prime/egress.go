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

// match reports whether they are the rules for allow, in force or not.
func (r rules) match(allow []string) bool {
	have := slices.Sorted(slices.Values(r.Policy.Allowlist))
	return r.Policy.Allowlist != nil && slices.Equal(slices.Compact(have), allow)
}

// hold reports whether these rules are in force for allow, from generation on.
func (r rules) hold(allow []string, from int64) bool {
	return r.match(allow) && r.Applied && r.AppliedGeneration >= max(r.Generation, from)
}

// Restrict makes the rules hold that the note says, and returns when they do. What
// holds already is left alone.
func (p *provider) Restrict(ctx context.Context, n cloud.Note) error {
	err := p.restrict(ctx, cloud.Path("sandbox", n.ID, "egress-policy"), append([]string{}, n.Allow...))
	if cloud.NotOffered(err) || cloud.HasStatus(err, http.StatusGone, http.StatusConflict) {
		if n, ended := p.hasEnded(ctx, n.ID); ended {
			return fmt.Errorf("set network rules: %w: %s", sandbox.ErrGone, n)
		}
		return fmt.Errorf("%w: Prime does not set network rules for this sandbox: %w", sandbox.ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("set network rules: %w", err)
	}
	return nil
}

func (p *provider) restrict(ctx context.Context, at string, allow []string) error {
	var now rules
	if err := p.control.Ask(ctx, http.MethodGet, at, nil, &now); err != nil || now.hold(allow, 0) {
		return err
	}
	if !now.match(allow) {
		now = rules{}
		if err := p.control.Ask(ctx, http.MethodPut, at, replacement{Allowlist: allow}, &now); err != nil {
			return err
		}
	}
	from := now.Generation
	ctx, cancel := context.WithTimeoutCause(ctx, p.timing.egress,
		fmt.Errorf("%w: Prime has saved the network rules and not applied them within %s", sandbox.ErrUnavailable, p.timing.egress))
	defer cancel()
	return poll(ctx, p.timing.poll/4, p.timing.poll*2, func() (bool, error) {
		if now.hold(allow, from) {
			return true, nil
		}
		now = rules{}
		err := p.control.Ask(ctx, http.MethodGet, at, nil, &now)
		if err != nil && !cloud.Transient(err) {
			return false, err
		}
		return now.hold(allow, from), nil
	})
}
