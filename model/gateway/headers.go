package gateway

import (
	"net/http"
	"slices"
	"strings"
)

// passed are the headers of a request that reach the provider. A token, cookies and all
// else stay here.
func passed(in http.Header) http.Header {
	out := http.Header{"Content-Type": {"application/json"}} // as it was read, whatever the client calls it
	for _, key := range []string{"Anthropic-Version", "Accept", "User-Agent"} {
		if v := in.Get(key); v != "" {
			out.Set(key, v)
		}
	}
	if betas := betas(in.Values("Anthropic-Beta")); betas != "" {
		out.Set("Anthropic-Beta", betas)
	}
	return out
}

// closedBetas are the beginnings of betas that stand for something that runs or is
// stored at the provider, for another model, or for another price.
func closedBetas() []string {
	return []string{
		"advisor-", "agent-memory-", "ce-", "code-execution-", "context-1m-", "dreaming-", "fallback-credit-", "fast-mode-", "files-api-",
		"managed-agents-", "mcp-", "message-batches-", "server-side-fallback-", "skills-", "web-fetch-", "web-search-",
	}
}

// betas are those of a request that stay.
func betas(values []string) string {
	var out []string
	for _, v := range values {
		for one := range strings.SplitSeq(v, ",") {
			one = strings.TrimSpace(one)
			closed := func(prefix string) bool { return strings.HasPrefix(strings.ToLower(one), prefix) }
			if one != "" && !slices.ContainsFunc(closedBetas(), closed) {
				out = append(out, one)
			}
		}
	}
	return strings.Join(out, ",")
}

// answered copies the headers of an answer that a client may see: none names the
// organisation or sets a cookie.
func answered(out, in http.Header) {
	for _, key := range []string{"Content-Type", "Request-Id", "X-Request-Id", "Retry-After"} {
		if v := in.Get(key); v != "" {
			out.Set(key, v)
		}
	}
}
