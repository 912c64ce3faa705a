package fakeprovider

import (
	"encoding/json"
	"fmt"
)

// response is the object of an answer: as it begins, or with its items at the end.
func (a answer) response(items []any) map[string]any {
	m := map[string]any{
		"id": "resp_" + a.id, "object": "response", "created_at": a.created, "status": "in_progress", "model": a.model,
		"error": nil, "incomplete_details": nil, "instructions": nil, "max_output_tokens": nil, "metadata": map[string]any{},
		"output": []any{}, "parallel_tool_calls": true, "previous_response_id": nil, "reasoning": map[string]any{"effort": nil, "summary": nil},
		"store": false, "temperature": 1.0, "text": map[string]any{"format": map[string]any{"type": "text"}}, "tool_choice": "auto",
		"tools": []any{}, "top_p": 1.0, "truncation": "disabled", "usage": nil, "user": nil,
	}
	if items == nil {
		return m
	}
	m["output"], m["status"], m["usage"] = items, "completed", a.responseUsage()
	switch a.finish {
	case "length":
		m["status"], m["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	case "content_filter":
		m["status"], m["incomplete_details"] = "incomplete", map[string]any{"reason": "content_filter"}
	}
	return m
}

func (a answer) responseUsage() any {
	return map[string]any{
		"input_tokens": a.tokens.Input, "input_tokens_details": map[string]any{"cached_tokens": a.tokens.CachedRead},
		"output_tokens": a.tokens.Output, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		"total_tokens": a.tokens.Input + a.tokens.Output,
	}
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func (a answer) textItem(status string, content []any) map[string]any {
	return map[string]any{"id": "msg_" + a.id, "type": "message", "role": "assistant", "status": status, "content": content}
}

// item is the call as an item of the output, with as much of its arguments as is given.
func (c call) item(id, status, arguments string) map[string]any {
	m := map[string]any{"id": id, "call_id": c.id, "status": status}
	switch c.kind {
	case kindCustom:
		m["type"], m["name"], m["input"] = "custom_tool_call", c.name, arguments
	case kindLocal:
		m["type"] = "local_shell_call"
		m["action"] = map[string]any{"type": "exec", "command": json.RawMessage(c.arguments), "env": map[string]string{}}
	default:
		m["type"], m["name"], m["arguments"] = "function_call", c.name, arguments
	}
	return m
}

func (a answer) callID(i int) string { return fmt.Sprintf("fc_%s_%d", a.id, i) }

func (a answer) items() []any {
	items := []any{}
	if a.text != "" {
		items = append(items, a.textItem("completed", []any{textPart(a.text)}))
	}
	for i, c := range a.calls {
		items = append(items, c.item(a.callID(i), "completed", c.arguments))
	}
	return items
}

func wholeResponse(a answer) any { return a.response(a.items()) }

// responseStream numbers the events of a response.
type responseStream struct {
	*stream
	a    answer
	next int // sequence number
	at   int // index of the item
}

func streamResponse(s *stream, a answer) {
	r := &responseStream{stream: s, a: a}
	r.send("response.created", map[string]any{"response": a.response(nil)})
	r.send("response.in_progress", map[string]any{"response": a.response(nil)})
	if a.text != "" {
		r.text()
	}
	for i, c := range a.calls {
		r.call(c, a.callID(i))
	}
	done := a.response(a.items())
	r.send("response."+done["status"].(string), map[string]any{"response": done})
}

func (r *responseStream) send(kind string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = kind, r.next
	r.next++
	r.event(kind, compact(fields))
}

func (r *responseStream) text() {
	id := "msg_" + r.a.id
	part := func(kind string, fields map[string]any) {
		fields["item_id"], fields["output_index"], fields["content_index"] = id, r.at, 0
		r.send(kind, fields)
	}
	r.send("response.output_item.added", map[string]any{"output_index": r.at, "item": r.a.textItem("in_progress", []any{})})
	part("response.content_part.added", map[string]any{"part": textPart("")})
	for _, p := range pieces(r.a.text) {
		part("response.output_text.delta", map[string]any{"delta": p, "logprobs": []any{}})
	}
	part("response.output_text.done", map[string]any{"text": r.a.text, "logprobs": []any{}})
	part("response.content_part.done", map[string]any{"part": textPart(r.a.text)})
	r.send("response.output_item.done", map[string]any{"output_index": r.at, "item": r.a.textItem("completed", []any{textPart(r.a.text)})})
	r.at++
}

func (r *responseStream) call(c call, id string) {
	r.send("response.output_item.added", map[string]any{"output_index": r.at, "item": c.item(id, "in_progress", "")})
	kind, field := "response.function_call_arguments", "arguments"
	if c.kind == kindCustom {
		kind, field = "response.custom_tool_call_input", "input"
	}
	if c.kind != kindLocal {
		for _, p := range pieces(c.arguments) {
			r.send(kind+".delta", map[string]any{"item_id": id, "output_index": r.at, "delta": p})
		}
		r.send(kind+".done", map[string]any{"item_id": id, "output_index": r.at, "name": c.name, field: c.arguments})
	}
	r.send("response.output_item.done", map[string]any{"output_index": r.at, "item": c.item(id, "completed", c.arguments)})
	r.at++
}
