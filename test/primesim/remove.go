package primesim

import (
	"fmt"
	"slices"
)

// remove ends a sandbox; one that has ended already is no error.
func remove(c *control) reply {
	b := c.box()
	if b == nil {
		return noSandbox()
	}
	c.s.remove(b)
	return ok(map[string]any{"success": true, "message": "Sandbox deleted"})
}

func (s *Server) remove(b *box) {
	s.end(b, StatusTerminated, "", "deleted")
	b.deleted = true
}

// bulkDelete ends many, by ids or by labels; it succeeds even where some fail.
func bulkDelete(c *control) reply {
	var req struct {
		SandboxIDs *[]string `json:"sandbox_ids"`
		Labels     *[]string `json:"labels"`
		TeamID     string    `json:"team_id"`
		UserID     string    `json:"user_id"`
		AllUsers   bool      `json:"all_users"`
	}
	if answer, decoded := c.decode(&req); !decoded {
		return answer
	}
	succeeded, failed := []string{}, []map[string]string{}
	switch {
	case (req.SandboxIDs == nil) == (req.Labels == nil) && (req.SandboxIDs != nil || !req.AllUsers && req.UserID == ""):
		return invalid("sandbox_ids", "exactly one of sandbox_ids and labels is required")
	case req.SandboxIDs != nil:
		if n := len(*req.SandboxIDs); n < 1 || n > 500 {
			return invalid("sandbox_ids", "must be 1 to 500 ids")
		}
		for _, id := range *req.SandboxIDs {
			if b := c.s.byID[id]; b != nil {
				c.s.remove(b)
				succeeded = append(succeeded, id)
			} else {
				failed = append(failed, map[string]string{"sandbox_id": id, "error": "Sandbox not found"})
			}
		}
	default:
		var labels []string
		if req.Labels != nil {
			if labels = *req.Labels; len(labels) < 1 || len(labels) > 50 {
				return invalid("labels", "must be 1 to 50 labels")
			}
		}
		for _, b := range slices.Clone(c.s.boxes) {
			if !b.over() && b.labelled(labels) && b.req.TeamID == req.TeamID && (req.UserID == "" || req.UserID == userID) {
				c.s.remove(b)
				succeeded = append(succeeded, b.id)
			}
		}
	}
	return ok(map[string]any{"succeeded": succeeded, "failed": failed, "message": fmt.Sprintf("Deleted %d sandboxes", len(succeeded))})
}
