package gateway

import (
	"slices"

	"github.com/yudai-dev/yudai/agent"
)

// What becomes of a request's members beside those that the experiment decides;
// docs/gateway.md has the table with the reasons.

// stripped are taken out whatever they say: a price, a memory or a network that nobody
// planned, and none of them changes what the reply means.
func stripped(api string) []string {
	keys := []string{
		"service_tier", "speed", "inference_geo", "fallback_credit_token", // another price
		"models", "route", "provider", // another model, or another server
		"plugins", "web_search_options", "search_parameters", "enable_search", // a network
	}
	if api == agent.APIChat {
		keys = append(keys, "store", "metadata") // stored completions; metadata is refused without
	}
	return keys
}

// refused are those without which the request would mean something else; where they
// stand for nothing they are harmless.
func refused(api string) map[string]string {
	switch api {
	case agent.APIChat:
		return map[string]string{}
	case agent.APIResponses:
		return map[string]string{
			"background":           "an answer in the background cannot be metered",
			"previous_response_id": "nothing is stored between calls; send the whole conversation",
			"conversation":         "nothing is stored between calls; send the whole conversation",
			"prompt":               "stored prompts are not of this run; send the text itself",
		}
	}
	return map[string]string{
		"container":   "containers of the provider are not of this run",
		"mcp_servers": "servers of tools would be a network",
		"fallbacks":   "the model is the experiment's",
	}
}

// controlled lists every member that the gateway looks at: one that differs from it only
// in case is refused, because servers differ in which of them they take.
func controlled(api string, more []string) []string {
	keys := slices.Concat(stripped(api), more, []string{
		"model", "temperature", "stream", "tools", "tool_choice", "n", "max_tokens", "messages",
	})
	for k := range refused(api) {
		keys = append(keys, k)
	}
	switch api {
	case agent.APIChat:
		return append(keys, "max_completion_tokens", "stream_options", "reasoning_effort")
	case agent.APIResponses:
		return append(keys, "max_output_tokens", "reasoning", "include", "input", "store")
	}
	return append(keys, "thinking", "context_management", "system")
}
