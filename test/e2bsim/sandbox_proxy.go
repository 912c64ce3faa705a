package e2bsim

import (
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"strings"
)

// envdPort is the daemon's port in every sandbox.
const envdPort = "49983"

// sandboxOf returns which sandbox a request is for, by its host name or header.
func sandboxOf(r *http.Request) string {
	if id := r.Header.Get("E2b-Sandbox-Id"); id != "" {
		return id
	}
	_, id := portAndID(r.Host)
	return id
}

// portAndID reads PORT-ID.DOMAIN.
func portAndID(host string) (port, id string) {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	label, _, _ := strings.Cut(host, ".")
	m := regexp.MustCompile(`^(\d+)-(i[a-z0-9]+)$`).FindStringSubmatch(label)
	if m == nil {
		return "", ""
	}
	return m[1], m[2]
}

// proxyHandler is the way into the sandboxes.
func (s *Server) proxyHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := sandboxOf(r)
		if id == "" {
			http.Error(w, "missing header", http.StatusBadRequest)
			return
		}
		s.disturbed(callOf(r), id, func(w http.ResponseWriter, r *http.Request) { s.forward(w, r, id) })(w, r)
	})
}

// forward hands a request to the daemon of a sandbox that runs.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, id string) {
	port := r.Header.Get("E2b-Sandbox-Port")
	if p, _ := portAndID(r.Host); p != "" {
		port = p
	}
	s.mu.Lock()
	b := s.find(id)
	var d *daemon
	if b != nil && b.state == running && !s.over(b) {
		d = b.daemon
	}
	s.mu.Unlock()
	switch {
	case d == nil:
		s.proxyError(w, r, http.StatusBadGateway, map[string]any{"sandboxId": id, "message": "The sandbox was not found", "code": http.StatusBadGateway})
	case port != "" && port != envdPort || d.crashed():
		s.proxyError(w, r, http.StatusBadGateway, map[string]any{
			"sandboxId": id, "message": "The sandbox is running but port is not open", "port": port, "code": http.StatusBadGateway,
		})
	case closedRoute(r.URL.Path):
		s.proxyError(w, r, http.StatusNotFound, map[string]any{"sandboxId": id, "message": "not found", "code": http.StatusNotFound})
	default:
		d.ServeHTTP(w, r)
	}
}

// closedRoute reports the daemon's own controls, which the edge does not let through.
func closedRoute(path string) bool {
	switch path {
	case "/init", "/freeze", "/upgrade":
		return true
	}
	return false
}

// proxyError answers with JSON, and with a page where the client looks like a browser.
func (s *Server) proxyError(w http.ResponseWriter, r *http.Request, status int, body map[string]any) {
	agent := strings.ToLower(r.UserAgent())
	for _, name := range []string{"mozilla", "chrome", "safari", "firefox", "edge", "opera", "msie"} {
		if strings.Contains(agent, name) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<!DOCTYPE html><title>Sandbox</title>"))
			return
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// callOf names what a request asks of a sandbox.
func callOf(r *http.Request) Call {
	switch path := r.URL.Path; {
	case path == "/process.Process/Start":
		return CallStart
	case path == "/process.Process/Connect":
		return CallAttach
	case path == "/process.Process/List":
		return CallProcesses
	case path == "/process.Process/SendSignal":
		return CallSignal
	case strings.HasPrefix(path, "/process.Process/"):
		return CallInput
	case strings.HasPrefix(path, "/filesystem.Filesystem/"):
		return CallFilesystem
	case path == "/files" && r.Method == http.MethodGet:
		return CallRead
	case path == "/files":
		return CallWrite
	case path == "/files/compose":
		return CallCompose
	case path == "/health":
		return CallHealth
	}
	return CallOther
}
