package e2bsim

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	team       = "yudai"
	defaultTag = "default"
)

// Template is what sandboxes start from. Zero values are those of a new one.
type Template struct {
	ID        string
	Name      string
	CPUs      int
	MemoryMiB int
	DiskMiB   int
	// Version is that of the daemon in it.
	Version string
	// User is who commands run as unless the client says otherwise: "user" or "root".
	User string
	// Hide are programs that it lacks, "git" for instance.
	Hide []string
	// DiskBytes bounds the files of a sandbox for real, in memory.
	DiskBytes int64
	// Foreign belongs to another account.
	Foreign bool
}

func (t Template) filled() Template {
	if t.ID == "" {
		t.ID = code(20)
	}
	if t.CPUs == 0 {
		t.CPUs = 2
	}
	if t.MemoryMiB == 0 {
		t.MemoryMiB = 1024
	}
	if t.DiskMiB == 0 {
		t.DiskMiB = 10240
	}
	if t.Version == "" {
		t.Version = "0.6.13"
	}
	if t.User == "" {
		t.User = "user"
	}
	return t
}

// tagged is a build with a name of its own.
type tagged struct {
	Tag     string    `json:"tag"`
	Build   string    `json:"buildID"`
	Created time.Time `json:"createdAt"`
}

// template is a Template that the server knows.
type template struct {
	Template
	dir      string // its files, "" for none of its own
	pending  bool   // it has no ready build yet
	tags     map[string]tagged
	builds   map[string]*build
	envs     map[string]string
	workdir  string
	snapshot bool
	source   string // the sandbox of a snapshot
	newest   string // its tag
}

func newTemplate(t Template) *template {
	return &template{
		Template: t, builds: map[string]*build{},
		tags: map[string]tagged{defaultTag: {Tag: defaultTag, Build: code(20), Created: time.Now().UTC()}},
	}
}

func (t *template) alias() string {
	if t.snapshot {
		return ""
	}
	return t.Name
}

// name is the full name of a snapshot.
func (t *template) name() string {
	if t.Name != "" {
		return team + "/" + t.Name + ":" + t.newest
	}
	return t.ID + ":" + t.newest
}

// nameRule reports whether a text may name a template.
func nameRule(text string) bool { return regexp.MustCompile(`^[a-z0-9_-]{1,128}$`).MatchString(text) }

// resolve finds a template by its id or name, with or without team and tag. s.mu is held.
func (s *Server) resolve(ref string) (*template, error) {
	name, tag, hasTag := strings.Cut(strings.TrimPrefix(ref, team+"/"), ":")
	for _, t := range s.templates {
		if t.ID != name && t.Name != name {
			continue
		}
		if t.Foreign {
			return nil, refuse(http.StatusForbidden, "Team does not have access to the template '%s'", ref)
		}
		if _, known := t.tags[tag]; !hasTag || known {
			return t, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "template '%s' not found", ref)
}

// aliasOrTags is GET /templates/aliases/{alias} and GET /templates/{id}/tags.
func (s *Server) aliasOrTags(w http.ResponseWriter, r *http.Request) (int, any, error) {
	if r.PathValue("id") != "aliases" {
		return s.listTags(w, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.resolve(r.PathValue("of"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"templateID": t.ID, "public": false}, nil
}

// entry is a template in a list.
func (t *template) entry() map[string]any {
	names := []string{}
	if t.Name != "" {
		names = append(names, t.Name)
	}
	return map[string]any{
		"templateID": t.ID, "buildID": t.tags[defaultTag].Build, "cpuCount": t.CPUs, "memoryMB": t.MemoryMiB, "diskSizeMB": t.DiskMiB,
		"public": false, "aliases": names, "names": names, "envdVersion": t.Version, "buildCount": len(t.builds), "buildStatus": "ready",
	}
}

// listTemplates is GET /v2/templates.
func (s *Server) listTemplates(_ http.ResponseWriter, _ *http.Request) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []map[string]any{}
	for _, t := range s.templates {
		if !t.snapshot && !t.Foreign {
			all = append(all, t.entry())
		}
	}
	return http.StatusOK, all, nil
}

// getTemplate is GET /templates/{id}.
func (s *Server) getTemplate(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.resolve(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, t.entry(), nil
}

// deleteTemplate is DELETE /templates/{id}, for snapshots as well.
func (s *Server) deleteTemplate(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.resolve(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	for _, b := range s.boxes {
		if b.template == t {
			return 0, nil, refuse(http.StatusBadRequest, "cannot delete template '%s' because there are paused or running sandboxes using it", t.ID)
		}
	}
	delete(s.templates, t.ID)
	if t.dir != "" {
		if err := os.RemoveAll(t.dir); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusNoContent, nil, nil
}

// listTags is GET /templates/{id}/tags.
func (s *Server) listTags(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if r.PathValue("of") != "tags" {
		return 0, nil, refuse(http.StatusNotFound, "no such route")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.resolve(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	all := []tagged{}
	for _, tag := range t.tags {
		all = append(all, tag)
	}
	slices.SortFunc(all, func(a, b tagged) int { return strings.Compare(a.Tag, b.Tag) })
	return http.StatusOK, all, nil
}

// addTags is POST /templates/tags: the build that the target names gets more names.
func (s *Server) addTags(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body struct {
		Target string   `json:"target"`
		Tags   []string `json:"tags"`
	}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.resolve(body.Target)
	if err != nil {
		return 0, nil, err
	}
	_, tag, ok := strings.Cut(body.Target, ":")
	if !ok {
		tag = defaultTag
	}
	of := t.tags[tag].Build
	for _, name := range body.Tags {
		t.tags[name] = tagged{Tag: name, Build: of, Created: s.now()}
	}
	return http.StatusCreated, map[string]any{"buildID": of, "tags": body.Tags}, nil
}

// removeTags is DELETE /templates/tags.
func (s *Server) removeTags(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.resolve(body.Name)
	if err != nil {
		return 0, nil, err
	}
	for _, tag := range body.Tags {
		delete(t.tags, tag)
	}
	return http.StatusNoContent, nil, nil
}

// older reports whether version a comes before b.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m < n
		}
	}
	return len(x) < len(y)
}
