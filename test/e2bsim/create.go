package e2bsim

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// creation is the body of making a sandbox.
type creation struct {
	TemplateID string            `json:"templateID"`
	Timeout    *int              `json:"timeout"`
	Metadata   map[string]string `json:"metadata"`
	EnvVars    map[string]string `json:"envVars"`
	Internet   *bool             `json:"allow_internet_access"`
	Network    network           `json:"network"`
	AutoPause  bool              `json:"autoPause"`
	Memory     *bool             `json:"autoPauseMemory"`
	AutoResume struct {
		Enabled bool `json:"enabled"`
	} `json:"autoResume"`
	Secure bool `json:"secure"`
}

// shown is a sandbox as making, forking and connecting answer it.
type shown struct {
	SandboxID  string  `json:"sandboxID"`
	TemplateID string  `json:"templateID"`
	Alias      string  `json:"alias,omitempty"`
	ClientID   string  `json:"clientID"`
	Version    string  `json:"envdVersion"`
	Token      string  `json:"envdAccessToken,omitempty"`
	Traffic    string  `json:"trafficAccessToken,omitempty"`
	Domain     *string `json:"domain"`
}

// show is s.mu held.
func (b *box) show() shown {
	return shown{
		SandboxID: b.id, TemplateID: b.template.ID, Alias: b.template.alias(), ClientID: "6532622b",
		Version: b.template.Version, Token: b.token, Traffic: b.traffic,
	}
}

// createSecond is POST /v2/sandboxes.
func (s *Server) createSecond(w http.ResponseWriter, r *http.Request) (int, any, error) {
	return s.create(w, r, 300)
}

// createFirst is POST /sandboxes: another default, and security only on request.
func (s *Server) createFirst(w http.ResponseWriter, r *http.Request) (int, any, error) {
	return s.create(w, r, 15)
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, seconds int) (int, any, error) {
	var c creation
	if err := read(r, &c); err != nil {
		return 0, nil, err
	}
	if c.Timeout != nil {
		seconds = *c.Timeout
	}
	b, t, err := s.reserve(w, c, seconds)
	if err != nil {
		return 0, nil, err
	}
	if r.URL.Path == "/sandboxes" && !c.Secure {
		b.token = ""
	}
	if err := s.boot(b, t.dir); err != nil {
		_, _ = s.remove(b.id)
		return 0, nil, &problem{http.StatusInternalServerError, "Failed to create sandbox: " + err.Error(), "sandbox_create_failed"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return http.StatusCreated, b.show(), nil
}

// reserve checks what is asked for and takes a slot.
func (s *Server) reserve(w http.ResponseWriter, c creation, seconds int) (*box, *template, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.permit(w, c, seconds); err != nil {
		return nil, nil, err
	}
	t, err := s.resolve(c.TemplateID)
	if err != nil {
		return nil, nil, err
	}
	if t.pending {
		return nil, nil, refuse(http.StatusNotFound, "template %q has no ready build", c.TemplateID)
	}
	if !s.room() {
		return nil, nil, refuse(http.StatusTooManyRequests, "%s", capacityText(s.o.Plan.Concurrent))
	}
	envs := c.EnvVars
	if envs == nil {
		envs = maps.Clone(t.envs)
	}
	c.Network.Internet = c.Internet
	b := s.newBox(t, seconds)
	b.metadata, b.envs, b.network, b.autoPause = c.Metadata, envs, c.Network, c.AutoPause
	if p := c.Network.AllowPublicTraffic; p != nil && !*p {
		b.traffic = code(40)
	}
	return b, t, nil
}

// newBox takes a slot. s.mu is held.
func (s *Server) newBox(t *template, seconds int) *box {
	b := &box{id: "i" + code(20), template: t, dir: s.place("sandbox"), state: starting, token: "ea_" + code(48), started: s.now()}
	b.end = b.started.Add(time.Duration(seconds) * time.Second)
	s.boxes[b.id] = b
	return b
}

// room reports whether a slot is free. s.mu is held.
func (s *Server) room() bool {
	n := 0
	for _, b := range s.boxes {
		if b.state == starting || b.state == running && !s.over(b) {
			n++
		}
	}
	return n < s.o.Plan.Concurrent
}

func capacityText(n int) string {
	return "you have reached the maximum number of concurrent sandboxes (" + strconv.Itoa(n) + "). If you need more, please contact us"
}

// permit checks the body and the rate of creations. s.mu is held.
func (s *Server) permit(w http.ResponseWriter, c creation, seconds int) error {
	if seconds < 1 {
		return refuse(http.StatusBadRequest, "request body has an error: timeout must be at least 1")
	}
	if limit := s.o.Plan.Session; time.Duration(seconds)*time.Second > limit {
		return refuse(http.StatusBadRequest, "Timeout cannot be greater than %g hours", limit.Hours())
	}
	if c.AutoResume.Enabled && !c.AutoPause {
		return refuse(http.StatusBadRequest, "autoResume needs autoPause")
	}
	if c.Memory != nil && !*c.Memory && (!c.AutoPause || c.AutoResume.Enabled) {
		return refuse(http.StatusBadRequest, "autoPauseMemory: false needs autoPause, and no autoResume")
	}
	if err := c.Network.check(); err != nil {
		return err
	}
	if !s.paced(w) {
		return refuse(http.StatusTooManyRequests, "Rate limit exceeded")
	}
	return nil
}

// paced counts a creation, unless there were too many in the last second. s.mu is held.
func (s *Server) paced(w http.ResponseWriter) bool {
	limit := s.o.Plan.Creations
	if limit == 0 {
		return true
	}
	now := s.now()
	s.creations = slices.DeleteFunc(s.creations, func(t time.Time) bool { return now.Sub(t) >= time.Second })
	left := limit - len(s.creations)
	h := w.Header()
	h.Set("RateLimit-Limit", strconv.Itoa(limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(max(left-1, 0)))
	h.Set("RateLimit-Reset", "1")
	if left <= 0 {
		h.Set("Retry-After", "1")
		return false
	}
	s.creations = append(s.creations, now)
	return true
}

// check looks at rules as the service does.
func (n network) check() error {
	domains := false
	for _, a := range n.AllowOut {
		domains = domains || !address(a)
	}
	for _, d := range n.DenyOut {
		if !address(d) {
			return refuse(http.StatusBadRequest, "invalid denied CIDR %s", d)
		}
	}
	if domains && !slices.Contains(n.DenyOut, "0.0.0.0/0") {
		return refuse(http.StatusBadRequest, "when specifying allowed domains in allow out, you must include 'ALL_TRAFFIC' in deny out to block all other traffic")
	}
	return nil
}

// address reports whether a text is an IPv4 address or range.
func address(text string) bool {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Addr().Is4()
	}
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is4() && !strings.Contains(text, "/")
}
