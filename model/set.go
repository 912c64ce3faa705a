package model

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
)

// UsualEnv is the variable in which a provider's key is usually kept.
func UsualEnv(provider string) string {
	if provider == Anthropic {
		return "ANTHROPIC_API_KEY"
	}
	return "OPENAI_API_KEY"
}

const defaultTimeout = 10 * time.Minute

// ErrUnknown says that no model of that name is configured.
var ErrUnknown = errors.New("unknown model")

// Set is the configured models. Safe for concurrent use.
type Set struct {
	cfg     Config
	getenv  func(string) string
	http    *http.Client
	entries []Entry
	scripts map[string]*scripted.Script // by model name
	// answered is when each model answered last, by name.
	answered sync.Map
	told     func(name string, failed *Error)
}

// Option changes a Set while it is made.
type Option func(*Set)

// WithTransport sends all requests through another transport than
// [http.DefaultTransport], for one with its own proxy or certificates.
func WithTransport(t http.RoundTripper) Option {
	return func(s *Set) { s.http = newHTTP(t) }
}

// WithObserver has told called at the end of each try of a call; failed is nil if the model answered. Tries that the caller
// gave up are left out, and so are scripts. The func must not block.
func WithObserver(told func(name string, failed *Error)) Option {
	return func(s *Set) { s.told = told }
}

// NewSet checks the config and loads the scripts. getenv reads the environment
// (os.Getenv); keys are looked up when a model is opened, not here.
func NewSet(cfg Config, getenv func(string) string, opts ...Option) (*Set, error) {
	var problems []error
	cfg.Validate(func(key, problem string) { problems = append(problems, fmt.Errorf("%s: %s", key, problem)) })
	if len(problems) > 0 {
		return nil, fmt.Errorf("check models: %w", errors.Join(problems...))
	}
	s := &Set{
		cfg: cfg, getenv: getenv, http: newHTTP(http.DefaultTransport), entries: slices.Clone(cfg.Models), scripts: map[string]*scripted.Script{},
	}
	for _, opt := range opts {
		opt(s)
	}
	for i, e := range s.entries {
		s.entries[i].Timeout = cmp.Or(e.Timeout, defaultTimeout)
		if e.Provider != Scripted {
			continue
		}
		data, err := os.ReadFile(e.Script)
		if err != nil {
			return nil, fmt.Errorf("load script of model %s: %w", e.Name, err)
		}
		if s.scripts[e.Name], err = scripted.Load(data); err != nil {
			return nil, fmt.Errorf("load script %s of model %s: %w", e.Script, e.Name, err)
		}
	}
	return s, nil
}

// Names are the configured models, in order.
func (s *Set) Names() []string {
	out := make([]string, 0, len(s.entries))
	for _, e := range s.entries {
		out = append(out, e.Name)
	}
	return out
}

// Ready says whether a model can be used now: it is known and its key is there.
// The error names the setting and the fix.
func (s *Set) Ready(name string) error {
	e, err := s.entry(name)
	if err != nil {
		return err
	}
	if e.Provider == Roulette {
		return s.each(e, s.Ready)
	}
	_, err = s.key(e)
	return err
}

// Temperature is what a model does with a temperature; solve.TemperatureAccepted for an unknown name.
func (s *Set) Temperature(name string) solve.TemperatureRule {
	e, err := s.entry(name)
	switch {
	case err != nil, e.Provider == Scripted && e.Temperature == "":
		return solve.TemperatureAccepted
	case e.Temperature != "":
		return solve.TemperatureRule(e.Temperature)
	case e.Provider == Roulette:
		accepts := func(name string) bool { return s.Temperature(name) == solve.TemperatureAccepted }
		if slices.ContainsFunc(e.Members, accepts) {
			return solve.TemperatureAccepted
		}
		return solve.TemperatureRefused
	}
	return temperatureRule(e.model())
}

