package fakeprovider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// run is a play of one command, then the submission.
const run = "plays: [{steps: [{say: I list., run: ls -l}]}]"

// chatTool is a declaration in chat completions.
func chatTool(name, parameters string) string {
	return `{"type":"function","function":{"name":"` + name + `","parameters":` + parameters + `}}`
}

func TestCommandsGoToTheClientsOwnTool(t *testing.T) {
	t.Parallel()
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`
	}
	for name, c := range map[string]struct{ tools, tool, arguments string }{
		"mini": {chatTool("bash", object(`"command":{"type":"string"}`, `"command"`)), "bash", `{"command":"ls -l"}`},
		"several tools": {
			chatTool("read", `{}`) + "," + chatTool("Bash", object(`"command":{"type":"string"},"description":{"type":"string"}`, `"command","description"`)),
			"Bash", `{"command":"ls -l","description":"I list."}`,
		},
		"words":          {chatTool("shell", object(`"command":{"type":"array"},"timeout_ms":{"type":"number"}`, `"command"`)), "shell", `{"command":["bash","-c","ls -l"]}`},
		"another name":   {chatTool("exec_command", object(`"cmd":{"type":"string"}`, `"cmd"`)), "exec_command", `{"cmd":"ls -l"}`},
		"all kinds":      {chatTool("run_shell_command", object(`"command":{"type":["string","null"]},"is_background":{"type":"boolean"},"n":{"type":"integer"},"l":{"type":["null","array"]},"o":{"type":"object"}`, `"command","is_background","n","l","o"`)), "run_shell_command", `{"command":"ls -l","is_background":false,"l":[],"n":0,"o":{}}`},
		"no schema":      {chatTool("shell", `7`), "shell", `{"command":"ls -l"}`},
		"first in order": {chatTool("shell", `{}`) + "," + chatTool("bash", `{}`), "bash", `{"command":"ls -l"}`},
	} {
		w := post(t, run, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"tools":[`+c.tools+`]}`)
		var got struct {
			Choices []struct {
				Message struct {
					ToolCalls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Choices) != 1 || len(got.Choices[0].Message.ToolCalls) != 1 {
			t.Errorf("%s: %s", name, w.Body)
			continue
		}
		if f := got.Choices[0].Message.ToolCalls[0].Function; f.Name != c.tool || f.Arguments != c.arguments {
			t.Errorf("%s: %s %s, want %s %s", name, f.Name, f.Arguments, c.tool, c.arguments)
		}
	}
}

func TestCustomAndLocalShellTools(t *testing.T) {
	t.Parallel()
	for tools, want := range map[string]string{
		`{"type":"custom","name":"exec"}`: `{"call_id":"call_1_1","input":"ls -l","name":"exec","status":"completed","type":"custom_tool_call"}`,
		`{"type":"local_shell"}`:          `{"action":{"command":["bash","-c","ls -l"],"env":{},"type":"exec"},"call_id":"call_1_1","status":"completed","type":"local_shell_call"}`,
	} {
		for _, stream := range []string{"false", "true"} {
			w := post(t, run, "/v1/responses", `{"input":"x","stream":`+stream+`,"tools":[`+tools+`]}`)
			body := w.Body.String()
			if stream == "true" {
				at := strings.LastIndex(body, "data: ")
				var e struct{ Response json.RawMessage }
				if err := json.Unmarshal([]byte(body[at+6:]), &e); err != nil {
					t.Fatal(err)
				}
				body = string(e.Response)
			}
			var got struct{ Output []map[string]any }
			if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Output) != 2 {
				t.Fatal(body, err)
			}
			delete(got.Output[1], "id")
			if data, _ := json.Marshal(got.Output[1]); string(data) != want {
				t.Errorf("%s, want %s", data, want)
			}
		}
	}
	w := post(t, run, "/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"custom","custom":{"name":"bash"}}]}`)
	if !strings.Contains(w.Body.String(), `"custom":{"input":"","name":"bash"}`) || !strings.Contains(w.Body.String(), `"custom":{"input":"ls"}`) {
		t.Error(w.Body)
	}
}

