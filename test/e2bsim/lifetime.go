package e2bsim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// kill is DELETE /sandboxes/{id}.
func (s *Server) kill(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	id := r.PathValue("id")
	found, err := s.remove(id)
	if err == nil && !found {
		err = gone(id)
	}
	return http.StatusNoContent, nil, err
}

// setTimeout is POST /sandboxes/{id}/timeout: the end is so far from now, and no
// further than the plan lets a session last.
func (s *Server) setTimeout(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body struct {
		Timeout int `json:"timeout"`
	}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	if body.Timeout < 0 {
		return 0, nil, refuse(http.StatusBadRequest, "timeout must not be negative")
	}
	err := s.prolong(r.PathValue("id"), time.Duration(body.Timeout)*time.Second, false)
	s.sweep()
	return http.StatusNoContent, nil, err
}

// refresh is POST /sandboxes/{id}/refreshes: the end moves away only.
func (s *Server) refresh(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	body := struct {
		Duration int `json:"duration"`
	}{15}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	if body.Duration < 15 || body.Duration > 3600 {
		return 0, nil, refuse(http.StatusBadRequest, "duration must be 15 to 3600")
	}
	return http.StatusNoContent, nil, s.prolong(r.PathValue("id"), time.Duration(body.Duration)*time.Second, true)
}

// prolong sets the end of a running sandbox; only tells that it must not come nearer.
func (s *Server) prolong(id string, life time.Duration, only bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.find(id)
	if b == nil || b.state != running || s.over(b) {
		return gone(id)
	}
	end, last := s.now().Add(life), b.started.Add(s.o.Plan.Session)
	if s.now().After(last) {
		return refuse(http.StatusBadRequest, "Max instance length exceeded")
	}
	if end.After(last) {
		end = last
	}
	if !only || end.After(b.end) {
		b.end = end
	}
	s.arm()
	return nil
}

// pause is POST /sandboxes/{id}/pause.
func (s *Server) pause(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body struct {
		Memory *bool `json:"memory"`
	}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	id := r.PathValue("id")
	s.mu.Lock()
	b := s.find(id)
	s.mu.Unlock()
	if b == nil {
		return 0, nil, gone(id)
	}
	if !b.change.TryLock() {
		return 0, nil, refuse(http.StatusConflict, "sandbox %q is changing its state", id)
	}
	defer b.change.Unlock()
	s.mu.Lock()
	now := s.find(id)
	asleep := now != nil && now.state == paused
	s.mu.Unlock()
	switch {
	case now == nil:
		return 0, nil, gone(id)
	case asleep:
		return 0, nil, refuse(http.StatusConflict, "sandbox %q is already paused", id)
	}
	s.stop(b)
	return http.StatusNoContent, nil, nil
}

// connect is POST /v2/sandboxes/{id}/connect: 200 where the sandbox runs, 201
// where it was woken.
func (s *Server) connect(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	return s.wake(r, 300)
}

// resume is the old way to wake a sandbox.
func (s *Server) resume(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	s.mu.Lock()
	b := s.find(r.PathValue("id"))
	awake := b != nil && b.state == running && !s.over(b)
	s.mu.Unlock()
	if awake {
		return 0, nil, refuse(http.StatusConflict, "sandbox %q is running", r.PathValue("id"))
	}
	return s.wake(r, 15)
}

func (s *Server) wake(r *http.Request, seconds int) (int, any, error) {
	body := struct {
		Timeout int   `json:"timeout"`
		Memory  *bool `json:"memory"`
	}{Timeout: seconds}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	life := time.Duration(body.Timeout) * time.Second
	if life < 0 || life > s.o.Plan.Session {
		return 0, nil, refuse(http.StatusBadRequest, "Timeout cannot be greater than %g hours", s.o.Plan.Session.Hours())
	}
	id := r.PathValue("id")
	s.mu.Lock()
	b := s.find(id)
	s.mu.Unlock()
	if b == nil {
		return 0, nil, gone(id)
	}
	b.change.Lock()
	defer b.change.Unlock()
	return s.rouse(b, life)
}

