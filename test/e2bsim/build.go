package e2bsim

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Step is one step of a template build, as the client sent it.
type Step struct {
	Type      string   `json:"type"`
	Args      []string `json:"args"`
	FilesHash string   `json:"filesHash,omitempty"`
	Force     bool     `json:"force,omitempty"`
}

// Recipe is what a template is built from.
type Recipe struct {
	FromImage    string `json:"fromImage,omitempty"`
	FromTemplate string `json:"fromTemplate,omitempty"`
	Steps        []Step `json:"steps,omitempty"`
	StartCmd     string `json:"startCmd,omitempty"`
	ReadyCmd     string `json:"readyCmd,omitempty"`
	Force        bool   `json:"force,omitempty"`
}

// build is one build of a template.
type build struct {
	id     string
	tags   []string
	spec   Template // what it was asked to be
	recipe Recipe
	status string
	reason string
	step   string
	log    []logLine
}

type logLine struct {
	Timestamp time.Time `json:"timestamp"`
	Level     string    `json:"level"`
	Message   string    `json:"message"`
	Step      string    `json:"step,omitempty"`
}

// Recipe returns what the template of a name was last built from.
func (s *Server) Recipe(name string) (Recipe, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.resolve(name)
	if err != nil {
		return Recipe{}, false
	}
	b := t.builds[t.tags[defaultTag].Build]
	if b == nil {
		return Recipe{}, false
	}
	return b.recipe, true
}