// Metered says whether the calls of a model have a price. Where they have none,
// its money is not metered: no money limit and no budget can stop it.
func (s *Set) Metered(name string) bool {
	e, err := s.entry(name)
	if err != nil {
		return false
	}
	switch e.Provider {
	case Scripted:
		return s.scripts[name].PriceOf(name, e.Price).Known()
	case Roulette:
		return !slices.ContainsFunc(e.Members, func(name string) bool { return !s.Metered(name) })
	}
	return e.Price.Known()
}

// UsualCost is what a call of usual length costs, to compare models by; 0 where the price is not
// known. That of a roulette is its dearest member's.
func (s *Set) UsualCost(name string) solve.Money {
	e, err := s.entry(name)
	if err != nil {
		return 0
	}
	price := e.Price
	switch e.Provider {
	case Scripted:
		price = s.scripts[name].PriceOf(name, e.Price)
	case Roulette:
		var most solve.Money
		for _, member := range e.Members {
			most = max(most, s.UsualCost(member))
		}
		return most
	}
	return price.Usage(agent.Tokens{Input: 10_000, Output: 1000}).Cost
}

// Vendor tells models of one maker from those of another: by provider and address.
func (s *Set) Vendor(name string) string {
	e, err := s.entry(name)
	if err != nil {
		return ""
	}
	return e.Provider + " " + e.BaseURL
}

// Open returns the model for one experiment. A temperature is sent only if the
// experiment has one and the model accepts it.
func (s *Set) Open(name string, x solve.Experiment) (agent.Model, error) {
	c, err := s.client(name, x)
	if err != nil {
		return nil, err
	}
	x.Temperature = c.temperature
	switch c.entry.Provider {
	case Roulette:
		return s.newRoulette(c.entry, x)
	case Scripted:
		return s.scripts[name].Model(name, x, c.entry.Price), nil
	case Anthropic:
		return newAnthropic(c, s.http), nil
	}
	return newOpenAI(c, s.http), nil
}

// client is what all calls of a model for one experiment share.
func (s *Set) client(name string, x solve.Experiment) (client, error) {
	e, err := s.entry(name)
	if err != nil {
		return client{}, err
	}
	c := client{entry: e, temperature: x.Temperature, mode: agent.ModeTools, cfg: s.cfg, told: s.told}
	if s.Temperature(name) != solve.TemperatureAccepted {
		c.temperature = nil
	}
	c.key, err = s.key(e)
	return c, err
}

func (s *Set) entry(name string) (Entry, error) {
	for _, e := range s.entries {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("%w %q: configured are %s", ErrUnknown, name, strings.Join(s.Names(), ", "))
}

// key is the key of a model, "" for a server that needs none.
func (s *Set) key(e Entry) (string, error) {
	if e.Provider == Scripted || e.Provider == Roulette {
		return "", nil
	}
	if e.APIKeyFile != "" {
		data, err := os.ReadFile(e.APIKeyFile)
		if err != nil {
			return "", fmt.Errorf("model %s: read api_key_file: %w", e.Name, err)
		}
		if key := strings.TrimSpace(string(data)); key != "" {
			return key, nil
		}
		return "", fmt.Errorf("model %s: api_key_file %s is empty; write the key into it", e.Name, e.APIKeyFile)
	}
	if e.APIKeyEnv == "" && e.BaseURL != "" {
		return "", nil // the usual key belongs to the provider, not to this server
	}
	env := cmp.Or(e.APIKeyEnv, UsualEnv(e.Provider))
	key := strings.TrimSpace(s.getenv(env))
	if key == "" {
		return "", fmt.Errorf("model %s: %s is not set; export it, or set api_key_env or api_key_file of the model", e.Name, env)
	}
	return key, nil
}

// keySource is where the key of a model comes from, for error texts.
func (e Entry) keySource() string {
	switch {
	case e.APIKeyFile != "":
		return "api_key_file " + e.APIKeyFile
	case e.APIKeyEnv != "":
		return e.APIKeyEnv
	case e.BaseURL != "":
		return "api_key_env (none is set for this base_url)"
	}
	return UsualEnv(e.Provider)
}

func (e Entry) model() string { return cmp.Or(e.Model, e.Name) }
