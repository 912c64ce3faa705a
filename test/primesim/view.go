package primesim

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// stamp is a time as the service writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// view is a sandbox as the service shows it.
func (s *Server) view(b *box) map[string]any {
	v := map[string]any{
		"id": b.id, "name": b.req.Name, "dockerImage": b.req.DockerImage, "cpuCores": *b.req.CPUCores, "memoryGB": *b.req.MemoryGB,
		"diskSizeGB": *b.req.DiskSizeGB, "diskMountPath": "/sandbox-workspace", "gpuCount": b.req.GPUCount, "gpuType": b.req.GPUType, "vm": true,
		"status": b.status, "timeoutMinutes": b.req.TimeoutMinutes, "idleTimeoutMinutes": b.req.IdleTimeoutMinutes,
		"labels": orEmpty(b.req.Labels), "environmentVars": b.req.EnvironmentVars, "secrets": masked(b.req.Secrets),
		"networkAllowlist": b.egress.allow, "networkDenylist": b.egress.deny, "startCommand": b.req.StartCommand,
		"createdAt": stamp(b.created), "updatedAt": stamp(b.updated), "userId": userID, "teamId": orNil(b.req.TeamID), "region": b.req.Region,
		"errorType": orNil(b.errorType), "errorMessage": nil, "terminationReason": nil, "startedAt": nil, "terminatedAt": nil,
		"exitCode": nil, "pendingImageBuildId": orNil(b.build), "kubernetesJobId": nil,
	}
	if !b.started.IsZero() {
		v["startedAt"] = stamp(b.started)
	}
	if b.over() {
		v["terminatedAt"], v["terminationReason"] = stamp(b.ended), orNil(b.message)
		if b.errorType != "" {
			v["errorMessage"] = b.message
		}
	}
	return v
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func masked(secrets map[string]string) map[string]string {
	out := map[string]string{}
	for k := range secrets {
		out[k] = "***"
	}
	return out
}

func get(c *control) reply {
	if b := c.box(); b != nil {
		return ok(c.s.view(b))
	}
	return noSandbox()
}

// list shows sandboxes, the newest first, by page.
func list(c *control) reply {
	q := c.r.URL.Query()
	number := func(key string, standard, most int) int {
		n, err := strconv.Atoi(q.Get(key))
		if err != nil || n < 1 {
			return standard
		}
		return min(n, most)
	}
	page, per := number("page", 1, 1<<20), number("per_page", 50, 1000)
	active, _ := strconv.ParseBool(q.Get("is_active"))
	var found []*box
	for _, b := range slices.Backward(c.s.boxes) {
		switch {
		case b.req.TeamID != q.Get("team_id"):
		case q.Get("user_id") != "" && q.Get("user_id") != userID:
		case q.Get("status") != "" && q.Get("status") != b.status:
		case active && b.over():
		case !b.labelled(q["labels"]):
		default:
			found = append(found, b)
		}
	}
	shown := []map[string]any{}
	from := min((page-1)*per, len(found))
	for _, b := range found[from:min(from+per, len(found))] {
		shown = append(shown, c.s.view(b))
	}
	return ok(map[string]any{"sandboxes": shown, "total": len(found), "page": page, "per_page": per, "has_next": page*per < len(found)})
}

// labelled reports whether a sandbox has all the labels.
func (b *box) labelled(all []string) bool {
	for _, l := range all {
		if !slices.Contains(b.req.Labels, l) {
			return false
		}
	}
	return true
}

// statuses answers the statuses of many sandboxes at once.
func statuses(c *control) reply {
	var req struct {
		SandboxIDs []string `json:"sandbox_ids"`
	}
	if answer, decoded := c.decode(&req); !decoded {
		return answer
	}
	if n := len(req.SandboxIDs); n < 1 || n > 100 || len(unique(req.SandboxIDs)) != n {
		return invalid("sandbox_ids", "must be 1 to 100 different ids")
	}
	found, missing := []map[string]any{}, []map[string]any{}
	for _, id := range req.SandboxIDs {
		b := c.s.byID[id]
		if b == nil {
			missing = append(missing, map[string]any{"sandbox_id": id, "code": "NOT_FOUND", "message": "Sandbox not found"})
			continue
		}
		found = append(found, map[string]any{
			"sandbox_id": id, "status": b.status, "error_type": orNil(b.errorType), "error_message": orNil(b.message), "pending_image_build_id": orNil(b.build),
		})
	}
	return ok(map[string]any{"statuses": found, "errors": missing})
}

func unique(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

func errorContext(c *control) reply {
	b := c.box()
	if b == nil {
		return noSandbox()
	}
	return ok(map[string]any{"status": b.status, "errorType": orNil(b.errorType), "errorMessage": orNil(b.message)})
}

// logs are those of a start command, which the stub does not run.
func logs(c *control) reply {
	if c.box() == nil {
		return noSandbox()
	}
	return ok(map[string]any{"logs": ""})
}

// auth gives out a gateway token.
func auth(c *control) reply {
	b := c.box()
	switch {
	case b == nil || b.deleted:
		return noSandbox()
	case b.status != StatusRunning:
		return detail(http.StatusConflict, "Sandbox is not running (status "+b.status+")")
	}
	return ok(c.s.newAuth(b))
}

func (s *Server) newAuth(b *box) map[string]any {
	value := newToken()
	expires := s.now().Add(s.o.Token)
	s.tokens[value] = token{b, expires}
	return map[string]any{"token": value, "gateway_url": s.url, "user_ns": b.user, "job_id": b.job, "expires_at": stamp(expires)}
}