// newBuild is POST /v3/templates.
func (s *Server) newBuild(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body struct {
		Name   string   `json:"name"`
		Tags   []string `json:"tags"`
		CPUs   int      `json:"cpuCount"`
		Memory int      `json:"memoryMB"`
	}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	name, tag, hasTag := strings.Cut(body.Name, ":")
	spec := Template{Name: strings.TrimPrefix(name, team+"/"), CPUs: body.CPUs, MemoryMiB: body.Memory}.filled()
	switch plan := s.o.Plan; {
	case !nameRule(spec.Name):
		return 0, nil, refuse(http.StatusBadRequest, "invalid template name %q", body.Name)
	case spec.CPUs < 1 || spec.CPUs > plan.CPUs || spec.CPUs > 1 && spec.CPUs%2 != 0:
		return 0, nil, refuse(http.StatusBadRequest, "CPU count must be 1 or an even number, at most %d", plan.CPUs)
	case spec.MemoryMiB < 128 || spec.MemoryMiB > plan.MemoryMiB || spec.MemoryMiB%2 != 0:
		return 0, nil, refuse(http.StatusBadRequest, "Memory must be an even number of MiB, 128 to %d", plan.MemoryMiB)
	}
	if hasTag {
		body.Tags = append(body.Tags, tag)
	}
	if len(body.Tags) == 0 {
		body.Tags = []string{defaultTag}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.named(spec)
	if t.Foreign {
		return 0, nil, refuse(http.StatusForbidden, "the name %q is taken", spec.Name)
	}
	b := &build{id: code(20), tags: body.Tags, spec: spec, status: "waiting"}
	t.builds[b.id] = b
	return http.StatusAccepted, map[string]any{
		"templateID": t.ID, "buildID": b.id, "names": []string{team + "/" + t.Name}, "tags": b.tags, "public": false, "aliases": []string{t.Name},
	}, nil
}

// named returns the template of a name, a new one if there is none. s.mu is held.
func (s *Server) named(spec Template) *template {
	for _, t := range s.templates {
		if t.Name == spec.Name && !t.snapshot {
			return t
		}
	}
	t := newTemplate(spec)
	t.pending, t.tags = true, map[string]tagged{}
	s.templates[t.ID] = t
	return t
}

// uploadLink is GET /templates/{id}/files/{hash}.
func (s *Server) uploadLink(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	hash := r.PathValue("hash")
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(hash) {
		return 0, nil, refuse(http.StatusBadRequest, "invalid hash")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.resolve(r.PathValue("id")); err != nil {
		return 0, nil, err
	}
	if _, err := os.Stat(s.uploaded(hash)); err == nil {
		return http.StatusCreated, map[string]any{"present": true}, nil
	}
	ticket := code(32)
	s.uploads[ticket] = hash
	return http.StatusCreated, map[string]any{"present": false, "url": s.URL() + "/upload/" + ticket, "headers": map[string]string{"x-upload-check": ticket}}, nil
}

// uploaded is where the archive of a hash is.
func (s *Server) uploaded(hash string) string { return filepath.Join(s.dir, "upload-"+hash) }

// upload stands for the object store: it wants the headers that came with the
// link, and the exact length beforehand.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	ticket := r.PathValue("ticket")
	s.mu.Lock()
	hash, ok := s.uploads[ticket]
	s.mu.Unlock()
	switch {
	case !ok || r.Header.Get("X-Upload-Check") != ticket:
		http.Error(w, "<Error><Code>AccessDenied</Code></Error>", http.StatusForbidden)
		return
	case r.ContentLength < 0:
		http.Error(w, "<Error><Code>MissingContentLength</Code></Error>", http.StatusLengthRequired)
		return
	}
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = os.WriteFile(s.uploaded(hash), data, 0o600)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// startBuild is POST /v2/templates/{id}/builds/{build}.
func (s *Server) startBuild(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var recipe Recipe
	if err := read(r, &recipe); err != nil {
		return 0, nil, err
	}
	if (recipe.FromImage == "") == (recipe.FromTemplate == "") {
		return 0, nil, refuse(http.StatusBadRequest, "exactly one of fromImage and fromTemplate is needed")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.resolve(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	b := t.builds[r.PathValue("build")]
	if b == nil {
		return 0, nil, refuse(http.StatusNotFound, "build not found")
	}
	if b.status != "waiting" || s.closed {
		return 0, nil, refuse(http.StatusConflict, "the build has begun")
	}
	if err := s.checkSteps(recipe); err != nil {
		return 0, nil, err
	}
	b.status, b.recipe = "building", recipe
	fault := faultOf(r.Context())
	s.work.Go(func() { s.build(t, b, fault) })
	return http.StatusAccepted, nil, nil
}

// checkSteps looks at the steps of a recipe. s.mu is held.
func (s *Server) checkSteps(recipe Recipe) error {
	if recipe.FromTemplate != "" {
		if _, err := s.resolve(recipe.FromTemplate); err != nil {
			return err
		}
	}
	least := map[string]int{"RUN": 1, "COPY": 2, "ENV": 2, "WORKDIR": 1, "USER": 1}
	for i, step := range recipe.Steps {
		n, known := least[step.Type]
		if !known || len(step.Args) < n {
			return refuse(http.StatusBadRequest, "step %d: unknown type %q, or too few arguments", i+1, step.Type)
		}
		if step.Type != "COPY" {
			continue
		}
		if _, err := os.Stat(s.uploaded(step.FilesHash)); err != nil || step.FilesHash == "" {
			return refuse(http.StatusBadRequest, "step %d: the files were not uploaded", i+1)
		}
	}
	return nil
}

// build does what a recipe says, and gives the template its new files.
func (s *Server) build(t *template, b *build, fault *Fault) {
	made := s.place("template")
	w := &templateBuild{server: s, recipe: b.recipe, dir: made, user: "user", note: func(step int, text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		b.step = strconv.Itoa(step)
		b.log = append(b.log, logLine{s.now(), "info", text, b.step})
	}}
	err := w.run()
	if fault != nil && fault.Kind == FaultFail {
		err = refuse(http.StatusBadRequest, "%s", fault.Message)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		_ = os.RemoveAll(made)
		b.status, b.reason = "error", err.Error()
		b.log = append(b.log, logLine{s.now(), "error", err.Error(), b.step})
		return
	}
	b.log = append(b.log, logLine{s.now(), "info", "Build finished", "finalize"})
	// Sandboxes of the build before keep theirs, as they have a copy of the files.
	if t.dir != "" {
		_ = os.RemoveAll(t.dir)
	}
	t.dir, t.pending, t.workdir, t.User = w.made(), false, w.workdir, w.user
	t.CPUs, t.MemoryMiB, t.Version = b.spec.CPUs, b.spec.MemoryMiB, b.spec.Version
	for _, tag := range append(b.tags, defaultTag) {
		t.tags[tag] = tagged{Tag: tag, Build: b.id, Created: s.now()}
	}
	b.status = "ready"
}

// buildStatus is GET /templates/{id}/builds/{build}/status.
func (s *Server) buildStatus(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	q := r.URL.Query()
	offset, _ := strconv.Atoi(q.Get("logsOffset"))
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 100
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.templates[r.PathValue("id")]
	if !ok {
		return 0, nil, refuse(http.StatusNotFound, "template not found")
	}
	b := t.builds[r.PathValue("build")]
	if b == nil {
		return 0, nil, refuse(http.StatusNotFound, "build not found")
	}
	page := b.log[min(max(offset, 0), len(b.log)):]
	page = notNil(page[:min(limit, len(page))])
	lines := []string{}
	for _, l := range page {
		lines = append(lines, fmt.Sprintf("[%s] %s\n", l.Timestamp.Format(time.RFC3339), l.Message))
	}
	body := map[string]any{"templateID": t.ID, "buildID": b.id, "status": b.status, "logEntries": page, "logs": lines}
	if b.status == "error" {
		body["reason"] = map[string]any{"message": b.reason, "step": b.step, "logEntries": []logLine{}}
	}
	return http.StatusOK, body, nil
}
