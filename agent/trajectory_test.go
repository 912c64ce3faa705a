package agent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// file mirrors the format mini-swe-agent-1.1, independently of the code under test.
type file struct {
	Info struct {
		ModelStats struct {
			InstanceCost *float64 `json:"instance_cost"`
			APICalls     *int     `json:"api_calls"`
		} `json:"model_stats"`
		Config struct {
			Agent           map[string]any `json:"agent"`
			AgentType       string         `json:"agent_type"`
			Model           map[string]any `json:"model"`
			ModelType       string         `json:"model_type"`
			Environment     map[string]any `json:"environment"`
			EnvironmentType string         `json:"environment_type"`
		} `json:"config"`
		MiniVersion  string  `json:"mini_version"`
		YudaiVersion string  `json:"yudai_version"`
		ExitStatus   *string `json:"exit_status"`
		Submission   *string `json:"submission"`
	} `json:"info"`
	Messages   []map[string]any `json:"messages"`
	Format     string           `json:"trajectory_format"`
	InstanceID string           `json:"instance_id"`
}

func trajectory(t *testing.T, b *bench, lines []byte, meta agent.Meta) file {
	t.Helper()
	data, err := agent.Trajectory(b.cfg, lines, meta)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	var f file
	if err := dec.Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTrajectoryShapes(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		silent := call(mode, "write a")
		if mode == agent.ModeTools {
			silent.Message.Content = ""
		}
		silent.Message.Native = json.RawMessage(`[{"type":"thinking"}]`)
		b := setup(mode, replies(costing(0.5, silent), costing(0.25, malformed()), call(mode, "hang"), call(mode, "final")))
		b.shell.output = map[string]answer{"final": {Text: agent.SubmitMarker + "\nresult\n"}}
		r := b.run(t.Context())
		wantExit(t, r, agent.ExitSubmitted)
		temp := 0.7
		f := trajectory(t, b, b.log.lines, agent.Meta{
			Experiment: solve.Experiment{Model: "m", Temperature: &temp, MaxEdits: 3, Strategy: "small-steps"},
			Limits:     solve.Limits{RunSteps: 50, RunMoney: 3_000_000, RunTime: time.Hour, CommandTime: 30 * time.Second},
			Progress:   r.Progress, Instance: "s-1", Version: "0.1.0",
		})
		if *f.Info.ModelStats.InstanceCost != 0.75 || *f.Info.ModelStats.APICalls != 4 || *f.Info.ExitStatus != "Submitted" ||
			*f.Info.Submission != "result\n" || f.Format != "mini-swe-agent-1.1" || f.InstanceID != "s-1" || f.Info.MiniVersion != "2.4.6" {
			t.Errorf("%+v", f.Info)
		}
		wantAgent := map[string]any{
			"step_limit": 50.0, "cost_limit": 3.0, "wall_time_limit_seconds": 3600.0,
			"max_consecutive_format_errors": 3.0, "mode": mode, "max_edits": 3.0, "strategy": "small-steps",
		}
		if diff := cmp.Diff(wantAgent, f.Info.Config.Agent); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]any{"model_name": "m", "model_kwargs": map[string]any{"temperature": 0.7}}, f.Info.Config.Model); diff != "" {
			t.Error(diff)
		}
		if f.Info.Config.AgentType == "" || f.Info.Config.ModelType == "" || f.Info.Config.EnvironmentType == "" || f.Info.Config.Environment["timeout"] != 30.0 {
			t.Errorf("%+v", f.Info.Config)
		}
		checkMessages(t, mode, f.Messages)
	})
}

