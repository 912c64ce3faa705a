package agent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

const (
	// trajectoryFormat is the id of the file format.
	trajectoryFormat = "mini-swe-agent-1.1"
	// miniVersion is the release of mini-SWE-agent whose file format this is.
	miniVersion = "2.4.6"
)

// Meta is what a trajectory file says of a run beside its messages.
type Meta struct {
	Experiment solve.Experiment
	Limits     solve.Limits
	Progress   solve.Progress
	// Instance names the run ("<solve>-<n>"); may be empty.
	Instance string
	// Version is yudai's own; may be empty.
	Version string
}

// trajectory mirrors the file. Its keys are those of mini-SWE-agent, so that
// its inspector opens our files.
type trajectory struct {
	Info     trajectoryInfo   `json:"info"`
	Messages []map[string]any `json:"messages"`
	Format   string           `json:"trajectory_format"`
	Instance string           `json:"instance_id,omitempty"`
}

type trajectoryInfo struct {
	ModelStats struct {
		InstanceCost float64 `json:"instance_cost"` // US dollars
		APICalls     int     `json:"api_calls"`
	} `json:"model_stats"`
	Config       map[string]any `json:"config"`
	MiniVersion  string         `json:"mini_version"`
	YudaiVersion string         `json:"yudai_version,omitempty"`
	ExitStatus   string         `json:"exit_status"`
	Submission   string         `json:"submission"`
}

// stored is a transcript line with its extra left as it was written.
type stored struct {
	Message
	Extra map[string]json.RawMessage `json:"extra"`
}

// Trajectory converts a stored transcript to a trajectory file of mini-SWE-agent
// (format mini-swe-agent-1.1, one JSON object). The transcript may be that of a
// run that is still going on: its exit status is then "". Torn lines are left out.
func Trajectory(cfg Config, lines []byte, meta Meta) ([]byte, error) {
	t := trajectory{Format: trajectoryFormat, Instance: meta.Instance, Messages: []map[string]any{}}
	t.Info.Config = configDump(cfg, meta)
	t.Info.MiniVersion, t.Info.YudaiVersion = miniVersion, meta.Version
	for line := range bytes.Lines(lines) {
		var m stored
		if json.Unmarshal(line, &m) == nil && m.Role != "" {
			t.Messages = append(t.Messages, trajectoryMessage(m))
		}
	}
	history, _ := ReadTranscript(lines)
	if end, ok := StoredExit(history, meta.Progress); ok {
		t.Info.ExitStatus, t.Info.Submission = end.Exit, end.Submission
	}
	t.Info.ModelStats.APICalls = max(meta.Progress.Steps, Turns(history))
	t.Info.ModelStats.InstanceCost = usd(max(meta.Progress.Usage.Cost, storedCost(history)))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(t); err != nil {
		return nil, fmt.Errorf("encode trajectory: %w", err)
	}
	return b.Bytes(), nil
}

// trajectoryMessage is a message in the shape a provider's chat API has, plus extra.
func trajectoryMessage(m stored) map[string]any {
	out := map[string]any{"role": m.Role, "content": m.Content}
	if len(m.ToolCalls) > 0 {
		if m.Content == "" {
			out["content"] = nil
		}
		calls := make([]map[string]any, 0, len(m.ToolCalls))
		for _, c := range m.ToolCalls {
			calls = append(calls, map[string]any{
				"id": c.ID, "type": "function",
				"function": map[string]any{"name": c.Name, "arguments": c.Arguments},
			})
		}
		out["tool_calls"] = calls
	}
	if m.ToolCallID != "" {
		out["tool_call_id"] = m.ToolCallID
	}
	delete(m.Extra, keyTree)
	if len(m.Extra) > 0 {
		out["extra"] = m.Extra
	}
	return out
}

func configDump(cfg Config, meta Meta) map[string]any {
	x, l := meta.Experiment, meta.Limits
	kwargs := map[string]any{}
	if x.Temperature != nil {
		kwargs["temperature"] = *x.Temperature
	}
	return map[string]any{
		"agent": map[string]any{
			"step_limit":                    l.RunSteps,
			"cost_limit":                    usd(l.RunMoney),
			"wall_time_limit_seconds":       int(l.RunTime.Seconds()),
			"max_consecutive_format_errors": cfg.MaxFormatErrors,
			"mode":                          cfg.Mode,
			"max_edits":                     x.MaxEdits,
			"strategy":                      x.Strategy,
		},
		"agent_type": "yudai.agent.Mini",
		"model": map[string]any{
			"model_name":   x.Model,
			"model_kwargs": kwargs,
		},
		"model_type": "yudai.model",
		"environment": map[string]any{
			"timeout": int(l.CommandTime.Seconds()),
		},
		"environment_type": "yudai.sandbox",
	}
}