// How a play ends depends on what the client knows.
func TestSubmission(t *testing.T) {
	t.Parallel()
	const over = `{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"ok"}],"tools":[`
	mini := chatTool("bash", `{"properties":{"command":{"type":"string"}}}`)
	for name, c := range map[string]struct{ script, tools, want string }{
		"mini":      {run, mini, `"arguments":"{\"command\":\"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\"}"`},
		"others":    {run, mini + "," + chatTool("edit", `{}`), `"content":"The work is done; I submit it."`},
		"SWE-agent": {run, mini + "," + chatTool("submit", `{"type":"object","properties":{}}`), `"function":{"arguments":"{}","name":"submit"}`},
		"silent": {
			"plays: [{steps: [{run: a}, {run: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT}]}]", chatTool("shell", `{}`), `"content":"The work is done."`,
		},
		"with another": {
			"plays: [{steps: [{run: a}, {runs: [b, echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT]}]}]", chatTool("shell", `{}`),
			`"tool_calls":[{"function":{"arguments":"{\"command\":\"b\"}","name":"shell"},"id":"call_2_1","type":"function"}]`,
		},
	} {
		w := post(t, c.script, "/v1/chat/completions", over+c.tools+`]}`)
		if !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %s, want %s", name, w.Body, c.want)
		}
		if ends := name == "others" || name == "silent"; strings.Contains(w.Body.String(), `"finish_reason":"stop"`) != ends {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

func TestRawRepliesGoOutAsTheyAre(t *testing.T) {
	t.Parallel()
	const script = `
plays:
  - steps:
      - raw: {content: hm, tool_calls: [{id: a, name: python, arguments: "{"}, {id: b, name: bash, arguments: '{"command":7}'}]}
        finish_reason: length
`
	tools := `"tools":[` + chatTool("shell", `{}`) + `]}`
	w := post(t, script, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],`+tools)
	for _, want := range []string{`{"arguments":"{","name":"python"},"id":"a"`, `{"arguments":"{\"command\":7}","name":"bash"},"id":"b"`, `"content":"hm"`, `"finish_reason":"length"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s lacks %s", w.Body, want)
		}
	}
	// In messages the input is JSON, so that broken JSON can only be a text.
	w = post(t, script, "/v1/messages", `{"messages":[{"role":"user","content":"x"}],"tools":[{"name":"Bash","input_schema":{}}]}`)
	for _, want := range []string{`{"id":"a","input":"{","name":"python","type":"tool_use"}`, `"input":{"command":7}`, `"stop_reason":"max_tokens"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s lacks %s", w.Body, want)
		}
	}
	w = post(t, script, "/v1/responses", `{"input":"x","tools":[{"type":"custom","name":"shell"}],"stream":true}`)
	if !strings.Contains(w.Body.String(), "event: response.incomplete\n") || !strings.Contains(w.Body.String(), `"incomplete_details":{"reason":"max_output_tokens"}`) {
		t.Error(w.Body)
	}
	refusal := strings.ReplaceAll(script, "length", "content_filter")
	w = post(t, refusal, "/v1/messages", `{"messages":[{"role":"user","content":"x"}],"tools":[{"name":"Bash","input_schema":{}}]}`)
	if !strings.Contains(w.Body.String(), `"stop_reason":"refusal"`) {
		t.Error(w.Body)
	}
}

// The steps are counted right whatever a client puts between the replies.
func TestTurnsAreCountedFromTheConversation(t *testing.T) {
	t.Parallel()
	const script = "plays: [{match: {task_contains: the task}, steps: [{run: one}, {run: two}, {run: three}, {run: four}]}]"
	mini := `"tools":[` + chatTool("bash", `{"properties":{"command":{"type":"string"}}}`) + `]}`
	other := `"tools":[` + chatTool("bash", `{"properties":{"command":{"type":"string"},"timeout":{"type":"number"}}}`) + `]}`
	call := func(id string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"` + id + `","content":"ok"}`
	}
	user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	blocks := func(list ...string) string {
		return `{"messages":[` + strings.Join(list, ",") + `],"tools":[{"name":"Bash","input_schema":{}}]}`
	}
	chat := "/v1/chat/completions"
	for name, c := range map[string]struct{ path, body, want string }{
		"nothing yet":                 {chat, `{"messages":[` + user("the task") + `],` + mini, "one"},
		"a turn":                      {chat, `{"messages":[` + user("the task") + "," + call("a") + `],` + mini, "two"},
		"malformed at first":          {chat, `{"messages":[` + user("the task") + "," + user("bad") + `],` + mini, "two"},
		"malformed after a turn":      {chat, `{"messages":[` + user("the task") + "," + call("a") + "," + user("bad") + "," + user("bad") + `],` + mini, "four"},
		"reminders of others":         {chat, `{"messages":[` + user("env") + "," + user("the task") + "," + call("a") + "," + user("r") + "," + user("r") + `],` + other, "two"},
		"reply in two messages":       {chat, `{"messages":[` + user("the task") + `,{"role":"assistant","content":"say"},` + call("a") + `],` + other, "two"},
		"a system message in between": {chat, `{"messages":[{"role":"system","content":"s"},` + user("the task") + `,{"role":"system","content":"s"},` + call("a") + `],` + other, "two"},
		"messages, mixed blocks": {"/v1/messages", blocks(
			`{"role":"user","content":[{"type":"text","text":"r"},{"type":"text","text":"the task"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"say"},{"type":"tool_use","id":"a","name":"Bash","input":{}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"ok"},{"type":"image"}]},{"type":"text","text":"r"}]}`,
		), "two"},
		"messages, split reply": {"/v1/messages", blocks(
			`{"role":"user","content":"the task"}`, `{"role":"assistant","content":"say"}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`,
		), "two"},
		"messages of mini, complaints": {"/v1/messages", `{"messages":[` +
			`{"role":"user","content":[{"type":"text","text":"the task"},{"type":"text","text":"bad"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"bash","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"},{"type":"text","text":"bad"}]}` +
			`],"tools":[{"name":"bash","input_schema":{"properties":{"command":{"type":"string"}}}}]}`, "four"},
		"items": {"/v1/responses", `{"tools":[{"type":"custom","name":"shell"}],"input":[` +
			`{"type":"message","role":"developer","content":[{"type":"input_text","text":"s"}]},{"role":"user","content":"env"},{"role":"user","content":[{"type":"input_text","text":"the task"}]},` +
			`{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"say"}]},` +
			`{"type":"function_call","call_id":"a","name":"x","arguments":"{}"},{"type":"custom_tool_call","call_id":"b","name":"shell","input":"ls"},{"type":"local_shell_call","call_id":"c","action":{}},` +
			`{"type":"function_call_output","call_id":"a","output":"ok"},{"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"ok"}]},{"type":"local_shell_call_output","id":"c","output":{"x":1}},` +
			`{"type":"item_reference","id":"z"}]}`, "two"},
		"text mode": {chat, `{"messages":[` + user("the task: write one mswea_bash_command block") + `,{"role":"assistant","content":"a"},` + user("observed") + "," + user("bad") + `]}`, "three"},
	} {
		w := post(t, script, c.path, c.body)
		if !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %s, want %s", name, w.Body, c.want)
		}
	}
}