// checkMessages compares each message's keys, and those of its extra, with the format's table.
func checkMessages(t *testing.T, mode string, messages []map[string]any) {
	t.Helper()
	observation := "extra[exception_info raw_output returncode timestamp]"
	timeout := "extra[exception exception_info exception_type raw_output returncode timestamp]"
	reply := "extra[actions cost response timestamp]"
	want := []string{
		"system: content",
		"user: content",
		"assistant: content tool_calls " + reply,
		"tool: content tool_call_id " + observation,
		"user: content extra[cost interrupt_type response timestamp]",
		"assistant: content tool_calls " + reply,
		"tool: content tool_call_id " + timeout,
		"assistant: content tool_calls " + reply,
		"tool: content tool_call_id " + observation,
		"exit: content extra[exit_status submission timestamp]",
	}
	if mode == agent.ModeText {
		want = []string{
			"system: content", "user: content",
			"assistant: content " + reply, "user: content " + observation,
			"user: content extra[cost interrupt_type model_response n_actions response timestamp]",
			"assistant: content " + reply, "user: content " + timeout,
			"assistant: content " + reply,
			"exit: content extra[exit_status submission timestamp]",
		}
	}
	var got []string
	for _, m := range messages {
		got = append(got, shape(m))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	asst := messages[2]
	extra := asst["extra"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"id": "r1"}, extra["response"]); diff != "" {
		t.Error(diff)
	}
	if _, ok := extra["timestamp"].(float64); !ok || extra["cost"] != 0.5 {
		t.Errorf("extra = %v", extra)
	}
	action := map[string]any{"command": "write a"}
	if mode == agent.ModeTools {
		action["tool_call_id"] = "c0"
		calls := []any{map[string]any{"id": "c0", "type": "function", "function": map[string]any{"name": "bash", "arguments": `{"command":"write a"}`}}}
		if diff := cmp.Diff(calls, asst["tool_calls"]); diff != "" || asst["content"] != nil {
			t.Errorf("content %v, %s", asst["content"], diff)
		}
	}
	if diff := cmp.Diff([]any{action}, extra["actions"]); diff != "" {
		t.Error(diff)
	}
}

func shape(m map[string]any) string {
	var keys []string
	for k, v := range m {
		if k == "role" {
			continue
		}
		if extra, ok := v.(map[string]any); ok && k == "extra" {
			var inner []string
			for e := range extra {
				inner = append(inner, e)
			}
			slices.Sort(inner)
			k = fmt.Sprintf("extra%v", inner)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { // extra last
		if ae, be := strings.HasPrefix(a, "extra"), strings.HasPrefix(b, "extra"); ae != be {
			if ae {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	return fmt.Sprintf("%s: %s", m["role"], strings.Join(keys, " "))
}

// The file of a run that still goes on, or whose last line was torn, is complete JSON.
func TestTrajectoryOfAnUnfinishedRun(t *testing.T) {
	t.Parallel()
	b := setup(agent.ModeTools, replies(costing(1, call(agent.ModeTools, "a")), call(agent.ModeTools, submit)))
	wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
	torn := b.log.lines[:len(b.log.lines)-10]
	f := trajectory(t, b, torn, agent.Meta{})
	if *f.Info.ExitStatus != "" || *f.Info.Submission != "" || len(f.Messages) != 6 {
		t.Errorf("%+v, %d messages", f.Info, len(f.Messages))
	}
	if *f.Info.ModelStats.APICalls != 2 || *f.Info.ModelStats.InstanceCost != 1 {
		t.Errorf("stats %v %v", *f.Info.ModelStats.APICalls, *f.Info.ModelStats.InstanceCost)
	}
	if f := trajectory(t, b, nil, agent.Meta{}); f.Messages == nil {
		t.Error("messages is not a list")
	}
}

// A provider's numbers survive unchanged, even those a float cannot hold.
func TestTrajectoryKeepsTheResponse(t *testing.T) {
	t.Parallel()
	r := call(agent.ModeTools, submit)
	r.Raw = json.RawMessage(`{"id":12345678901234567890,"x":"<b>"}`)
	b := setup(agent.ModeTools, replies(r))
	wantExit(t, b.run(t.Context()), agent.ExitSubmitted)
	data, err := agent.Trajectory(b.cfg, b.log.lines, agent.Meta{})
	if err != nil || !strings.Contains(string(data), "12345678901234567890") || !strings.Contains(string(data), `"<b>"`) {
		t.Errorf("%v: %s", err, data)
	}
}
