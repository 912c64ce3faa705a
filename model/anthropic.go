package model

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/yudai-dev/yudai/agent"
)

// defaultReply is max_tokens where none is configured: the API asks for one.
const defaultReply = 16384

// claude speaks messages (https://docs.anthropic.com/en/api/messages).
type claude struct {
	client
	api anthropic.MessageService
}

var (
	_ agent.Model      = (*claude)(nil)
	_ agent.ModeSetter = (*claude)(nil)
)

// newAnthropic makes the service by itself, not through anthropic.NewClient,
// which would read keys and addresses from the environment and from profiles.
func newAnthropic(c client, h *http.Client) *claude {
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(h), option.WithMaxRetries(0),
		option.WithRequestTimeout(c.entry.Timeout), option.WithoutOpenTelemetry(),
	}
	if c.entry.BaseURL != "" { // the SDK adds /v1 itself
		opts = append(opts, option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(c.entry.BaseURL, "/"), "/v1")))
	}
	if c.key != "" {
		opts = append(opts, option.WithAPIKey(c.key))
	}
	return &claude{client: c, api: anthropic.NewMessageService(opts...)}
}

// InMode returns the model for tools or text.
func (m *claude) InMode(mode string) agent.Model {
	out := *m
	out.mode = mode
	return &out
}

// Query sends the history.
func (m *claude) Query(ctx context.Context, history []agent.Message) (agent.Reply, error) {
	params, err := m.params(history)
	if err != nil {
		return agent.Reply{}, err
	}
	return m.call(ctx, func(ctx context.Context) (agent.Reply, *http.Response, error) {
		var res *http.Response
		done, err := m.api.New(ctx, params, option.WithResponseInto(&res))
		if err != nil {
			return agent.Reply{}, res, err
		}
		reply, err := m.reply(done)
		return reply, res, err
	})
}

func (m *claude) params(history []agent.Message) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: m.entry.model(), MaxTokens: defaultReply}
	if m.entry.MaxTokens > 0 {
		p.MaxTokens = int64(m.entry.MaxTokens)
	}
	if m.temperature != nil {
		p.Temperature = param.NewOpt(*m.temperature)
	}
	for _, h := range history {
		if h.Role == agent.RoleSystem {
			p.System = append(p.System, anthropic.TextBlockParam{Text: h.Content})
			continue
		}
		role, blocks, err := m.blocks(h)
		if err != nil {
			return p, err
		}
		// Observations of one turn, and what follows them, are one message of the user.
		if n := len(p.Messages); n > 0 && p.Messages[n-1].Role == role {
			p.Messages[n-1].Content = append(p.Messages[n-1].Content, blocks...)
		} else if len(blocks) > 0 {
			p.Messages = append(p.Messages, anthropic.MessageParam{Role: role, Content: blocks})
		}
	}
	markCache(p.Messages)
	if m.mode == agent.ModeTools {
		p.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: agent.ToolName, Description: param.NewOpt(agent.ToolText),
			InputSchema: anthropic.ToolInputSchemaParam{
				Properties: map[string]any{
					agent.ToolArgument: map[string]any{"type": "string", "description": agent.ToolArgumentText},
				},
				Required: []string{agent.ToolArgument},
			},
		}}}
	}
	return p, nil
}

// markCache puts the one cache marker on the end of the last message: the next
// call reads all up to there from the cache.
func markCache(messages []anthropic.MessageParam) {
	if len(messages) == 0 {
		return
	}
	blocks := messages[len(messages)-1].Content
	switch b := blocks[len(blocks)-1]; {
	case b.OfText != nil:
		b.OfText.CacheControl = anthropic.NewCacheControlEphemeralParam()
	case b.OfToolResult != nil:
		b.OfToolResult.CacheControl = anthropic.NewCacheControlEphemeralParam()
	}
}

