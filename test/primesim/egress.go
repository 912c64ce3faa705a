package primesim

import (
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// maxRules is how many entries a policy may have.
const maxRules = 256

// egress is the network policy of a sandbox: what is asked for, and what is in force.
type egress struct {
	allow, deny         *[]string
	generation, applied int
	due                 time.Time // when the newest generation is applied
	inForce             struct{ allow, deny *[]string }
}

// first is the policy of the create, which holds from the beginning unless it is delayed.
func (e *egress) first(req createRequest) {
	e.allow, e.deny, e.generation = req.NetworkAllowlist, req.NetworkDenylist, 1
	if e.allow == nil && e.deny == nil {
		e.deny = &[]string{}
	}
}

// allowed is the allow-list in force of a sandbox, nil if there is none.
func (s *Server) allowed(b *box) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list := b.egress.inForce.allow; list != nil {
		return *list
	}
	return nil
}

func egressView(e *egress) reply {
	return ok(map[string]any{
		"policy":     map[string]any{"allowlist": e.allow, "denylist": e.deny},
		"generation": e.generation, "applied_generation": e.applied, "applied": e.applied == e.generation,
	})
}

func egressGet(c *control) reply {
	b := c.box()
	if b == nil {
		return noSandbox()
	}
	return egressView(&b.egress)
}

// egressPut replaces the policy; it is in force once it is applied.
func egressPut(c *control) reply {
	var req struct {
		Allowlist *[]string `json:"allowlist"`
		Denylist  *[]string `json:"denylist"`
	}
	b := c.box()
	if b == nil {
		return noSandbox()
	}
	if answer, decoded := c.decode(&req); !decoded {
		return answer
	}
	if b.status != StatusRunning {
		return detail(http.StatusConflict, "Sandbox is not running")
	}
	if req.Allowlist == nil && req.Denylist == nil {
		return invalid("allowlist", "one of allowlist and denylist is required")
	}
	if param, details := wrongPolicy("", req.Allowlist, req.Denylist); param != "" {
		return invalid(param, details)
	}
	e := &b.egress
	e.allow, e.deny, e.due = req.Allowlist, req.Denylist, c.s.now().Add(c.s.o.Apply)
	e.generation++
	c.s.step(b, c.s.now())
	return egressView(e)
}

// wrongPolicy names the list that the service refuses, and why.
func wrongPolicy(prefix string, allow, deny *[]string) (param, details string) {
	if allow != nil && deny != nil {
		return prefix + "allowlist", "allowlist and denylist are mutually exclusive"
	}
	for name, entries := range map[string]*[]string{"allowlist": allow, "denylist": deny} {
		if entries == nil {
			continue
		}
		if len(*entries) > maxRules {
			return prefix + name, "too many entries"
		}
		for _, e := range *entries {
			if !rule(e) {
				return prefix + name, "not a host name, IPv4 address or IPv4 network: " + e
			}
		}
	}
	return "", ""
}

// rule reports whether an entry of a policy is one.
func rule(entry string) bool {
	if p, err := netip.ParsePrefix(entry); err == nil {
		return p.Addr().Is4()
	}
	if a, err := netip.ParseAddr(entry); err == nil {
		return a.Is4()
	}
	host := strings.TrimPrefix(entry, "*.")
	return host != "" && !strings.ContainsAny(host, "*:/@? ") && !strings.Contains(host, "..") && !strings.HasPrefix(host, ".")
}
