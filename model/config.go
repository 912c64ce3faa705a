// Package model holds the model clients: OpenAI chat completions and every
// server that speaks them, Anthropic messages, and the scripted model that
// plays a file. It knows what each model accepts and what it costs, retries
// passing faults, and turns lasting ones into errors that people can read.
// Keys stay in this package: they are in no error, log line or transcript.
package model

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// The providers.
const (
	OpenAI    = "openai"    // chat completions, of OpenAI or of any server at base_url
	Anthropic = "anthropic" // messages
	Scripted  = "scripted"  // plays a file
	Roulette  = "roulette"  // another of its members at every step, for the native agent
)

// Config is the list of models and how hard a call is tried.
type Config struct {
	// Attempts is how often one call is tried before its run ends.
	Attempts int `yaml:"attempts"`
	// RetryWait is the first wait between attempts; it doubles up to RetryMax. A
	// provider's Retry-After goes first.
	RetryWait time.Duration `yaml:"retry_wait"`
	RetryMax  time.Duration `yaml:"retry_max"`
	// Models in the order of preference, the last tie-break of the reducer.
	Models []Entry `yaml:"models"`
}

// Entry is one model.
type Entry struct {
	// Name is what people write in models=...; it is unique.
	Name     string `yaml:"name"`
	Provider string `yaml:"provider"` // openai, anthropic, scripted or roulette
	// Model is the provider's own name; empty is Name.
	Model string `yaml:"model"`
	// BaseURL is another server than the provider's own; for openai it includes /v1.
	// A server with base_url gets no key unless one is named.
	BaseURL string `yaml:"base_url"`
	// APIKeyEnv names the environment variable with the key; empty is the
	// provider's usual one, or none with base_url.
	APIKeyEnv string `yaml:"api_key_env"`
	// APIKeyFile is a file that holds the key; it goes before the variable.
	APIKeyFile string `yaml:"api_key_file"`
	// Temperature says what the model does with one: accepted, ignored or
	// refused; empty is the built-in table.
	Temperature string      `yaml:"temperature"`
	Price       agent.Price `yaml:"price"`
	// MaxTokens is the longest reply; 0 is the server's limit, for anthropic 16384.
	MaxTokens int `yaml:"max_tokens"`
	// ReasoningEffort is sent to openai models if set (none, low, medium, high).
	ReasoningEffort string `yaml:"reasoning_effort"`
	// Timeout ends one attempt; 0 is 10 minutes.
	Timeout time.Duration `yaml:"timeout"`
	// Script is the file of a scripted model.
	Script string `yaml:"script"`
	// Members are the models of a roulette, by name.
	Members []string `yaml:"members"`
	// APIs are those by which agents reach it through the gateway: chat, responses,
	// messages. Empty is what the provider is known to offer, see [Set.APIs].
	APIs []string `yaml:"apis"`
}

// DefaultConfig has three models of each provider. Prices are the providers'
// list prices of November 2026 in US dollars per million tokens; they change.
func DefaultConfig() Config {
	return Config{
		Attempts: 8, RetryWait: 2 * time.Second, RetryMax: time.Minute,
		Models: []Entry{
			{Name: "gpt-5-mini", Provider: OpenAI, Price: agent.Price{Input: 0.25, CachedInput: 0.025, Output: 2}},
			{Name: "gpt-5", Provider: OpenAI, Price: agent.Price{Input: 1.25, CachedInput: 0.125, Output: 10}},
			{Name: "gpt-4.1", Provider: OpenAI, Price: agent.Price{Input: 2, CachedInput: 0.5, Output: 8}},
			{Name: "claude-haiku-4-5", Provider: Anthropic, Price: agent.Price{Input: 1, CachedInput: 0.1, CacheWrite: 1.25, Output: 5}},
			{Name: "claude-sonnet-5-5", Provider: Anthropic, Price: agent.Price{Input: 2, CachedInput: 0.1, CacheWrite: 2.5, Output: 10}},
			{Name: "claude-opus-5-5", Provider: Anthropic, Price: agent.Price{Input: 4, CachedInput: 0.2, CacheWrite: 5, Output: 20}},
		},
	}
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report func(key, problem string)) {
	if c.Attempts < 1 || c.Attempts > 1000 {
		report("attempts", "must be 1 to 1000")
	}
	if c.RetryWait <= 0 {
		report("retry_wait", "must be more than 0")
	}
	if c.RetryMax < c.RetryWait {
		report("retry_max", "must not be less than retry_wait")
	}
	seen := map[string]bool{}
	for i, e := range c.Models {
		at := func(key, problem string) { report(fmt.Sprintf("models[%d].%s", i, key), problem) }
		e.validate(at)
		c.validateMembers(e, at)
		if e.Name != "" && seen[e.Name] {
			at("name", fmt.Sprintf("%q is there twice", e.Name))
		}
		seen[e.Name] = true
	}
}

