package primesim

import (
	"fmt"
	"net/http"
	"time"
)

// createRequest is the body of a create, in the order of the documentation.
type createRequest struct {
	Name               string            `json:"name"`
	DockerImage        string            `json:"docker_image"`
	Arch               string            `json:"arch"`
	VM                 *bool             `json:"vm"`
	StartCommand       *startCommand     `json:"start_command"`
	CPUCores           *float64          `json:"cpu_cores"`
	MemoryGB           *float64          `json:"memory_gb"`
	DiskSizeGB         *float64          `json:"disk_size_gb"`
	GPUCount           int               `json:"gpu_count"`
	GPUType            *string           `json:"gpu_type"`
	TimeoutMinutes     int               `json:"timeout_minutes"`
	IdleTimeoutMinutes *int              `json:"idle_timeout_minutes"`
	EnvironmentVars    map[string]string `json:"environment_vars"`
	Secrets            map[string]string `json:"secrets"`
	Labels             []string          `json:"labels"`
	NetworkAllowlist   *[]string         `json:"network_allowlist"`
	NetworkDenylist    *[]string         `json:"network_denylist"`
	TeamID             string            `json:"team_id"`
	Region             *string           `json:"region"`
	IdempotencyKey     string            `json:"idempotency_key"`
	CheckpointID       string            `json:"checkpoint_id"`
	AdvancedConfigs    map[string]any    `json:"advanced_configs"`
}

// startCommand is what runs from the beginning; the sandbox ends with it.
type startCommand struct {
	Executable string   `json:"executable"`
	Args       []string `json:"args"`
}

// create accepts a sandbox. The same idempotency key is the same sandbox.
func create(c *control) reply {
	req := createRequest{TimeoutMinutes: 60}
	if answer, decoded := c.decode(&req); !decoded {
		return answer
	}
	if req.VM != nil && !*req.VM {
		return detail(http.StatusGone, "Container sandboxes are retired; create a VM sandbox")
	}
	if req.IdempotencyKey != "" {
		if b := c.s.byKey[req.IdempotencyKey]; b != nil {
			return reply{http.StatusOK, c.s.view(b)}
		}
	}
	if param, details := req.wrong(c.s.o); param != "" {
		return invalid(param, details)
	}
	if req.TeamID != "" && req.TeamID != c.s.o.Team {
		return detail(http.StatusForbidden, "Not a member of this team")
	}
	active := 0
	for _, b := range c.s.boxes {
		if !b.over() {
			active++
		}
	}
	if most := c.s.o.Concurrent; most > 0 && active >= most {
		return detail(c.s.o.Full, fmt.Sprintf("Maximum number of concurrent sandboxes reached (%d)", most))
	}
	b, answer := c.s.accept(req, c.hit)
	if b == nil {
		return answer
	}
	view := c.s.view(b)
	if c.s.o.InlineAuth {
		view["gatewayAuth"] = c.s.newAuth(b)
	}
	return reply{http.StatusCreated, view}
}

// accept makes the sandbox of a valid request.
func (s *Server) accept(req createRequest, hit *Injection) (*box, reply) {
	now := s.now()
	b := &box{
		id: newID(), user: "ns-" + userID[:12], job: "job-" + newID(), req: req, status: StatusPending,
		created: now, updated: now, ready: now, sessions: map[string]*session{}, gone: make(chan struct{}),
	}
	if req.CheckpointID != "" {
		from := s.checkpoint(req.CheckpointID)
		if from == nil {
			return nil, detail(http.StatusNotFound, "Checkpoint not found")
		}
		if from.State != checkpointDurable {
			return nil, detail(http.StatusConflict, "Checkpoint is not durable")
		}
		b.from, b.req.DockerImage, b.req.DiskSizeGB = from, from.DockerImage, &from.disk
		from.uses++
	}
	s.placeImage(b, now)
	if hit != nil && hit.fault.Kind == FaultFail {
		b.failType = hit.fault.Reason
	}
	b.egress.first(req)
	s.boxes = append(s.boxes, b)
	s.byID[b.id], s.byJob[b.job] = b, b
	if req.IdempotencyKey != "" {
		s.byKey[req.IdempotencyKey] = b
	}
	return b, reply{}
}

// placeImage finds the image of a sandbox and how long its build takes.
func (s *Server) placeImage(b *box, now time.Time) {
	b.image = s.images[b.req.DockerImage]
	switch {
	case b.image == nil:
		b.failType = "IMAGE_PULL_FAILED"
		return
	case b.image.built.IsZero():
		b.image.built, b.image.build = now.Add(b.image.Build), newID()
	}
	if now.Before(b.image.built) {
		b.ready, b.build = b.image.built, b.image.build
	}
}

// wrong names the first parameter that the service refuses, and why.
func (r *createRequest) wrong(o Options) (param, details string) {
	restore := r.CheckpointID != ""
	switch {
	case r.Name == "" || len(r.Name) > 100:
		return "name", "must have 1 to 100 characters"
	case restore && (r.DockerImage != "" || r.DiskSizeGB != nil):
		return "checkpoint_id", "omit docker_image and disk_size_gb when restoring a checkpoint"
	case !restore && r.DockerImage == "":
		return "docker_image", "is required unless checkpoint_id is set"
	case len(r.CheckpointID) > 64:
		return "checkpoint_id", "must have at most 64 characters"
	case len(r.IdempotencyKey) > 128:
		return "idempotency_key", "must have 1 to 128 characters"
	case r.TimeoutMinutes == 0 || r.TimeoutMinutes > 1440:
		return "timeout_minutes", "must be 1 to 1440, or negative for no deadline"
	case r.IdleTimeoutMinutes != nil && !r.idles(*r.IdleTimeoutMinutes):
		return "idle_timeout_minutes", "must be 1 to 1440, and at most timeout_minutes"
	}
	if param, details := r.wrongSize(o, restore); param != "" {
		return param, details
	}
	return wrongPolicy("network_", r.NetworkAllowlist, r.NetworkDenylist)
}

// idles reports whether an idle timeout fits.
func (r *createRequest) idles(minutes int) bool {
	return minutes >= 1 && minutes <= 1440 && (r.TimeoutMinutes < 0 || minutes <= r.TimeoutMinutes)
}

// wrongSize is wrong for the sizes, which it sets where they are not given.
func (r *createRequest) wrongSize(o Options, restore bool) (param, details string) {
	if (r.GPUCount > 0) != (r.GPUType != nil) {
		return "gpu_type", "is required iff gpu_count is above 0"
	}
	for _, size := range []struct {
		name           string
		value          **float64
		standard, most float64
	}{{"cpu_cores", &r.CPUCores, 1, o.MaxCores}, {"memory_gb", &r.MemoryGB, 2, o.MaxMemory}, {"disk_size_gb", &r.DiskSizeGB, 10, o.MaxDisk}} {
		if restore && size.name == "disk_size_gb" {
			continue // it is the checkpoint's
		}
		if *size.value == nil {
			*size.value = &size.standard
		}
		if v := **size.value; v < 0.1 || v > size.most {
			return size.name, fmt.Sprintf("must be 0.1 to %g", size.most)
		}
	}
	return "", ""
}
