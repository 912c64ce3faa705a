package fakeprovider_test

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	aoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// fix is a play of three turns, the last one of which says itself.
const fix = `
plays:
  - match: {task_contains: the sum is wrong}
    steps:
      - say: First a look.
        run: cat sum.go
        usage: {input: 100, cached: 40, output: 7}
      - say: |
          I write it, ünd more.
          In two parts.
        runs: ["echo 'a \"b\" <c> & d' > sum.go", "go test ./... # ✓"]
      - run: git diff
`

// seen is what a client's loop saw: the commands, the last text, the first usage.
type seen struct {
	Commands           []string
	Says               []string
	Input, Cached, Out int64
}

func wantSeen() seen {
	return seen{
		Commands: []string{"cat sum.go", "echo 'a \"b\" <c> & d' > sum.go", "go test ./... # ✓", "git diff"},
		Says:     []string{"First a look.", "I write it, ünd more.\nIn two parts.", "", "The work is done; I submit it."},
		Input:    100, Cached: 40, Out: 7,
	}
}

// took notes one tool call; its arguments must have exactly these others beside the command.
func (s *seen) took(t *testing.T, arguments, key string, others map[string]any) {
	t.Helper()
	var args map[string]any
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		t.Fatalf("arguments %q: %v", arguments, err)
	}
	command, _ := args[key].(string)
	s.Commands = append(s.Commands, command)
	delete(args, key)
	if diff := cmp.Diff(others, args); diff != "" {
		t.Errorf("%s: arguments:\n%s", command, diff)
	}
}

func properties(names ...string) map[string]any {
	out := map[string]any{}
	for _, n := range names {
		out[n] = map[string]any{"type": "string"}
	}
	return out
}

func TestChatClientPlaysToTheEnd(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		api := openai.NewChatCompletionService(option.WithBaseURL(serve(t, fix).URL+"/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0))
		params := openai.ChatCompletionNewParams{
			Model: "anything",
			Messages: []openai.ChatCompletionMessageParamUnion{
				openai.DeveloperMessage("You are an agent."), openai.UserMessage("Fix it: the sum is wrong"),
			},
			Tools: []openai.ChatCompletionToolUnionParam{
				openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "read", Parameters: openai.FunctionParameters{"type": "object"}}),
				openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "bash", Parameters: openai.FunctionParameters{
					"type": "object", "properties": properties("command", "description", "workdir"), "required": []string{"command"},
				}}),
			},
		}
		var s seen
		for turn := range 4 {
			done := chat(t, api, params, stream)
			choice := done.Choices[0]
			s.Says = append(s.Says, choice.Message.Content)
			if turn == 0 {
				u := done.Usage
				s.Input, s.Cached, s.Out = u.PromptTokens, u.PromptTokensDetails.CachedTokens, u.CompletionTokens
			}
			if want := map[bool]string{true: "stop", false: "tool_calls"}[turn == 3]; choice.FinishReason != want || string(done.Model) != "anything" {
				t.Errorf("turn %d: %s of %s", turn, choice.FinishReason, done.Model)
			}
			params.Messages = append(params.Messages, choice.Message.ToParam())
			for _, c := range choice.Message.ToolCalls {
				s.took(t, c.Function.Arguments, "command", map[string]any{})
				params.Messages = append(params.Messages, openai.ToolMessage("ok", c.ID))
			}
			params.Messages = append(params.Messages, openai.UserMessage("<reminder>be good</reminder>"))
		}
		if diff := cmp.Diff(wantSeen(), s); diff != "" {
			t.Errorf("stream %t:\n%s", stream, diff)
		}
	}
}

