package primesim

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// control is one request to the control plane, at work under the lock.
type control struct {
	s    *Server
	r    *http.Request
	body []byte
	ids  []string // what stands for {id} in the route
	hit  *Injection
}

// box is the sandbox that the route names, nil if there is none.
func (c *control) box() *box { return c.s.byID[c.ids[0]] }

// reply is an answer of the control plane.
type reply struct {
	status int
	body   any
}

func ok(body any) reply { return reply{http.StatusOK, body} }

// detail is the usual form of a refusal.
func detail(status int, text string) reply {
	return reply{status, map[string]any{"detail": text}}
}

// invalid is the refusal of one parameter.
func invalid(param, details string) reply {
	return reply{http.StatusUnprocessableEntity, map[string]any{"errors": []map[string]string{{"param": param, "details": details}}}}
}

func noSandbox() reply { return detail(http.StatusNotFound, "Sandbox not found") }

// decode reads the body into v; unknown keys are refused, so that a client's slip is seen.
func (c *control) decode(v any) (reply, bool) {
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return invalid("body", err.Error()), false
	}
	return reply{}, true
}

// route is one endpoint; "{id}" in its path stands for one part.
type route struct {
	method, path string
	call         Call
	do           func(*control) reply
}

// controlRoutes are the endpoints; the first that fits is taken.
func (s *Server) controlRoutes() []route {
	routes := []route{
		{"POST", "sandbox", CallCreate, create},
		{"GET", "sandbox", CallList, list},
		{"DELETE", "sandbox", CallBulkDelete, bulkDelete},
		{"GET", "user/whoami", CallAccount, whoami},
		{"GET", "user/teams", CallAccount, teams},
	}
	if !s.o.NoBatch {
		routes = append(routes,
			route{"POST", "sandbox/status:batchGet", CallStatuses, statuses},
			route{"POST", "sandbox/background-jobs/status:batchGet", CallJobs, jobs})
	}
	if !s.o.NoCheckpoints {
		routes = append(routes,
			route{"POST", "sandbox/checkpoints:batchGet", CallCheckpoints, checkpointsByID},
			route{"GET", "sandbox/checkpoints/{id}", CallCheckpointGet, checkpointGet},
			route{"DELETE", "sandbox/checkpoints/{id}", CallCheckpointDelete, checkpointDelete},
			route{"POST", "sandbox/{id}/checkpoints", CallCheckpoint, checkpointTake},
			route{"GET", "sandbox/{id}/checkpoints", CallCheckpoints, checkpointsOf},
			route{"DELETE", "sandbox/{id}/checkpoints", CallCheckpointsDelete, checkpointsDelete})
	}
	return append(routes,
		route{"GET", "sandbox/{id}", CallGet, get},
		route{"DELETE", "sandbox/{id}", CallDelete, remove},
		route{"POST", "sandbox/{id}/auth", CallAuth, auth},
		route{"GET", "sandbox/{id}/error-context", CallErrorContext, errorContext},
		route{"GET", "sandbox/{id}/logs", CallLogs, logs},
		route{"GET", "sandbox/{id}/egress-policy", CallEgressGet, egressGet},
		route{"PUT", "sandbox/{id}/egress-policy", CallEgressPut, egressPut})
}

// fits returns the parts of path that stand for {id}.
func (t route) fits(method, path string) (ids []string, fits bool) {
	want, have := strings.Split(t.path, "/"), strings.Split(path, "/")
	if t.method != method || len(want) != len(have) {
		return nil, false
	}
	for i, w := range want {
		switch {
		case w == "{id}" && have[i] != "":
			ids = append(ids, have[i])
		case w != have[i]:
			return nil, false
		}
	}
	return ids, true
}

const apiPrefix = "/api/v1/"

// resolve finds what a request asks for, and which sandbox it concerns.
func (s *Server) resolve(r *http.Request) (Call, *box, http.HandlerFunc) {
	path, isControl := strings.CutPrefix(r.URL.Path, apiPrefix)
	if !isControl {
		return s.resolveGateway(r)
	}
	for _, t := range s.routes {
		ids, fits := t.fits(r.Method, path)
		if !fits {
			continue
		}
		var b *box
		if len(ids) > 0 {
			s.mu.Lock()
			b = s.byID[ids[0]]
			s.mu.Unlock()
		}
		return t.call, b, func(w http.ResponseWriter, r *http.Request) { s.control(w, r, t, ids) }
	}
	return callUnknown, nil, func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, callUnknown, http.StatusNotFound, "Not Found")
	}
}

// control answers one request to the control plane.
func (s *Server) control(w http.ResponseWriter, r *http.Request, t route, ids []string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil {
		return // the client left
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.stepAll()
	answer := detail(http.StatusUnauthorized, "API key unauthorized")
	if key, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found && s.keys[key] {
		answer = t.do(&control{s: s, r: r, body: body, ids: ids, hit: fault(r.Context())})
	}
	s.wake()
	data, err := json.Marshal(answer.body) // what it points to changes outside the lock
	s.mu.Unlock()
	if err != nil {
		s.refuse(w, t.call, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, answer.status, json.RawMessage(data))
}

func whoami(*control) reply {
	return ok(map[string]any{"data": map[string]any{
		"id": userID, "email": "stub@example.org", "name": "Stub", "slug": "stub", "scope": map[string]any{"sandbox": map[string]bool{"read": true, "write": true}},
	}})
}

func teams(c *control) reply {
	data := []map[string]any{}
	if c.s.o.Team != "" {
		data = append(data, map[string]any{"teamId": c.s.o.Team, "name": "Team", "slug": "team", "role": "ADMIN", "createdAt": stamp(c.s.now())})
	}
	return ok(map[string]any{"data": data, "total": len(data), "offset": 0, "limit": 100})
}