// events are the names of a stream's events, or where they have none what their data is.
func events(body string) []string {
	var out []string
	for e := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(e, "\ndata: ")
		if !ok {
			name, data = "", strings.TrimPrefix(e, "data: ")
		}
		if name == "" {
			name = strings.NewReplacer(`"`, "", "{", "", "}", "").Replace(data)
			name = map[bool]string{true: "usage", false: name}[strings.Contains(data, `"prompt_tokens":`)]
			if strings.Contains(data, `"delta":`) {
				name = "delta"
			}
		}
		out = append(out, strings.TrimPrefix(name, "event: "))
	}
	return out
}

func TestEventsOfStreams(t *testing.T) {
	t.Parallel()
	const script = "plays: [{steps: [{say: Hi., run: ls}]}]"
	chatBody := `"stream":true,"messages":[{"role":"user","content":"x"}],"tools":[` + chatTool("shell", `{}`) + `]}`
	for name, c := range map[string]struct {
		path, body string
		want       []string
	}{
		"chat": {"/v1/chat/completions", "{" + chatBody, []string{
			"delta", "delta", "delta", "delta", "delta", "delta", "delta", "delta", "delta", "delta", "[DONE]", // role, 3 of text, 5 of the call, finish
		}},
		"chat with usage": {"/v1/chat/completions", `{"stream_options":{"include_usage":true},` + chatBody, []string{
			"delta", "delta", "delta", "delta", "delta", "delta", "delta", "delta", "delta", "delta", "usage", "[DONE]",
		}},
		"messages": {"/v1/messages", `{"stream":true,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"Bash","input_schema":{}}]}`, []string{
			"message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_stop",
			"content_block_start", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_stop",
			"message_delta", "message_stop",
		}},
		"responses": {"/v1/responses", `{"stream":true,"input":"x","tools":[{"type":"function","name":"shell","parameters":{}}]}`, []string{
			"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
			"response.output_text.delta", "response.output_text.delta", "response.output_text.delta",
			"response.output_text.done", "response.content_part.done", "response.output_item.done",
			"response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.delta",
			"response.function_call_arguments.delta", "response.function_call_arguments.delta", "response.function_call_arguments.done",
			"response.output_item.done", "response.completed",
		}},
	} {
		w := post(t, script, c.path, c.body)
		if diff := cmp.Diff(c.want, events(w.Body.String())); diff != "" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") || !w.Flushed {
			t.Errorf("%s:\n%s\n%s", name, diff, w.Body)
		}
	}
}

// The same request has the same ids, another one has others: clients put
// parts with one id together.
func TestIDs(t *testing.T) {
	t.Parallel()
	id := func(text string) any {
		return object(t, post(t, hello, "/v1/messages", `{"messages":[{"role":"user","content":"`+text+`"}],"tools":[{"name":"Bash","input_schema":{}}]}`))["id"]
	}
	if a, b, c := id("x"), id("x"), id("y"); a != b || a == c || a == nil {
		t.Error(a, b, c)
	}
}
