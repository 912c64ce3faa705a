package prime

import (
	"encoding/json"
	"strings"
	"time"
)

// The service writes requests in snake_case and its sandboxes in camelCase. Keys
// that we do not read are ignored.

// createRequest asks for a sandbox. It never carries environment_vars or secrets.
type createRequest struct {
	Name               string   `json:"name"`
	DockerImage        string   `json:"docker_image,omitempty"`  // not with CheckpointID
	CheckpointID       string   `json:"checkpoint_id,omitempty"` // what it is restored from
	VM                 bool     `json:"vm"`                      // always true: anything else is retired
	CPUCores           float64  `json:"cpu_cores"`
	MemoryGB           float64  `json:"memory_gb"`
	DiskSizeGB         float64  `json:"disk_size_gb,omitempty"` // not with CheckpointID
	TimeoutMinutes     int      `json:"timeout_minutes"`
	IdleTimeoutMinutes int      `json:"idle_timeout_minutes,omitempty"`
	Labels             []string `json:"labels"`
	NetworkAllowlist   []string `json:"network_allowlist"` // never nil: [] is no network, null would be all of it
	TeamID             string   `json:"team_id,omitempty"`
	Region             string   `json:"region,omitempty"`
	IdempotencyKey     string   `json:"idempotency_key"`
}

// object is a sandbox as the service describes it.
type object struct {
	ID                  string   `json:"id"`
	Name                string   `json:"name"`
	CPUCores            float64  `json:"cpuCores"`
	MemoryGB            float64  `json:"memoryGB"`
	DiskSizeGB          float64  `json:"diskSizeGB"`
	Status              status   `json:"status"`
	Labels              []string `json:"labels"`
	CreatedAt           instant  `json:"createdAt"`
	TerminationReason   string   `json:"terminationReason"`
	ErrorType           string   `json:"errorType"`
	ErrorMessage        string   `json:"errorMessage"`
	PendingImageBuildID string   `json:"pendingImageBuildId"`
}

// news is what an object says about the sandbox's life.
func (o object) news() news {
	reason := o.ErrorMessage
	if reason == "" {
		reason = o.TerminationReason
	}
	return news{Status: o.Status, ErrorType: o.ErrorType, ErrorMessage: reason, BuildID: o.PendingImageBuildID}
}

// status is where a sandbox is in its life. Unknown ones are taken for one on the way.
type status string

const (
	statusPending    status = "PENDING"
	statusRunning    status = "RUNNING"
	statusError      status = "ERROR"
	statusTerminated status = "TERMINATED"
	statusTimeout    status = "TIMEOUT"
)

// ended reports whether nothing follows.
func (s status) ended() bool {
	return s == statusError || s == statusTerminated || s == statusTimeout
}

// news is what is known of a sandbox's life.
type news struct {
	Status       status `json:"status"`
	ErrorType    string `json:"error_type"`
	ErrorMessage string `json:"error_message"`
	BuildID      string `json:"pending_image_build_id"`
	err          error  // instead of all else: asking makes no sense any more
}

// String says how it ended, for errors.
func (n news) String() string {
	text := string(n.Status)
	if n.ErrorType != "" && n.ErrorType != text {
		text += ", " + plain(n.ErrorType)
	}
	if n.Status == statusTimeout {
		text += ", its time to live is over"
	}
	if n.ErrorMessage != "" {
		text += ": " + plain(n.ErrorMessage)
	}
	return text
}

// batchStatus is the answer about many sandboxes.
type batchStatus struct {
	Statuses []struct {
		SandboxID string `json:"sandbox_id"`
		news
	} `json:"statuses"`
	Errors []struct {
		SandboxID string `json:"sandbox_id"`
		Code      string `json:"code"`
		Message   string `json:"message"`
	} `json:"errors"`
}

// errorContext is why a sandbox died, in either spelling.
type errorContext struct {
	Status        status `json:"status"`
	ErrorType     string `json:"errorType"`
	ErrorType2    string `json:"error_type"`
	ErrorMessage  string `json:"errorMessage"`
	ErrorMessage2 string `json:"error_message"`
}

func (e errorContext) news() news {
	n := news{Status: e.Status, ErrorType: e.ErrorType, ErrorMessage: e.ErrorMessage}
	if n.ErrorType == "" {
		n.ErrorType = e.ErrorType2
	}
	if n.ErrorMessage == "" {
		n.ErrorMessage = e.ErrorMessage2
	}
	return n
}

// listing is one page of sandboxes, in either spelling.
type listing struct {
	Sandboxes []object `json:"sandboxes"`
	HasNext   bool     `json:"hasNext"`
	HasNext2  bool     `json:"has_next"`
}

// instant is a time that may lack its zone; then it is UTC. What cannot be read is zero.
type instant struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (i *instant) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return nil //nolint:nilerr // a time of another kind is no reason to lose the sandbox
	}
	text = strings.Replace(strings.TrimSpace(text), " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			i.Time = t.UTC()
			return nil
		}
	}
	return nil
}
