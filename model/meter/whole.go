package meter

import (
	"bytes"
	"encoding/json"

	"github.com/yudai-dev/yudai/agent"
)

// Whole reads an answer that is no stream. It reports false for one that is none of the API's.
func (m *Meter) Whole(data []byte) bool {
	var a struct {
		Usage   json.RawMessage `json:"usage"`
		Choices json.RawMessage `json:"choices"`
		Output  json.RawMessage `json:"output"`
		Content json.RawMessage `json:"content"`
		Status  string          `json:"status"`
		Error   json.RawMessage `json:"error"`
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || !decode(data, &a) {
		return false
	}
	reply := a.Choices
	switch m.API {
	case agent.APIResponses:
		reply = a.Output
	case agent.APIMessages:
		reply = a.Content
	}
	if reply = bytes.TrimSpace(reply); len(reply) == 0 || reply[0] != '[' {
		return false
	}
	m.Came(len(reply) - aside(reply))
	m.Ended, m.whole, m.reported = true, true, readUsage(a.Usage)
	if m.API == agent.APIResponses && a.Status == "failed" {
		m.Failure = message(a.Error)
	}
	return true
}

// aside is how many bytes of a chat's choices tell of its tokens, and are none.
func aside(choices []byte) (n int) {
	var list []struct {
		Logprobs json.RawMessage `json:"logprobs"`
	}
	if json.Unmarshal(choices, &list) == nil {
		for _, c := range list {
			n += len(c.Logprobs)
		}
	}
	return n
}

// message is the text of an error in a stream.
func message(raw json.RawMessage) string {
	var e struct {
		Message string `json:"message"`
	}
	switch plain := text(raw); {
	case json.Unmarshal(raw, &e) == nil && e.Message != "":
		return e.Message
	case plain != "":
		return plain
	}
	return "no reason given"
}

// text is a JSON string, "" for anything else.
func text(raw []byte) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
