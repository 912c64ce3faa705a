package e2bsim

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
)

// forked is one of the answers of a fork.
type forked struct {
	Sandbox *shown     `json:"sandbox,omitempty"`
	Error   *errorBody `json:"error,omitempty"`
}

// fork is POST /sandboxes/{id}/fork: the running sandbox is captured once, and
// each copy starts, or fails, by itself.
func (s *Server) fork(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	body := struct {
		Timeout int `json:"timeout"`
		Count   int `json:"count"`
	}{15, 1}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	switch plan := s.o.Plan; {
	case body.Count < 1 || body.Count > plan.ForkCap:
		return 0, nil, refuse(http.StatusBadRequest, "count must be 1 to %d", plan.ForkCap)
	case body.Count >= plan.Concurrent:
		return 0, nil, refuse(http.StatusBadRequest, "count must be below the limit of concurrent sandboxes (%d)", plan.Concurrent)
	case body.Timeout < 1 || float64(body.Timeout) > plan.Session.Seconds():
		return 0, nil, refuse(http.StatusBadRequest, "Timeout cannot be greater than %g hours", plan.Session.Hours())
	}
	parent, dir, err := s.capture(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	results := make([]forked, body.Count)
	var copies sync.WaitGroup
	for i := range results {
		copies.Go(func() { results[i] = s.copyOf(parent, dir, body.Timeout) })
	}
	copies.Wait()
	if f := faultOf(r.Context()); f != nil && f.Kind == FaultFail {
		last := &results[len(results)-1]
		if last.Sandbox != nil {
			s.Kill(last.Sandbox.SandboxID)
		}
		*last = forked{Error: &errorBody{Code: max(f.Status, http.StatusInternalServerError), Message: f.Message, Slug: f.Slug}}
	}
	return http.StatusCreated, results, nil
}

// copyOf starts one copy of a captured sandbox.
func (s *Server) copyOf(parent *box, dir string, seconds int) forked {
	s.mu.Lock()
	if !s.room() {
		s.mu.Unlock()
		return forked{Error: &errorBody{Code: http.StatusTooManyRequests, Message: capacityText(s.o.Plan.Concurrent)}}
	}
	b := s.newBox(parent.template, seconds)
	b.metadata, b.envs, b.network, b.autoPause = parent.metadata, maps.Clone(parent.envs), parent.network, parent.autoPause
	s.mu.Unlock()
	if err := s.boot(b, dir); err != nil {
		_, _ = s.remove(b.id)
		return forked{Error: &errorBody{Code: http.StatusInternalServerError, Message: err.Error(), Slug: "sandbox_create_failed"}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	view := b.show()
	return forked{Sandbox: &view}
}

// capture copies the files of a running sandbox. Its streams are cut; its
// processes go on.
func (s *Server) capture(id string) (*box, string, error) {
	s.mu.Lock()
	b := s.find(id)
	s.mu.Unlock()
	if b == nil {
		return nil, "", gone(id)
	}
	if !b.change.TryLock() {
		return nil, "", refuse(http.StatusConflict, "sandbox %q is changing its state", id)
	}
	defer b.change.Unlock()
	s.mu.Lock()
	if s.find(id) == nil || b.state != running || s.over(b) {
		s.mu.Unlock()
		return nil, "", gone(id)
	}
	if older(b.template.Version, "0.5.0") {
		s.mu.Unlock()
		return nil, "", refuse(http.StatusBadRequest, "the template's envd %s is too old: rebuild the template", b.template.Version)
	}
	m, d := b.machine, b.daemon
	b.capturing = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		b.capturing = false
		s.mu.Unlock()
	}()
	d.cut()
	dir := s.place("capture")
	if err := m.Save(dir); err != nil {
		return nil, "", err
	}
	return b, dir, nil
}

// stored is a snapshot in an answer.
type stored struct {
	ID    string   `json:"snapshotID"`
	Names []string `json:"names"`
}

// snapshot is POST /sandboxes/{id}/snapshots: the capture becomes a template.
func (s *Server) snapshot(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body struct {
		Name string `json:"name"`
	}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	name, tag, _ := strings.Cut(body.Name, ":")
	if tag == "" {
		tag = defaultTag
	}
	if body.Name != "" && !nameRule(name) {
		return 0, nil, refuse(http.StatusBadRequest, "invalid name %q", body.Name)
	}
	b, dir, err := s.capture(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.keep(b.template.Template, name)
	if err != nil {
		return 0, nil, errors.Join(err, os.RemoveAll(dir))
	}
	if t.dir != "" {
		if err := os.RemoveAll(t.dir); err != nil {
			return 0, nil, err
		}
	}
	t.dir, t.source, t.envs, t.newest = dir, b.id, maps.Clone(b.envs), tag
	t.tags[tag] = tagged{Tag: tag, Build: code(20), Created: s.now()}
	return http.StatusCreated, t.stored(), nil
}

// keep returns the template of a new snapshot: the one that has the name already,
// or a new one. s.mu is held.
func (s *Server) keep(from Template, name string) (*template, error) {
	for _, t := range s.templates {
		if name == "" || t.Name != name {
			continue
		}
		if !t.snapshot {
			return nil, refuse(http.StatusConflict, "the name %q belongs to a template", name)
		}
		return t, nil
	}
	t := newTemplate(from)
	t.ID, t.Name, t.snapshot, t.tags = code(20), name, true, map[string]tagged{}
	s.templates[t.ID] = t
	return t, nil
}

func (t *template) stored() stored {
	view := stored{ID: t.name(), Names: []string{}}
	if t.Name != "" {
		view.Names = []string{t.name()}
	}
	return view
}

// listSnapshots is GET /snapshots, on one page.
func (s *Server) listSnapshots(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []stored{}
	for _, t := range s.templates {
		if t.snapshot && (q.Get("sandboxID") == "" || q.Get("sandboxID") == t.source) && (q.Get("name") == "" || q.Get("name") == t.Name || q.Get("name") == t.name()) {
			all = append(all, t.stored())
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return strings.Compare(a.ID, b.ID) })
	return http.StatusOK, all, nil
}
