package model

import (
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// Terms are what requests to a model may say, and what they have to.
type Terms struct {
	// Model is the provider's name of it.
	Model string
	// Temperature is the experiment's; nil sends none.
	Temperature *float64
	// Refused are the keys of a request that the model does not take.
	Refused []string
	// MaxTokens is the longest reply; 0 is what the request says.
	MaxTokens int
	// Completion says that the length of a reply is called max_completion_tokens, and
	// that the older max_tokens is refused. Newer says that it is called so where the
	// request names none.
	Completion, Newer bool
	// Effort is the reasoning effort to send, and EffortWithTools where the request has
	// tools; "" leaves what the request says.
	Effort, EffortWithTools string
	// Encrypted says that the model reasons, and that clients need what it thought
	// encrypted where the provider stores nothing.
	Encrypted bool
	// Thinks is false where thinking and the temperature exclude each other.
	Thinks bool
}

// terms fits requests of one API to the model, for a temperature and what the model does with one.
func (e Entry) terms(api string, temperature *float64, accepts solve.TemperatureRule) Terms {
	t := Terms{Model: e.model(), Temperature: temperature, MaxTokens: e.MaxTokens, Effort: e.ReasoningEffort, Newer: e.own(), Thinks: true}
	if e.Provider == Scripted {
		return t
	}
	reasons := e.Provider == OpenAI && temperatureRule(e.model()) == solve.TemperatureRefused
	if accepts == solve.TemperatureRefused {
		t.Refused = sampling()
	}
	switch {
	case e.Provider == Anthropic && temperature != nil:
		t.Refused = append(t.Refused, "top_p") // newer models take one of the two
		t.Thinks = *temperature == 1
	case reasons:
		t.Completion, t.Encrypted = e.own(), e.own()
		t.Refused = append(t.Refused, "stop")
	case e.own() && e.Provider == OpenAI && strings.HasPrefix(normal(e.model()), "gpt-"):
		t.Refused = append(t.Refused, "reasoning", "reasoning_effort", "verbosity") // it does not reason
	}
	if api == agent.APIChat && e.own() && e.ReasoningEffort == "" && toolsNeedNoReasoning(e.model()) {
		t.EffortWithTools = "none"
	}
	return t
}

// sampling are the keys beside temperature that steer how tokens are drawn; a model that
// refuses one refuses them all.
func sampling() []string {
	return []string{
		"top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "logprobs", "top_logprobs",
	}
}
