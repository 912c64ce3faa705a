package fakeprovider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/agent"
)

// fence marks the commands of agents that work in text.
const fence = "mswea_bash_command"

// client is how a client gives commands and ends.
type client int

const (
	sideClient  client = iota // has no shell: the request is a side call
	otherClient               // calls its own tool and ends with a text
	miniClient                // mini and its relatives: the one tool, and the marker
	textClient                // the same in fenced blocks
)

// client tells by the tools that a request declares.
func (r request) client() client {
	shell, ok := r.shell()
	switch {
	case ok && len(r.tools) == 1 && shell.native():
		return miniClient
	case ok:
		return otherClient
	case len(r.tools) > 0:
		return sideClient
	}
	for _, m := range r.history {
		if m.Role != agent.RoleAssistant && strings.Contains(m.Content, fence) {
			return textClient
		}
	}
	return sideClient
}

// settle makes of a decoded conversation one with a message for each turn, as
// the model counts them. Providers' clients split a turn in parts and put
// reminders between; mini keeps a malformed reply only as the complaint about it,
// a message of the user's that follows no reply.
func settle(history []agent.Message, c client) []agent.Message {
	mini := c == miniClient || c == textClient
	out := make([]agent.Message, 0, len(history))
	task := false
	for _, m := range history {
		last := agent.Message{}
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		switch {
		case m.Role == agent.RoleAssistant && last.Role == m.Role,
			m.Role == agent.RoleUser && last.Role == m.Role && !mini:
			out[len(out)-1] = joined(last, m)
			continue
		case m.Role == agent.RoleUser && mini && task && last.Role != agent.RoleAssistant:
			m.Extra = map[string]any{"interrupt_type": "FormatError"}
		}
		task = task || m.Role == agent.RoleUser
		out = append(out, m)
	}
	return out
}

func joined(a, b agent.Message) agent.Message {
	a.Content = strings.Trim(a.Content+"\n"+b.Content, "\n")
	a.ToolCalls = append(a.ToolCalls[:len(a.ToolCalls):len(a.ToolCalls)], b.ToolCalls...)
	return a
}

// estimate counts four characters as a token, as scripts do.
func estimate(history []agent.Message) int64 {
	var sum int64
	for _, m := range history {
		n := utf8.RuneCountInString(m.Content)
		for _, c := range m.ToolCalls {
			n += utf8.RuneCountInString(c.Arguments)
		}
		sum += int64(n+3) / 4
	}
	return sum
}

// parse reads a request body.
func parse(body []byte, into any) error {
	if !utf8.Valid(body) {
		return errors.New("the body is not valid UTF-8")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("parse request: %w", err)
	}
	return nil
}

// part is one part of a message's content, of all three interfaces.
type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
	// Of Anthropic's blocks.
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// partsOf reads content that is nothing, a text, or a list of parts.
func partsOf(raw json.RawMessage) ([]part, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return nil, nil
	case raw[0] == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("parse content: %w", err)
		}
		return []part{{Type: "text", Text: text}}, nil
	}
	var parts []part
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("parse content: %w", err)
	}
	return parts, nil
}

// textOf joins the texts of a content; pictures and the like are left out.
func textOf(raw json.RawMessage) (string, error) {
	parts, err := partsOf(raw)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, p := range parts {
		if text := p.Text + p.Refusal; text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n"), nil
}
