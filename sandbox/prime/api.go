package prime

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox/cloud"
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

// condition is what an object says about the sandbox's life.
func (o object) condition() condition {
	reason := o.ErrorMessage
	if reason == "" {
		reason = o.TerminationReason
	}
	return condition{Status: o.Status, ErrorType: o.ErrorType, ErrorMessage: reason, BuildID: o.PendingImageBuildID}
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

// condition is what is known of a sandbox's life.
type condition struct {
	Status       status `json:"status"`
	ErrorType    string `json:"error_type"`
	ErrorMessage string `json:"error_message"`
	BuildID      string `json:"pending_image_build_id"`
	err          error  // instead of all else: asking makes no sense any more
}

// String says how it ended, for errors.
func (n condition) String() string {
	text := string(n.Status)
	if n.ErrorType != "" && n.ErrorType != text {
		text += ", " + cloud.Plain(n.ErrorType)
	}
	if n.Status == statusTimeout {
		text += ", its time to live is over"
	}
	if n.ErrorMessage != "" {
		text += ": " + cloud.Plain(n.ErrorMessage)
	}
	return text
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

// Labels at the service: one for all of ours, one for the deployment, one for the
// name, and those of the spec. The separator is not part of any key.
const (
	labelAll        = "yudai"
	labelDeployment = "deployment:"
	labelName       = "name:"
)

// labels are what a sandbox is labelled with.
func labels(deployment, name string, of map[string]string) []string {
	all := []string{labelAll, labelDeployment + deployment, labelName + name}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		all = append(all, k+":"+of[k])
	}
	return all
}

// labelled reads name and labels back.
func labelled(o object) (name string, of map[string]string) {
	of = map[string]string{}
	for _, l := range o.Labels {
		k, v, ok := strings.Cut(l, ":")
		switch {
		case !ok || k+":" == labelDeployment:
		case k+":" == labelName:
			name = v
		default:
			of[k] = v
		}
	}
	return name, of
}

// create makes a sandbox; the key in the request makes it repeatable.
func (p *provider) create(ctx context.Context, request json.RawMessage) (object, error) {
	var o object
	err := p.control.Ask(ctx, http.MethodPost, "/sandbox", request, &o)
	if err == nil && !cloud.IsID(o.ID) {
		err = &cloud.Lost{Cause: errors.New("the answer to a new sandbox has no id, or one that is none")}
	}
	return o, err
}

func (p *provider) get(ctx context.Context, id string) (object, error) {
	var o object
	return o, p.control.Ask(ctx, http.MethodGet, cloud.Path("sandbox", id), nil, &o)
}

// hasEnded reports whether the control plane knows that a sandbox ended, and how.
func (p *provider) hasEnded(ctx context.Context, id string) (condition, bool) {
	o, err := p.get(ctx, id)
	return o.condition(), cloud.IsMissing(err) || err == nil && o.Status.ended()
}

// list returns all living sandboxes with all of the labels.
func (p *provider) list(ctx context.Context, labels ...string) ([]object, error) {
	const mostPages = 100
	q := url.Values{"labels": labels, "is_active": {"true"}, "per_page": {"200"}}
	if p.config.TeamID != "" {
		q.Set("team_id", p.config.TeamID)
	}
	var all []object
	for page := 1; page <= mostPages; page++ {
		q.Set("page", strconv.Itoa(page))
		var l struct { // in either spelling
			Sandboxes []object `json:"sandboxes"`
			HasNext   bool     `json:"hasNext"`
			HasNext2  bool     `json:"has_next"`
		}
		if _, err := p.control.Do(ctx, cloud.Call{Method: http.MethodGet, Path: "/sandbox", Query: q, Answer: &l}); err != nil {
			return nil, err
		}
		for _, o := range l.Sandboxes { // whatever the service's filters are worth
			missing := func(label string) bool { return !slices.Contains(o.Labels, label) }
			if cloud.IsID(o.ID) && !o.Status.ended() && !slices.ContainsFunc(labels, missing) {
				all = append(all, o)
			}
		}
		if !l.HasNext && !l.HasNext2 || len(l.Sandboxes) == 0 {
			break
		}
	}
	return all, nil
}

// Remove deletes many at once; what that leaves is deleted one by one.
func (p *provider) Remove(ctx context.Context, ids []string) map[string]error {
	const few = 8
	left := ids
	if len(ids) > few {
		left = p.removeBulk(ctx, ids)
	}
	failed := map[string]error{}
	for _, id := range left {
		if err := p.remove(ctx, id); err != nil {
			failed[id] = err
		}
	}
	return failed
}

// remove deletes a sandbox; one that is not there, or ended already, is no error.
func (p *provider) remove(ctx context.Context, id string) error {
	var answer struct {
		Success *bool  `json:"success"`
		Message string `json:"message"`
	}
	err := p.control.Ask(ctx, http.MethodDelete, cloud.Path("sandbox", id), nil, &answer)
	if err == nil && answer.Success != nil && !*answer.Success {
		err = &cloud.Refusal{Origin: cloud.Control, Status: http.StatusOK, Message: answer.Message}
	}
	if err == nil || cloud.IsMissing(err) {
		return nil
	}
	if cloud.HasStatus(err, http.StatusOK, http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity) {
		if _, ended := p.hasEnded(ctx, id); ended {
			return nil
		}
	}
	return err
}

// removeBulk returns those that it could not delete.
func (p *provider) removeBulk(ctx context.Context, ids []string) (left []string) {
	for some := range slices.Chunk(ids, mostAtOnce) {
		body := struct {
			SandboxIDs []string `json:"sandbox_ids"`
			TeamID     string   `json:"team_id,omitempty"`
		}{some, p.config.TeamID}
		var answer struct {
			Succeeded []string `json:"succeeded"`
		}
		err := p.control.Ask(ctx, http.MethodDelete, "/sandbox", body, &answer)
		for _, id := range some {
			if err != nil || !slices.Contains(answer.Succeeded, id) {
				left = append(left, id)
			}
		}
	}
	return left
}
