package fakeprovider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/agent"
)

// responsesAPI is OpenAI's responses, without state at the server.
func responsesAPI() api {
	return api{decode: decodeResponses, whole: wholeResponse, stream: streamResponse, fail: failure.openAI}
}

type responsesRequest struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	Instructions string          `json:"instructions"`
	Previous     string          `json:"previous_response_id"`
	Input        json.RawMessage `json:"input"`
	Tools        []struct {
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"tools"`
}

// item is one item of the input.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Action    json.RawMessage `json:"action"`
}

func decodeResponses(body []byte) (request, error) {
	var in responsesRequest
	if err := parse(body, &in); err != nil {
		return request{}, err
	}
	if in.Previous != "" {
		return request{}, errors.New("previous_response_id is not supported: send the whole conversation")
	}
	out := request{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		switch t.Type {
		case kindFunction:
			out.tools = append(out.tools, tool{kind: t.Type, name: t.Name, schema: schemaOf(t.Parameters)})
		case kindCustom:
			out.tools = append(out.tools, tool{kind: t.Type, name: t.Name})
		case kindLocal:
			out.tools = append(out.tools, tool{kind: t.Type, name: t.Type})
		default: // hosted tools: searches and the like
			out.tools = append(out.tools, tool{kind: t.Type})
		}
	}
	if in.Instructions != "" {
		out.history = append(out.history, agent.Message{Role: agent.RoleSystem, Content: in.Instructions})
	}
	items, err := itemsOf(in.Input)
	if err != nil {
		return request{}, err
	}
	for i, it := range items {
		m, err := it.message()
		if err != nil {
			return request{}, fmt.Errorf("input[%d]: %w", i, err)
		}
		if m.Role != "" {
			out.history = append(out.history, m)
		}
	}
	return out, nil
}

// itemsOf reads an input that is a text or a list of items.
func itemsOf(raw json.RawMessage) ([]item, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		return []item{{Role: "user", Content: raw}}, nil
	}
	var items []item
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, fmt.Errorf("parse input: %w", err)
		}
	}
	return items, nil
}

// message is an item in our form; its role is empty if it is none of the conversation.
func (it item) message() (agent.Message, error) {
	calls := func(name, arguments string) (agent.Message, error) {
		return agent.Message{Role: agent.RoleAssistant, ToolCalls: []agent.ToolCall{{ID: it.CallID, Name: name, Arguments: arguments}}}, nil
	}
	switch it.Type {
	case "", "message":
		role, ok := roleOf(it.Role)
		if !ok || role == agent.RoleTool {
			return agent.Message{}, fmt.Errorf("the message has the unknown role %.40q", it.Role)
		}
		text, err := textOf(it.Content)
		return agent.Message{Role: role, Content: text}, err
	case "function_call":
		return calls(it.Name, it.Arguments)
	case "custom_tool_call":
		return calls(it.Name, it.Input)
	case "local_shell_call":
		return calls(kindLocal, string(it.Action))
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		text, err := textOf(it.Output)
		if err != nil { // an object of a program's own
			text = string(it.Output)
		}
		id := it.CallID
		if id == "" {
			id = it.ID
		}
		return agent.Message{Role: agent.RoleTool, Content: text, ToolCallID: id}, nil
	}
	return agent.Message{}, nil // reasoning, references, searches
}
