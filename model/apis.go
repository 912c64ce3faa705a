package model

import (
	"slices"

	"github.com/yudai-dev/yudai/agent"
)

// allAPIs lists the APIs by which a model can be reached.
func allAPIs() []string { return []string{agent.APIChat, agent.APIResponses, agent.APIMessages} }

// APIs are those by which agents reach a model through the gateway, the provider's
// usual one first; nil for an unknown name.
func (s *Set) APIs(name string) []string {
	e, err := s.entry(name)
	if err != nil {
		return nil
	}
	return e.apis()
}

func (e Entry) apis() []string {
	switch {
	case len(e.APIs) > 0:
		return slices.Clone(e.APIs)
	case e.Provider == Roulette: // the native agent's
		return nil
	case e.Provider == Scripted:
		return allAPIs()
	case e.Provider == Anthropic:
		return []string{agent.APIMessages}
	case e.own():
		return []string{agent.APIChat, agent.APIResponses}
	}
	return []string{agent.APIChat}
}

// own says that the model is at its provider's own server, which a base_url may name, too.
func (e Entry) own() bool {
	return slices.Contains([]string{openAIURL, anthropicURL + "/v1"}, e.root())
}
