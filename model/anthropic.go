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

// newAnthropic makes a client that speaks messages
// (https://docs.anthropic.com/en/api/messages). It makes the service by itself, not through
// anthropic.NewClient, which would read keys and addresses from the environment and from profiles.
func newAnthropic(c client, h *http.Client) *client {
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
	api := anthropic.NewMessageService(opts...)
	c.api = agent.APIMessages
	c.ask = func(ctx context.Context, c *client, history []agent.Message, s *sent) (agent.Reply, error) {
		params, err := anthropicParams(c, history)
		if err != nil {
			return agent.Reply{}, err
		}
		done, err := api.New(ctx, params, option.WithMiddleware(s.watch))
		if err != nil {
			return agent.Reply{}, err
		}
		return anthropicReply(c, done)
	}
	return &c
}

func anthropicParams(c *client, history []agent.Message) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: c.entry.model(), MaxTokens: defaultReply}
	if c.entry.MaxTokens > 0 {
		p.MaxTokens = int64(c.entry.MaxTokens)
	}
	if c.temperature != nil {
		p.Temperature = param.NewOpt(*c.temperature)
	}
	for _, h := range history {
		if h.Role == agent.RoleSystem {
			p.System = append(p.System, anthropic.TextBlockParam{Text: h.Content})
			continue
		}
		role, blocks, err := c.blocks(h)
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
	if c.mode == agent.ModeTools {
		p.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: agent.ToolName, Description: param.NewOpt(agent.ToolText),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: toolProperties(), Required: []string{agent.ToolArgument}},
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
func (c *client) blocks(h agent.Message) (anthropic.MessageParamRole, []anthropic.ContentBlockParamUnion, error) {
	switch h.Role {
	case agent.RoleUser:
		return anthropic.MessageParamRoleUser, []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(h.Content)}, nil
	case agent.RoleTool:
		result := anthropic.NewToolResultBlock(h.ToolCallID, h.Content, false)
		return anthropic.MessageParamRoleUser, []anthropic.ContentBlockParamUnion{result}, nil
	case agent.RoleAssistant:
		parts, err := c.parts(h)
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
func (c *client) parts(h agent.Message) ([]block, error) {
	var parts []block
	if len(h.Native) > 0 {
		if err := json.Unmarshal(h.Native, &parts); err != nil {
			return nil, c.fail(agent.StatusBadRequest, false, "the stored reply cannot be read")
		}
		return parts, nil
	}
	if h.Content != "" {
		parts = append(parts, block{Type: "text", Text: h.Content})
	}
	for _, t := range h.ToolCalls {
		parts = append(parts, block{Type: "tool_use", ID: t.ID, Name: t.Name, Input: json.RawMessage(t.Arguments)})
	}
	return parts, nil
}

func anthropicReply(c *client, done *anthropic.Message) (agent.Reply, error) {
	if done == nil || done.Type != "message" || done.StopReason == "" {
		return agent.Reply{}, c.fail(agent.StatusBadResponse, false, "the answer is no message; check base_url and provider")
	}
	var thought, said []block
	var text []string
	msg := agent.Message{Role: agent.RoleAssistant}
	for _, part := range done.Content {
		b := block{Type: part.Type, Text: part.Text, Thinking: part.Thinking, Signature: part.Signature, Data: part.Data}
		switch {
		case b.thinks():
			thought = append(thought, b)
			continue
		case part.Type == "tool_use":
			b.ID, b.Name, b.Input = part.ID, part.Name, part.Input
			msg.ToolCalls = append(msg.ToolCalls, agent.ToolCall{ID: part.ID, Name: part.Name, Arguments: string(part.Input)})
		case part.Type == "text" && part.Text != "":
			text = append(text, part.Text)
		default:
			continue // nothing that we asked for
		}
		said = append(said, b)
	}
	msg.Content = strings.Join(text, "\n")
	if len(thought) > 0 { // the API wants thinking first, and unchanged
		native, err := json.Marshal(append(thought, said...))
		if err != nil {
			return agent.Reply{}, c.fail(agent.StatusBadResponse, false, "the answer cannot be kept")
		}
		msg.Native = native
	}
	return agent.Reply{Message: msg, FinishReason: finish(done.StopReason), Raw: json.RawMessage(done.RawJSON())}, nil
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