func (e Entry) validate(report func(key, problem string)) {
	if e.Name == "" {
		report("name", "is missing")
	} else if bad := solve.BadName(e.Name); bad != "" {
		report("name", bad)
	}
	e.validateProvider(report)
	if c := Capability(e.Temperature); c != "" && c != Accepted && c != Ignored && c != Refused {
		report("temperature", fmt.Sprintf("%q is none of accepted, ignored, refused", e.Temperature))
	}
	switch {
	case e.ReasoningEffort != "" && e.Provider != OpenAI:
		report("reasoning_effort", "is only for provider openai")
	case strings.Trim(e.ReasoningEffort, "abcdefghijklmnopqrstuvwxyz") != "" || len(e.ReasoningEffort) > 20:
		report("reasoning_effort", "must be a word, such as none, low, medium or high")
	}
	if e.MaxTokens < 0 || e.MaxTokens > 100_000_000 {
		report("max_tokens", "must be 0 (the default) to 100000000")
	}
	if e.Timeout != 0 && e.Timeout < time.Millisecond {
		report("timeout", "must be at least 1ms (0 is the default)")
	}
	e.Price.Validate("price", report)
	e.validateAPIs(report)
}

// validateAPIs checks the names, and that the provider can offer them.
func (e Entry) validateAPIs(report func(key, problem string)) {
	for i, api := range e.APIs {
		switch {
		case !slices.Contains(allAPIs(), api):
			report("apis", fmt.Sprintf("%q is none of %s", api, strings.Join(allAPIs(), ", ")))
		case slices.Contains(e.APIs[:i], api):
			report("apis", fmt.Sprintf("%q is there twice", api))
		case e.Provider == Roulette:
			report("apis", "is not for provider roulette: it is for the agent mini only")
		case e.Provider == Anthropic && api != agent.APIMessages:
			report("apis", fmt.Sprintf("%q is not offered by provider anthropic; it offers messages", api))
		}
	}
}

// validateProvider checks where the model is and how it is reached.
func (e Entry) validateProvider(report func(key, problem string)) {
	switch {
	case !slices.Contains([]string{OpenAI, Anthropic, Scripted, Roulette}, e.Provider):
		report("provider", fmt.Sprintf("%q is none of openai, anthropic, scripted, roulette", e.Provider))
	case e.Provider == Scripted && e.Script == "":
		report("script", "is missing: the file that a scripted model plays")
	case e.Provider != Scripted && e.Script != "":
		report("script", "is only for provider scripted")
	}
	if e.BaseURL != "" {
		if problem := urlProblem(e.BaseURL); problem != "" {
			report("base_url", problem)
		}
	}
	if e.APIKeyEnv != "" && !solve.VariableName(e.APIKeyEnv) {
		report("api_key_env", "must be the name of an environment variable, not the key itself")
	}
}

func urlProblem(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil: // the parser's own text repeats the URL, which may hold a key
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "must begin with http:// or https:// and a host"
	case u.User != nil:
		return "must not hold a password; name the key with api_key_env or api_key_file"
	case u.RawQuery != "" || u.Fragment != "":
		return "must not have a query or a fragment"
	}
	return ""
}