// chat makes one call, streamed or not.
func chat(t *testing.T, api openai.ChatCompletionService, params openai.ChatCompletionNewParams, stream bool) *openai.ChatCompletion {
	t.Helper()
	if !stream {
		done, err := api.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	s := api.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		if !acc.AddChunk(s.Current()) {
			t.Fatalf("chunk does not fit: %s", s.Current().RawJSON())
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return &acc.ChatCompletion
}

func TestResponsesClientPlaysToTheEnd(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		api := responses.NewResponseService(option.WithBaseURL(serve(t, fix).URL+"/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0))
		tools := []responses.ToolUnionParam{
			responses.ToolParamOfWebSearch(responses.WebSearchToolTypeWebSearch),
			responses.ToolParamOfFunction("exec_command", map[string]any{
				"type":       "object",
				"properties": map[string]any{"cmd": map[string]any{"type": "string"}, "yield_time_ms": map[string]any{"type": "number"}, "login": map[string]any{"type": "boolean"}},
				"required":   []string{"cmd", "login"},
			}, false),
		}
		input := responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("<environment>here</environment>", responses.EasyInputMessageRoleUser),
			responses.ResponseInputItemParamOfMessage("Fix it: the sum is wrong", responses.EasyInputMessageRoleUser),
		}
		var s seen
		for turn := range 4 {
			done := respond(t, api, responses.ResponseNewParams{
				Model: "anything", Instructions: openai.String("You are an agent."), Tools: tools,
				Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input},
			}, stream)
			s.Says = append(s.Says, done.OutputText())
			if turn == 0 {
				s.Input, s.Cached, s.Out = done.Usage.InputTokens, done.Usage.InputTokensDetails.CachedTokens, done.Usage.OutputTokens
			}
			if done.Status != "completed" || done.Model != "anything" {
				t.Errorf("turn %d: %s of %s", turn, done.Status, done.Model)
			}
			var outputs responses.ResponseInputParam
			for _, o := range done.Output {
				switch o.Type {
				case "message":
					m := o.AsMessage().ToParam()
					input = append(input, responses.ResponseInputItemUnionParam{OfOutputMessage: &m})
				case "function_call":
					c := o.AsFunctionCall()
					s.took(t, c.Arguments, "cmd", map[string]any{"yield_time_ms": 30000.0, "login": false})
					input = append(input, responses.ResponseInputItemParamOfFunctionCall(c.Arguments, c.CallID, c.Name))
					output := responses.ResponseInputItemParamOfFunctionCallOutput("ok")
					output.OfFunctionCallOutput.CallID.Value = c.CallID
					outputs = append(outputs, output)
				}
			}
			input = append(input, outputs...)
			input = append(input, responses.ResponseInputItemParamOfMessage("<reminder>be good</reminder>", responses.EasyInputMessageRoleDeveloper))
		}
		if diff := cmp.Diff(wantSeen(), s); diff != "" {
			t.Errorf("stream %t:\n%s", stream, diff)
		}
	}
}

// respond makes one call. Of a stream the items are put together from their own
// events, and must be those of the response at the end.
func respond(t *testing.T, api responses.ResponseService, params responses.ResponseNewParams, stream bool) *responses.Response {
	t.Helper()
	if !stream {
		done, err := api.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	s := api.NewStreaming(t.Context(), params)
	var last *responses.Response
	var text, arguments string
	var items []string
	next := int64(0)
	for s.Next() {
		e := s.Current()
		if e.SequenceNumber != next {
			t.Errorf("event %d has number %d", next, e.SequenceNumber)
		}
		next++
		switch e.Type {
		case "response.output_item.added":
			text, arguments = "", ""
		case "response.output_text.delta":
			text += e.Delta
		case "response.function_call_arguments.delta":
			arguments += e.Delta
		case "response.output_text.done":
			if e.Text != text {
				t.Errorf("text is %q, its parts %q", e.Text, text)
			}
		case "response.function_call_arguments.done":
			if e.Arguments != arguments {
				t.Errorf("arguments are %q, their parts %q", e.Arguments, arguments)
			}
		case "response.output_item.done":
			items = append(items, e.Item.RawJSON())
		case "response.completed", "response.incomplete":
			done := e.Response
			last = &done
		}
	}
	if err := s.Err(); err != nil || last == nil {
		t.Fatal(err, last)
	}
	var whole []string
	for _, o := range last.Output {
		whole = append(whole, o.RawJSON())
	}
	if diff := cmp.Diff(whole, items); diff != "" {
		t.Errorf("items of the events and of the response:\n%s", diff)
	}
	return last
}

func TestMessagesClientPlaysToTheEnd(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		api := anthropic.NewMessageService(aoption.WithBaseURL(serve(t, fix).URL), aoption.WithAPIKey("k"), aoption.WithMaxRetries(0))
		params := anthropic.MessageNewParams{
			Model: "anything", MaxTokens: 1000, System: []anthropic.TextBlockParam{{Text: "You are an agent."}},
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(
				anthropic.NewTextBlock("<reminder>today is a day</reminder>"), anthropic.NewTextBlock("Fix it: the sum is wrong"),
			)},
			Tools: []anthropic.ToolUnionParam{
				{OfTool: &anthropic.ToolParam{Name: "Read", InputSchema: anthropic.ToolInputSchemaParam{}}},
				{OfTool: &anthropic.ToolParam{Name: "Bash", InputSchema: anthropic.ToolInputSchemaParam{
					Properties: properties("command", "description"), Required: []string{"command", "description"},
				}}},
			},
		}
		var s seen
		for turn := range 4 {
			done := message(t, api, params, stream)
			if turn == 0 {
				s.Input, s.Cached, s.Out = done.Usage.InputTokens+done.Usage.CacheReadInputTokens, done.Usage.CacheReadInputTokens, done.Usage.OutputTokens
			}
			if want := map[bool]anthropic.StopReason{true: "end_turn", false: "tool_use"}[turn == 3]; done.StopReason != want || done.Model != "anything" {
				t.Errorf("turn %d: %s of %s", turn, done.StopReason, done.Model)
			}
			say := ""
			var results []anthropic.ContentBlockParamUnion
			for _, b := range done.Content {
				switch b.Type {
				case "text":
					say += b.Text
				case "tool_use":
					why := []string{"First a look.", "I write it, ünd more.", "Run a command"}[turn]
					s.took(t, string(b.Input), "command", map[string]any{"description": why})
					results = append(results, anthropic.NewToolResultBlock(b.ID, "ok", false))
				}
			}
			s.Says = append(s.Says, say)
			results = append(results, anthropic.NewTextBlock("<reminder>be good</reminder>"))
			params.Messages = append(params.Messages, done.ToParam(), anthropic.NewUserMessage(results...))
		}
		if diff := cmp.Diff(wantSeen(), s); diff != "" {
			t.Errorf("stream %t:\n%s", stream, diff)
		}
		n, err := api.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "x", Messages: params.Messages[:1]})
		if err != nil || n.InputTokens != 15 { // 59 characters
			t.Error(n, err)
		}
	}
}

// message makes one call, streamed or not.
func message(t *testing.T, api anthropic.MessageService, params anthropic.MessageNewParams, stream bool) *anthropic.Message {
	t.Helper()
	if !stream {
		done, err := api.New(t.Context(), params, aoption.WithQuery("beta", "true"))
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	s := api.NewStreaming(t.Context(), params, aoption.WithQuery("beta", "true"))
	var acc anthropic.Message
	for s.Next() {
		if err := acc.Accumulate(s.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return &acc
}
