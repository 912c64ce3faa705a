package primesim

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/yudai-dev/yudai/test/machine"
)

var jobID = regexp.MustCompile(`^[0-9A-Fa-f]{8}$`)

// job names one background job, which is files in /tmp by convention.
type job struct {
	SandboxID string `json:"sandbox_id"`
	JobID     string `json:"job_id"`
}

// jobs answers which of many background jobs have ended.
func jobs(c *control) reply {
	var req struct {
		Jobs []job `json:"jobs"`
	}
	if answer, decoded := c.decode(&req); !decoded {
		return answer
	}
	if n := len(req.Jobs); n < 1 || n > 100 {
		return invalid("jobs", "must be 1 to 100 jobs")
	}
	found, wrong := []map[string]any{}, []map[string]any{}
	refuse := func(j job, code, text string) {
		wrong = append(wrong, map[string]any{"sandbox_id": j.SandboxID, "job_id": j.JobID, "code": code, "message": text})
	}
	for _, j := range req.Jobs {
		b := c.s.byID[j.SandboxID]
		switch {
		case !jobID.MatchString(j.JobID):
			return invalid("jobs", "a job id is 8 hex digits")
		case b == nil:
			refuse(j, "NOT_FOUND", "Sandbox not found")
		case b.machine == nil || b.status != StatusRunning:
			refuse(j, "NOT_RUNNING", "Sandbox is not running")
		default:
			code, ended, err := jobExit(b.machine, j.JobID)
			if err != nil {
				refuse(j, "RUNTIME_ERROR", err.Error())
				continue
			}
			status := map[string]any{"sandbox_id": j.SandboxID, "job_id": j.JobID, "completed": ended, "exit_code": nil}
			if ended {
				status["exit_code"] = code
			}
			found = append(found, status)
		}
	}
	return ok(map[string]any{"statuses": found, "errors": wrong})
}

// jobExit reads the exit file of a job; a missing or empty one is a job that runs.
func jobExit(m *machine.Machine, id string) (code int, ended bool, err error) {
	f, err := m.Open("/tmp/job_" + id + ".exit")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return 0, false, err
	}
	code, err = strconv.Atoi(string(bytes.TrimSpace(data)))
	return code, err == nil, err
}
