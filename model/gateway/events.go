package gateway

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/yudai-dev/yudai/agent"
)

// event reads one event of a stream. It reports false for data that is no JSON object.
func (m *meter) event(data []byte) bool {
	m.events++
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return true
	}
	switch m.api {
	case agent.APIChat:
		return m.chat(data)
	case agent.APIResponses:
		return m.responses(data)
	}
	return m.messages(data)
}

// last is how a chat stream ends.
func last(data []byte) bool { return bytes.HasPrefix(data, []byte("[DONE]")) }

func (m *meter) chat(data []byte) bool {
	if last(data) {
		m.ended = true
		return true
	}
	var e struct {
		Usage   json.RawMessage `json:"usage"`
		Error   json.RawMessage `json:"error"`
		Choices []struct {
			Reason *string `json:"finish_reason"`
			Delta  struct {
				Content   string `json:"content"`
				Refusal   string `json:"refusal"`
				Reasoning string `json:"reasoning"`
				Thoughts  string `json:"reasoning_content"`
				Tools     []struct {
					Function struct {
						Name      string `json:"name"`
						Arguments string `json:"arguments"`
					} `json:"function"`
					Custom struct {
						Input string `json:"input"`
					} `json:"custom"`
				} `json:"tool_calls"`
			} `json:"delta"`
		} `json:"choices"`
	}
	if !decode(data, &e) {
		return false
	}
	if len(e.Error) > 0 && !isNull(e.Error) {
		m.failure, m.ended = message(e.Error), true
	}
	for _, c := range e.Choices {
		m.begun = true
		d := c.Delta
		m.replyBytes += int64(len(d.Content) + len(d.Refusal) + max(len(d.Reasoning), len(d.Thoughts)))
		for _, t := range d.Tools {
			m.replyBytes += int64(len(t.Function.Name) + len(t.Function.Arguments) + len(t.Custom.Input))
		}
		m.reason = m.reason || c.Reason != nil && *c.Reason != ""
	}
	if u := readUsage(e.Usage); u != nil {
		m.reported = u
		m.usageOnly = e.Choices != nil && len(e.Choices) == 0 && m.failure == ""
	}
	return true
}

func (m *meter) responses(data []byte) bool {
	if last(data) { // some servers end so, whatever the API
		m.ended = true
		return true
	}
	var e struct {
		Type     string          `json:"type"`
		Delta    any             `json:"delta"`
		Message  string          `json:"message"`
		Error    json.RawMessage `json:"error"`
		Response struct {
			Usage json.RawMessage `json:"usage"`
			Error json.RawMessage `json:"error"`
		} `json:"response"`
	}
	if !decode(data, &e) {
		return false
	}
	if text, ok := e.Delta.(string); ok {
		m.begun = true
		m.replyBytes += int64(len(text))
	}
	switch e.Type {
	case "response.completed", "response.incomplete":
		m.ended, m.begun = true, true
	case "response.failed":
		m.ended, m.failure = true, message(e.Response.Error)
	case "error":
		m.ended, m.failure = true, e.Message
		if e.Message == "" {
			m.failure = message(e.Error)
		}
	}
	if u := readUsage(e.Response.Usage); u != nil && m.ended {
		m.reported = u
	}
	return true
}

func (m *meter) messages(data []byte) bool {
	var e struct {
		Type    string          `json:"type"`
		Usage   json.RawMessage `json:"usage"`
		Error   json.RawMessage `json:"error"`
		Message struct {
			Usage json.RawMessage `json:"usage"`
		} `json:"message"`
		Delta struct {
			Text     string  `json:"text"`
			JSON     string  `json:"partial_json"`
			Thinking string  `json:"thinking"`
			Reason   *string `json:"stop_reason"`
		} `json:"delta"`
	}
	if !decode(data, &e) {
		return false
	}
	switch e.Type {
	case "message_start":
		m.begun, m.first = true, readUsage(e.Message.Usage)
	case "content_block_delta":
		m.begun = true
		m.replyBytes += int64(len(e.Delta.Text) + len(e.Delta.JSON) + len(e.Delta.Thinking))
	case "message_delta":
		m.reason = m.reason || e.Delta.Reason != nil && *e.Delta.Reason != ""
		m.delta(readUsage(e.Usage))
	case "message_stop":
		m.ended = true
	case "error":
		m.ended, m.failure = true, message(e.Error)
	}
	return true
}

// delta takes the numbers at the end of a message. They are sums; what they leave out
// is as it was at the beginning.
func (m *meter) delta(u *usage) {
	if u == nil {
		return
	}
	if f := m.first; f != nil {
		if u.Input+u.CacheRead+u.CacheWrite == 0 {
			u.Input, u.CacheRead, u.CacheWrite = f.Input, f.CacheRead, f.CacheWrite
		}
		if u.Creation.Hour == 0 {
			u.Creation = f.Creation
		}
		u.Output = max(u.Output, f.Output)
	}
	m.reported = u
}

// complete says that the stream brought all of the reply, though it may not have said so.
func (m *meter) complete() bool { return m.ended || m.reason }

// decode reads a JSON object, whatever the types of its members are.
func decode(data []byte, into any) bool {
	if data[0] != '{' {
		return false
	}
	err := json.Unmarshal(data, into)
	var wrong *json.UnmarshalTypeError
	return err == nil || errors.As(err, &wrong)
}
