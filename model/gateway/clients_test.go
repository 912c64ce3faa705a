package gateway_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
)

func openAI(w *world) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(w.session.URL+"/v1"), openaioption.WithAPIKey(w.session.Token), openaioption.WithMaxRetries(3))
}

func claude(w *world) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(w.session.URL), anthropicoption.WithAPIKey(w.session.Token), anthropicoption.WithMaxRetries(3))
}

// official calls the gateway with the provider's own client and returns what the model said.
func official(w *world, api string, stream bool) (string, error) {
	ctx := w.t.Context()
	switch api {
	case agent.APIChat:
		c := openAI(w)
		params := openai.ChatCompletionNewParams{Model: w.session.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hi")}}
		if !stream {
			done, err := c.Chat.Completions.New(ctx, params)
			if err != nil {
				return "", err
			}
			return done.Choices[0].Message.Content, nil
		}
		s, text := c.Chat.Completions.NewStreaming(ctx, params), ""
		for s.Next() {
			text += s.Current().Choices[0].Delta.Content // the usage, which nobody asked for, has none
		}
		return text, s.Err()
	case agent.APIResponses:
		c := openAI(w)
		params := responses.ResponseNewParams{Model: w.session.Model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hi")}}
		if !stream {
			done, err := c.Responses.New(ctx, params)
			if err != nil {
				return "", err
			}
			return done.OutputText(), nil
		}
		s, text := c.Responses.NewStreaming(ctx, params), ""
		for s.Next() {
			if s.Current().Type == "response.output_text.delta" {
				text += s.Current().Delta
			}
		}
		return text, s.Err()
	}
	c := claude(w)
	params := anthropic.MessageNewParams{Model: anthropic.Model(w.session.Model), MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hi"))}}
	if !stream {
		done, err := c.Messages.New(ctx, params)
		if err != nil {
			return "", err
		}
		return done.Content[0].Text, nil
	}
	s, text := c.Messages.NewStreaming(ctx, params), ""
	for s.Next() {
		text += s.Current().Delta.Text
	}
	return text, s.Err()
}

func TestOfficialClients(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		sent := events(api)
		if api == agent.APIChat {
			sent = []string{chatDelta, chatStop, chatUsage, chatDone}
		}
		w := newWorld(t, provider, nil, plain(whole(api)), stream(sent...), failed(400, errorBody(api, "invalid_request_error", "no such thing")), stream(sent[0]), failed(529, "{}"))
		if got, err := official(w, api, false); err != nil || !strings.HasPrefix(got, "Hi") {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := official(w, api, true); err != nil || got != "Hello wo" {
			t.Errorf("%q, %v", got, err)
		}
		if diff := w.session.Usage(); diff.Calls != 2 || diff.Cost != 2*paid().Cost {
			t.Errorf("%+v", diff)
		}
		_, err := official(w, api, true)
		if status(err) != 400 || !strings.Contains(told(err), "no such thing") {
			t.Errorf("a refused request: %v", err)
		}
		if _, err = official(w, api, true); err == nil || !strings.Contains(err.Error(), "broke off") {
			t.Errorf("a broken stream: %v", err)
		}
		n := w.up.calls()
		if _, err = official(w, api, false); status(err) != 529 || w.up.calls() != n+3 {
			t.Errorf("the client tries again what the gateway tried: %v, %d calls", err, w.up.calls()-n)
		}
		w.books.refuse = agent.ErrBudget
		if _, err = official(w, api, true); status(err) != 401 || !strings.Contains(told(err), "money") {
			t.Errorf("no money: %v", err)
		}
	})
}

// status is that of an official client's error.
func status(err error) int {
	var o *openai.Error
	var a *anthropic.Error
	switch {
	case errors.As(err, &o):
		return o.StatusCode
	case errors.As(err, &a):
		return a.StatusCode
	}
	return 0
}

// told is what it says.
func told(err error) string {
	if o, ok := errors.AsType[*openai.Error](err); ok {
		return o.Message
	}
	return err.Error()
}

// Scripted models are called in this process, by all three APIs, with the same books.
func TestScriptedModels(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script.yml")
	text := "price: {input: 100, output: 1000}\nplays: [{match: {temperature: 0.5}, steps: [{say: Look., run: ls -la, usage: {input: 100, output: 10}}]}]"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	params := `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`
	for api, body := range map[string]string{
		agent.APIChat:      `{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"bash","parameters":` + params + `}}]`,
		agent.APIResponses: `{"model":"m","input":"Hi","tools":[{"type":"function","name":"bash","parameters":` + params + `}]`,
		agent.APIMessages:  `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"bash","input_schema":` + params + `}]`,
	} {
		for _, stream := range []string{`}`, `,"stream":true}`} {
			w := newWorld(t, model.Scripted, func(s *setting) {
				s.entry = model.Entry{Name: "m", Provider: model.Scripted, Script: script}
				s.x.Temperature = ptr(0.5)
			})
			if got := w.ask(path(api), body+stream); got.status != 200 || !strings.Contains(got.body, `"bash"`) {
				t.Errorf("%s: %+v", api, got)
			}
			if call := w.books.wait(t, 1); call.Usage.Input != 100 || call.Usage.Output != 10 || call.Usage.Cost != 20_000 || call.Estimated {
				t.Errorf("%s: %+v", api, call)
			}
			if len(w.session.APIs) != 3 || w.session.Model != "m" {
				t.Errorf("%+v", w.session)
			}
		}
	}
}
