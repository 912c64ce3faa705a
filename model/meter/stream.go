package meter

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/yudai-dev/yudai/agent"
)

// event is one event of a stream of any API, as far as it matters here.
type event struct {
	Type    string          `json:"type"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"` // the text of an error, or a message that begins
	Delta   json.RawMessage `json:"delta"`   // text of responses, or a delta of messages
	Choices []struct {
		Reason *string `json:"finish_reason"`
		Delta  delta   `json:"delta"`
	} `json:"choices"`
	Response struct {
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"response"`
}

// delta is a piece of a reply.
type delta struct {
	// chat
	Content   string `json:"content"`
	Refusal   string `json:"refusal"`
	Reasoning string `json:"reasoning"`
	Thoughts  string `json:"reasoning_content"` // the same under another name
	Tools     []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
		Custom struct {
			Input string `json:"input"`
		} `json:"custom"`
	} `json:"tool_calls"`
	// messages
	Text     string  `json:"text"`
	JSON     string  `json:"partial_json"`
	Thinking string  `json:"thinking"`
	Reason   *string `json:"stop_reason"`
}

// size is how many bytes the model wrote.
func (d delta) size() int64 {
	n := len(d.Content) + len(d.Refusal) + max(len(d.Reasoning), len(d.Thoughts)) + len(d.Text) + len(d.JSON) + len(d.Thinking)
	for _, t := range d.Tools {
		n += len(t.Function.Name) + len(t.Function.Arguments) + len(t.Custom.Input)
	}
	return int64(n)
}

// Event reads one event of a stream. It reports false for data that is no JSON object.
func (m *Meter) Event(data []byte) bool {
	m.Events++
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return true
	}
	if m.API != agent.APIMessages && bytes.HasPrefix(data, []byte("[DONE]")) { // some servers of responses end so, too
		m.Ended = true
		return true
	}
	var e event
	if !decode(data, &e) {
		return false
	}
	switch m.API {
	case agent.APIChat:
		m.chat(e)
	case agent.APIResponses:
		m.responses(e)
	default:
		m.messages(e)
	}
	return true
}

func (m *Meter) chat(e event) {
	if len(e.Error) > 0 && string(e.Error) != "null" {
		m.Failure, m.Ended = message(e.Error), true
	}
	for _, c := range e.Choices {
		m.Begun = true
		m.replyBytes += c.Delta.size()
		m.reason = m.reason || c.Reason != nil && *c.Reason != ""
	}
	if u := readUsage(e.Usage); u != nil {
		m.reported = u
		m.UsageOnly = e.Choices != nil && len(e.Choices) == 0 && m.Failure == ""
	}
}

func (m *Meter) responses(e event) {
	if len(e.Delta) > 0 && e.Delta[0] == '"' {
		m.Begun = true
		m.replyBytes += int64(len(text(e.Delta)))
	}
	switch e.Type {
	case "response.completed", "response.incomplete":
		m.Ended, m.Begun = true, true
	case "response.failed":
		m.Ended, m.Failure = true, message(e.Response.Error)
	case "error":
		if m.Ended, m.Failure = true, text(e.Message); m.Failure == "" {
			m.Failure = message(e.Error)
		}
	}
	if u := readUsage(e.Response.Usage); u != nil && m.Ended {
		m.reported = u
	}
}

func (m *Meter) messages(e event) {
	var begins struct {
		Usage json.RawMessage `json:"usage"`
	}
	var d delta
	if len(e.Delta) > 0 {
		decode(e.Delta, &d)
	}
	switch e.Type {
	case "message_start":
		if len(e.Message) > 0 {
			decode(e.Message, &begins)
		}
		m.Begun, m.first = true, readUsage(begins.Usage)
	case "content_block_delta":
		m.Begun = true
		m.replyBytes += d.size()
	case "message_delta":
		m.reason = m.reason || d.Reason != nil && *d.Reason != ""
		m.delta(readUsage(e.Usage))
	case "message_stop":
		m.Ended = true
	case "error":
		m.Ended, m.Failure = true, message(e.Error)
	}
}

// delta takes the numbers at the end of a message. They are sums; what they leave out
// is as it was at the beginning.
func (m *Meter) delta(u *usage) {
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

// Complete says that the stream brought all of the reply, though it may not have said so.
func (m *Meter) Complete() bool { return m.Ended || m.reason }

// decode reads a JSON object, whatever the types of its members are.
func decode(data []byte, into any) bool {
	if data[0] != '{' {
		return false
	}
	err := json.Unmarshal(data, into)
	var wrong *json.UnmarshalTypeError
	return err == nil || errors.As(err, &wrong)
}
