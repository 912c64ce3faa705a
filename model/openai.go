package model

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/yudai-dev/yudai/agent"
)

// openAI speaks chat completions
// (https://platform.openai.com/docs/api-reference/chat/create).
type openAI struct {
	client
	api openai.ChatCompletionService
}

var (
	_ agent.Model      = (*openAI)(nil)
	_ agent.ModeSetter = (*openAI)(nil)
)

// newOpenAI makes the service by itself, not through openai.NewClient, which
// would read keys and addresses from the environment.
func newOpenAI(c client, h *http.Client) *openAI {
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(h), option.WithMaxRetries(0),
	}
	if c.entry.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(c.entry.BaseURL))
	}
	if c.key != "" {
		opts = append(opts, option.WithAPIKey(c.key))
	}
	return &openAI{client: c, api: openai.NewChatCompletionService(opts...)}
}

// InMode returns the model for tools or text.
func (m *openAI) InMode(mode string) agent.Model {
	out := *m
	out.mode = mode
	return &out
}

// Query sends the history.
func (m *openAI) Query(ctx context.Context, history []agent.Message) (agent.Reply, error) {
	params := m.params(history)
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

func (m *openAI) params(history []agent.Message) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: m.entry.model(), Messages: openAIMessages(history)}
	own := m.entry.BaseURL == ""
	if m.temperature != nil {
		p.Temperature = param.NewOpt(*m.temperature)
	}
	if n := int64(m.entry.MaxTokens); n > 0 && own {
		p.MaxCompletionTokens = param.NewOpt(n)
	} else if n > 0 { // the older name is the one that compatible servers know
		p.MaxTokens = param.NewOpt(n)
	}
	p.ReasoningEffort = shared.ReasoningEffort(m.entry.ReasoningEffort)
	if m.mode != agent.ModeTools {
		return p
	}
	if own && p.ReasoningEffort == "" && toolsNeedNoReasoning(m.entry.model()) {
		p.ReasoningEffort = "none"
	}
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: agent.ToolName, Description: param.NewOpt(agent.ToolText),
		Parameters: shared.FunctionParameters{
			"type": "object",
			"properties": map[string]any{
				agent.ToolArgument: map[string]any{"type": "string", "description": agent.ToolArgumentText},
			},
			"required": []string{agent.ToolArgument},
		},
	})}
	return p
}

func openAIMessages(history []agent.Message) []openai.ChatCompletionMessageParamUnion {
	out := make([]openai.ChatCompletionMessageParamUnion, 0, len(history))
	for _, m := range history {
		switch m.Role {
		case agent.RoleSystem:
			out = append(out, openai.SystemMessage(m.Content))
		case agent.RoleUser:
			out = append(out, openai.UserMessage(m.Content))
		case agent.RoleTool:
			out = append(out, openai.ToolMessage(m.Content, m.ToolCallID))
		case agent.RoleAssistant:
			a := openai.ChatCompletionAssistantMessageParam{}
			if m.Content != "" || len(m.ToolCalls) == 0 {
				a.Content.OfString = param.NewOpt(m.Content)
			}
			for _, c := range m.ToolCalls {
				a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
					OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
						ID:       c.ID,
						Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: c.Arguments},
					},
				})
			}
			out = append(out, openai.ChatCompletionMessageParamUnion{OfAssistant: &a})
		}
	}
	return out
}

func (m *openAI) reply(done *openai.ChatCompletion) (agent.Reply, error) {
	if done == nil || len(done.Choices) == 0 {
		return agent.Reply{}, m.fail(agent.StatusBadResponse, false, "the answer has no choices; check base_url and provider")
	}
	choice := done.Choices[0]
	msg := agent.Message{Role: agent.RoleAssistant, Content: choice.Message.Content}
	if msg.Content == "" {
		msg.Content = choice.Message.Refusal
	}
	for _, c := range choice.Message.ToolCalls {
		call := agent.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
		if c.Type == "custom" {
			call.Name, call.Arguments = c.Custom.Name, c.Custom.Input
		}
		msg.ToolCalls = append(msg.ToolCalls, call)
	}
	u := done.Usage
	read, write := u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens
	return agent.Reply{
		Message:      msg,
		FinishReason: choice.FinishReason,
		Usage: m.entry.Price.Usage(agent.Tokens{
			Input: u.PromptTokens - read - write, CacheRead: read, CacheWrite: write, Output: u.CompletionTokens,
		}),
		Raw: json.RawMessage(done.RawJSON()),
	}, nil
}
