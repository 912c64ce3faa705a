package primesim

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// States of a checkpoint.
const (
	checkpointPending = "PENDING"
	checkpointFrozen  = "FROZEN"
	checkpointDurable = "DURABLE"
	checkpointFailed  = "FAILED"
)

// checkpoint is the files of a sandbox at one moment; it outlives the sandbox.
type checkpoint struct {
	ID            string  `json:"id"`
	SandboxID     string  `json:"sandbox_id"`
	ParentID      *string `json:"parent_id"`
	TeamID        *string `json:"team_id"`
	State         string  `json:"state"`
	Depth         int     `json:"depth"`
	DockerImage   string  `json:"docker_image"`
	DiskSizeBytes int64   `json:"disk_size_bytes"`
	StoredBytes   *int64  `json:"stored_bytes"`
	OccupiedBytes int64   `json:"occupied_bytes"`
	Error         *string `json:"error"`
	CreatedAt     string  `json:"created_at"`
	UpdatedAt     string  `json:"updated_at"`

	dir     string
	disk    float64 // GB
	saved   bool
	ready   time.Time // when it becomes durable
	uses    int       // sandboxes that are still to be made from it
	removed bool
}

// step brings a checkpoint to what the clock says, and returns when it wants to be
// asked again.
func (c *checkpoint) step(now time.Time) time.Time {
	if c.State == checkpointPending && c.saved {
		c.State = checkpointFrozen
	}
	if c.State != checkpointFrozen {
		return time.Time{}
	}
	if now.Before(c.ready) {
		return c.ready
	}
	c.State, c.UpdatedAt = checkpointDurable, stamp(now)
	return time.Time{}
}

// checkpoint finds one by its id.
func (s *Server) checkpoint(id string) *checkpoint {
	for _, c := range s.checkpoints {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func noCheckpoint() reply { return detail(http.StatusNotFound, "Checkpoint not found") }

// checkpointTake asks for a checkpoint of a running sandbox.
func checkpointTake(c *control) reply {
	b := c.box()
	if b == nil {
		return noSandbox()
	}
	if b.status != StatusRunning {
		return detail(http.StatusConflict, "Sandbox is not running")
	}
	now := c.s.now()
	p := &checkpoint{
		ID: newID(), SandboxID: b.id, State: checkpointPending, DockerImage: b.req.DockerImage, DiskSizeBytes: int64(*b.req.DiskSizeGB * (1 << 30)),
		CreatedAt: stamp(now), UpdatedAt: stamp(now), disk: *b.req.DiskSizeGB, ready: now.Add(c.s.o.Durable),
	}
	p.dir = filepath.Join(c.s.dir, "checkpoint-"+p.ID)
	parent := b.tip
	if parent == nil {
		parent = b.from
	}
	if parent != nil {
		p.ParentID, p.Depth = &parent.ID, parent.Depth+1
	}
	if b.req.TeamID != "" {
		p.TeamID = &b.req.TeamID
	}
	b.tip = p
	c.s.checkpoints = append(c.s.checkpoints, p)
	if c.hit != nil && c.hit.fault.Kind == FaultFail {
		p.fail(c.hit.fault.Reason)
		return ok(p)
	}
	m := b.machine
	c.s.work.Go(func() {
		err := m.Save(p.dir)
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if err != nil {
			p.fail(err.Error())
		}
		size := occupied(p.dir)
		p.StoredBytes, p.OccupiedBytes, p.saved = &size, size, true
		c.s.discard(p)
		c.s.wake()
	})
	return ok(p)
}

func (c *checkpoint) fail(reason string) {
	c.State, c.Error, c.saved = checkpointFailed, &reason, true
}

// occupied adds up the files below a directory.
func occupied(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

func checkpointGet(c *control) reply {
	if p := c.s.checkpoint(c.ids[0]); p != nil {
		return ok(p)
	}
	return noCheckpoint()
}

// checkpointsOf lists those of one sandbox, the oldest first.
func checkpointsOf(c *control) reply {
	found, only := []*checkpoint{}, c.r.URL.Query().Get("checkpoint_id")
	for _, p := range c.s.checkpoints {
		if p.SandboxID == c.ids[0] && (only == "" || only == p.ID) {
			found = append(found, p)
		}
	}
	if len(found) == 0 && c.box() == nil {
		return noSandbox()
	}
	return ok(map[string]any{"checkpoints": found})
}

func checkpointsByID(c *control) reply {
	var req struct {
		CheckpointIDs []string `json:"checkpoint_ids"`
	}
	if answer, decoded := c.decode(&req); !decoded {
		return answer
	}
	if n := len(req.CheckpointIDs); n < 1 || n > 100 || len(unique(req.CheckpointIDs)) != n {
		return invalid("checkpoint_ids", "must be 1 to 100 different ids")
	}
	found, missing := []*checkpoint{}, []map[string]string{}
	for _, id := range req.CheckpointIDs {
		if p := c.s.checkpoint(id); p != nil {
			found = append(found, p)
		} else {
			missing = append(missing, map[string]string{"checkpoint_id": id, "code": "NOT_FOUND", "message": "Checkpoint not found"})
		}
	}
	return ok(map[string]any{"checkpoints": found, "errors": missing})
}

// busy says why a checkpoint cannot be deleted now, "" if it can.
func (s *Server) busy(p *checkpoint) string {
	if p.State == checkpointPending || p.State == checkpointFrozen {
		return "Checkpoint is pending"
	}
	if b := s.byID[p.SandboxID]; b.status == StatusRunning && b.tip == p {
		return "Checkpoint is the active tip of a running sandbox"
	}
	return ""
}

func (s *Server) deleteCheckpoint(p *checkpoint) {
	s.checkpoints = slices.DeleteFunc(s.checkpoints, func(c *checkpoint) bool { return c == p })
	p.removed = true
	s.discard(p)
}

// discard removes the files of a deleted checkpoint that nothing is made from any more.
func (s *Server) discard(p *checkpoint) {
	if p.removed && p.uses == 0 {
		s.work.Go(func() { _ = os.RemoveAll(p.dir) })
	}
}

func checkpointDelete(c *control) reply {
	p := c.s.checkpoint(c.ids[0])
	if p == nil {
		return noCheckpoint()
	}
	if why := c.s.busy(p); why != "" {
		return detail(http.StatusConflict, why)
	}
	c.s.deleteCheckpoint(p)
	return ok(map[string]any{"success": true})
}

func checkpointsDelete(c *control) reply {
	deleted, refused := []string{}, []map[string]string{}
	for _, p := range slices.Clone(c.s.checkpoints) {
		if p.SandboxID != c.ids[0] {
			continue
		}
		if why := c.s.busy(p); why != "" {
			refused = append(refused, map[string]string{"checkpoint_id": p.ID, "code": "CONFLICT", "message": why})
			continue
		}
		c.s.deleteCheckpoint(p)
		deleted = append(deleted, p.ID)
	}
	if len(deleted)+len(refused) == 0 && c.box() == nil {
		return noSandbox()
	}
	return ok(map[string]any{"deleted": deleted, "errors": refused})
}
