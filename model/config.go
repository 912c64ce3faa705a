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
	"github.com/yudai-dev/yudai/internal/setting"
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
	// How often one call is tried before its run ends.
	Attempts int `yaml:"attempts"`
	// The first wait between two tries; it doubles each time. A Retry-After of the provider takes precedence.
	RetryWait time.Duration `yaml:"retry_wait"`
	// The longest wait between two tries.
	RetryMax time.Duration `yaml:"retry_max"`
	// The models in the order of preference, which is the last tie-break between equal candidates. The built-in prices are list
	// prices of November 2026; they change.
	Models []Entry `yaml:"models"`
}

// Entry is one model.
type Entry struct {
	// What people write in models=...; it must be unique. Required.
	Name string `yaml:"name"`
	// openai (or any server that offers chat completions), anthropic, scripted or roulette. Required.
	Provider string `yaml:"provider"`
	// The provider's own name for the model; "" is the same as name.
	Model string `yaml:"model"`
	// Another server than the provider's own, such as http://127.0.0.1:11434/v1. For openai it includes /v1. "" is OPENAI_BASE_URL
	// or ANTHROPIC_BASE_URL if that variable is set.
	BaseURL string `yaml:"base_url"`
	// The environment variable that holds the key; "" is OPENAI_API_KEY or ANTHROPIC_API_KEY, or no key if base_url is set.
	APIKeyEnv string `yaml:"api_key_env"`
	// A file that holds the key; it takes precedence over the variable.
	APIKeyFile string `yaml:"api_key_file"`
	// What the model does with a temperature: accepted, ignored or refused; "" uses the built-in table.
	Temperature string `yaml:"temperature"`
	// US dollars per million tokens. If all are 0, the price is unknown and no money limit applies.
	Price agent.Price `yaml:"price"`
	// The longest reply in tokens; 0 is the server's limit, for anthropic 16384.
	MaxTokens int `yaml:"max_tokens"`
	// none, low, medium or high, for openai only; "" sends none.
	ReasoningEffort string `yaml:"reasoning_effort"`
	// The limit of one try; 0 is 10m.
	Timeout time.Duration `yaml:"timeout"`
	// The file that a scripted model plays.
	Script string `yaml:"script"`
	// The models of a roulette, which asks one of them at each step, at random. Only the agent mini can use a roulette.
	Members []string `yaml:"members"`
	// The APIs by which agents may call it: chat, responses, messages; [] is chat and responses for openai, chat with base_url,
	// and messages for anthropic.
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

// Environment has models without a base_url use OPENAI_BASE_URL or ANTHROPIC_BASE_URL, the
// variables of the providers' own clients, where they are set. The keys stay those of the provider.
// It tells which key of the section comes from which variable.
func (c *Config) Environment(getenv func(string) string, tell func(key, variable string)) {
	c.Models = slices.Clone(c.Models)
	for i := range c.Models {
		e := &c.Models[i]
		name := map[string]string{OpenAI: "OPENAI", Anthropic: "ANTHROPIC"}[e.Provider]
		url := getenv(name + "_BASE_URL")
		if name == "" || url == "" || e.BaseURL != "" {
			continue
		}
		e.BaseURL = url
		tell(fmt.Sprintf("models.%d.base_url", i), name+"_BASE_URL")
		if key := name + "_API_KEY"; e.APIKeyEnv == "" && getenv(key) != "" {
			e.APIKeyEnv = key
		}
	}
}

// First names the first n models, fewer if there are fewer.
func (c Config) First(n int) (names []string) {
	for _, e := range c.Models[:min(n, len(c.Models))] {
		names = append(names, e.Name)
	}
	return names
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	report.Unless(c.Attempts >= 1 && c.Attempts <= 1000, "attempts", "must be 1 to 1000")
	report.Unless(c.RetryWait > 0, "retry_wait", "must be more than 0")
	report.Unless(c.RetryMax >= c.RetryWait, "retry_max", "must not be less than retry_wait")
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

func (e Entry) validate(report setting.Report) {
	if e.Name == "" {
		report("name", "is missing")
	} else if bad := solve.BadName(e.Name); bad != "" {
		report("name", bad)
	}
	e.validateProvider(report)
	rules := []solve.TemperatureRule{"", solve.TemperatureAccepted, solve.TemperatureIgnored, solve.TemperatureRefused}
	known := slices.Contains(rules, solve.TemperatureRule(e.Temperature))
	report.Unless(known, "temperature", fmt.Sprintf("%q is none of accepted, ignored, refused", e.Temperature))
	switch {
	case e.ReasoningEffort != "" && e.Provider != OpenAI:
		report("reasoning_effort", "is only for provider openai")
	case strings.Trim(e.ReasoningEffort, "abcdefghijklmnopqrstuvwxyz") != "" || len(e.ReasoningEffort) > 20:
		report("reasoning_effort", "must be a word, such as none, low, medium or high")
	}
	report.Unless(e.MaxTokens >= 0 && e.MaxTokens <= 100_000_000, "max_tokens", "must be 0 (the default) to 100000000")
	report.Unless(e.Timeout == 0 || e.Timeout >= time.Millisecond, "timeout", "must be at least 1ms (0 is the default)")
	e.Price.Validate("price", report)
	e.validateAPIs(report)
}

// validateAPIs checks the names, and that the provider can offer them.
func (e Entry) validateAPIs(report setting.Report) {
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
func (e Entry) validateProvider(report setting.Report) {
	switch {
	case !slices.Contains([]string{OpenAI, Anthropic, Scripted, Roulette}, e.Provider):
		report("provider", fmt.Sprintf("%q is none of openai, anthropic, scripted, roulette", e.Provider))
	case e.Provider == Scripted && e.Script == "":
		report("script", "is missing: the file that a scripted model plays")
	case e.Provider != Scripted && e.Script != "":
		report("script", "is only for provider scripted")
	}
	if e.BaseURL != "" {
		problem := urlProblem(e.BaseURL)
		report.Unless(problem == "", "base_url", problem)
	}
	report.Unless(e.APIKeyEnv == "" || solve.VariableName(e.APIKeyEnv), "api_key_env",
		"must be the name of an environment variable, not the key itself")
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