// block is one part of an assistant message as it has to be sent back. A list
// of them is Message.Native of a reply that thought.
type block struct {
	Type      string          `json:"type"` // text, thinking, redacted_thinking, tool_use
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

func (b block) thinks() bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

func (b block) param() anthropic.ContentBlockParamUnion {
	switch b.Type {
	case "thinking":
		return anthropic.NewThinkingBlock(b.Signature, b.Thinking)
	case "redacted_thinking":
		return anthropic.NewRedactedThinkingBlock(b.Data)
	case "tool_use":
		return anthropic.NewToolUseBlock(b.ID, b.Input, b.Name)
	}
	return anthropic.NewTextBlock(b.Text)
}

// blocks is one message of the history in the API's form.
func (m *claude) blocks(h agent.Message) (anthropic.MessageParamRole, []anthropic.ContentBlockParamUnion, error) {
	switch h.Role {
	case agent.RoleUser:
		return anthropic.MessageParamRoleUser, []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(h.Content)}, nil
	case agent.RoleTool:
		result := anthropic.NewToolResultBlock(h.ToolCallID, h.Content, false)
		return anthropic.MessageParamRoleUser, []anthropic.ContentBlockParamUnion{result}, nil
	case agent.RoleAssistant:
		parts, err := m.parts(h)
		if err != nil {
			return "", nil, err
		}
		out := make([]anthropic.ContentBlockParamUnion, 0, len(parts))
		for _, b := range parts {
			out = append(out, b.param())
		}
		return anthropic.MessageParamRoleAssistant, out, nil
	}
	return "", nil, nil
}

// parts is an assistant message in blocks: as it came, or from its neutral form.
func (m *claude) parts(h agent.Message) ([]block, error) {
	var parts []block
	if len(h.Native) > 0 {
		if err := json.Unmarshal(h.Native, &parts); err != nil {
			return nil, m.fail(agent.StatusBadRequest, false, "the stored reply cannot be read")
		}
		return parts, nil
	}
	if h.Content != "" {
		parts = append(parts, block{Type: "text", Text: h.Content})
	}
	for _, c := range h.ToolCalls {
		parts = append(parts, block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: json.RawMessage(c.Arguments)})
	}
	return parts, nil
}

func (m *claude) reply(done *anthropic.Message) (agent.Reply, error) {
	if done == nil || done.Type != "message" || done.StopReason == "" {
		return agent.Reply{}, m.fail(agent.StatusBadResponse, false, "the answer is no message; check base_url and provider")
	}
	var thought, said []block
	var text []string
	msg := agent.Message{Role: agent.RoleAssistant}
	for _, c := range done.Content {
		b := block{Type: c.Type, Text: c.Text, Thinking: c.Thinking, Signature: c.Signature, Data: c.Data}
		switch {
		case b.thinks():
			thought = append(thought, b)
			continue
		case c.Type == "tool_use":
			b.ID, b.Name, b.Input = c.ID, c.Name, c.Input
			msg.ToolCalls = append(msg.ToolCalls, agent.ToolCall{ID: c.ID, Name: c.Name, Arguments: string(c.Input)})
		case c.Type == "text" && c.Text != "":
			text = append(text, c.Text)
		default:
			continue // nothing that we asked for
		}
		said = append(said, b)
	}
	msg.Content = strings.Join(text, "\n")
	if len(thought) > 0 { // the API wants thinking first, and unchanged
		native, err := json.Marshal(append(thought, said...))
		if err != nil {
			return agent.Reply{}, m.fail(agent.StatusBadResponse, false, "the answer cannot be kept")
		}
		msg.Native = native
	}
	u := done.Usage
	return agent.Reply{
		Message:      msg,
		FinishReason: finish(done.StopReason),
		Usage: m.entry.Price.Usage(agent.Tokens{
			Input: u.InputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens, Output: u.OutputTokens,
		}),
		Raw: json.RawMessage(done.RawJSON()),
	}, nil
}

// finish is the stop reason in the words of chat completions.
func finish(r anthropic.StopReason) string {
	switch r {
	case anthropic.StopReasonMaxTokens, "model_context_window_exceeded":
		return "length"
	case anthropic.StopReasonToolUse:
		return "tool_calls"
	case anthropic.StopReasonRefusal:
		return "content_filter"
	}
	return "stop"
}
