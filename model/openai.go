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

// newOpenAI makes a client that speaks chat completions
// (https://platform.openai.com/docs/api-reference/chat/create). It makes the service by
// itself, not through openai.NewClient, which would read keys and addresses from the environment.
func newOpenAI(c client, h *http.Client) *client {
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(h), option.WithMaxRetries(0),
	}
	if c.entry.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(c.entry.BaseURL))
	}
	if c.key != "" {
		opts = append(opts, option.WithAPIKey(c.key))
	}
	api := openai.NewChatCompletionService(opts...)
	c.api = agent.APIChat
	c.ask = func(ctx context.Context, c *client, history []agent.Message, s *sent) (agent.Reply, error) {
		done, err := api.New(ctx, openAIParams(c, history), option.WithMiddleware(s.watch))
		if err != nil {
			return agent.Reply{}, err
		}
		return openAIReply(c, done)
	}
	return &c
}

func openAIParams(c *client, history []agent.Message) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: c.entry.model(), Messages: openAIMessages(history)}
	own := c.entry.own()
	if c.temperature != nil {
		p.Temperature = param.NewOpt(*c.temperature)
	}
	if n := int64(c.entry.MaxTokens); n > 0 && own {
		p.MaxCompletionTokens = param.NewOpt(n)
	} else if n > 0 { // the older name is the one that compatible servers know
		p.MaxTokens = param.NewOpt(n)
	}
	p.ReasoningEffort = shared.ReasoningEffort(c.entry.ReasoningEffort)
	if c.mode != agent.ModeTools {
		return p
	}
	if own && p.ReasoningEffort == "" && toolsNeedNoReasoning(c.entry.model()) {
		p.ReasoningEffort = "none"
	}
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: agent.ToolName, Description: param.NewOpt(agent.ToolText),
		Parameters: shared.FunctionParameters{"type": "object", "properties": toolProperties(), "required": []string{agent.ToolArgument}},
	})}
	return p
}

// toolProperties describes the argument of the one tool.
func toolProperties() map[string]any {
	return map[string]any{agent.ToolArgument: map[string]any{"type": "string", "description": agent.ToolArgumentText}}
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

func openAIReply(c *client, done *openai.ChatCompletion) (agent.Reply, error) {
	if done == nil || len(done.Choices) == 0 {
		return agent.Reply{}, c.fail(agent.StatusBadResponse, false, "the answer has no choices; check base_url and provider")
	}
	choice := done.Choices[0]
	msg := agent.Message{Role: agent.RoleAssistant, Content: choice.Message.Content}
	if msg.Content == "" {
		msg.Content = choice.Message.Refusal
	}
	for _, t := range choice.Message.ToolCalls {
		call := agent.ToolCall{ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments}
		if t.Type == "custom" {
			call.Name, call.Arguments = t.Custom.Name, t.Custom.Input
		}
		msg.ToolCalls = append(msg.ToolCalls, call)
	}
	return agent.Reply{Message: msg, FinishReason: choice.FinishReason, Raw: json.RawMessage(done.RawJSON())}, nil
}