// rouse starts a paused sandbox, or gives a running one more time. b.change is held.
func (s *Server) rouse(b *box, life time.Duration) (int, any, error) {
	s.mu.Lock()
	if s.find(b.id) == nil {
		s.mu.Unlock()
		return 0, nil, gone(b.id)
	}
	if s.over(b) {
		s.mu.Unlock()
		s.stop(b)
		s.mu.Lock()
	}
	if b.state == running {
		defer s.mu.Unlock()
		if end := s.now().Add(life); end.After(b.end) {
			b.end = end
		}
		s.arm()
		return http.StatusOK, b.show(), nil
	}
	if !s.room() {
		s.mu.Unlock()
		return 0, nil, refuse(http.StatusTooManyRequests, "%s", capacityText(s.o.Plan.Concurrent))
	}
	b.state, b.token = starting, "ea_"+code(48)
	b.started = s.now()
	b.end = b.started.Add(life)
	s.mu.Unlock()
	if err := s.boot(b, ""); err != nil {
		s.mu.Lock()
		b.state = paused
		s.mu.Unlock()
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return http.StatusCreated, b.show(), nil
}

// setNetwork is PUT /sandboxes/{id}/network: all rules are replaced.
func (s *Server) setNetwork(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var n network
	if err := read(r, &n); err != nil {
		return 0, nil, err
	}
	if err := n.check(); err != nil {
		return 0, nil, err
	}
	id := r.PathValue("id")
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.find(id)
	if b == nil {
		return 0, nil, gone(id)
	}
	if b.state != running {
		return 0, nil, refuse(http.StatusConflict, "sandbox %q is not running", id)
	}
	n.AllowPublicTraffic = b.network.AllowPublicTraffic
	b.network = n
	return http.StatusNoContent, nil, nil
}

// logs is GET /v2/sandboxes/{id}/logs: events of the platform, no output.
func (s *Server) logs(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	type entry struct {
		Timestamp time.Time         `json:"timestamp"`
		Level     string            `json:"level"`
		Message   string            `json:"message"`
		Fields    map[string]string `json:"fields"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.find(r.PathValue("id"))
	if b == nil {
		return 0, nil, gone(r.PathValue("id"))
	}
	return http.StatusOK, map[string]any{"logs": []entry{{b.started, "info", "Sandbox was started", map[string]string{}}}}, nil
}

// metric is one measurement of a sandbox.
type metric struct {
	Timestamp time.Time `json:"timestamp"`
	Unix      int64     `json:"timestampUnix"`
	CPUs      int       `json:"cpuCount"`
	CPUUsed   float64   `json:"cpuUsedPct"`
	MemUsed   int64     `json:"memUsed"`
	MemTotal  int64     `json:"memTotal"`
	MemCache  int64     `json:"memCache"`
	DiskUsed  int64     `json:"diskUsed"`
	DiskTotal int64     `json:"diskTotal"`
}

// measure returns what a sandbox uses, as far as this machine tells. s.mu is held.
func (s *Server) measure(b *box) metric {
	now, t := s.now(), b.template
	return metric{
		Timestamp: now, Unix: now.Unix(), CPUs: t.CPUs, CPUUsed: 1.5, MemUsed: 64 << 20,
		MemTotal: int64(t.MemoryMiB) << 20, DiskUsed: 1 << 30, DiskTotal: int64(t.DiskMiB) << 20,
	}
}

// metrics is GET /sandboxes/{id}/metrics.
func (s *Server) metrics(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.find(r.PathValue("id"))
	if b == nil {
		return 0, nil, gone(r.PathValue("id"))
	}
	return http.StatusOK, []metric{s.measure(b)}, nil
}

// metricsOfMany is GET /sandboxes/metrics.
func (s *Server) metricsOfMany(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	ids := strings.Split(strings.Join(r.URL.Query()["sandbox_ids"], ","), ",")
	if len(ids) > 100 {
		return 0, nil, refuse(http.StatusBadRequest, "%s sandboxes are too many", strconv.Itoa(len(ids)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]metric{}
	for _, id := range ids {
		if b := s.find(id); b != nil {
			all[id] = s.measure(b)
		}
	}
	return http.StatusOK, map[string]any{"sandboxes": all}, nil
}
