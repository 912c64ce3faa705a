package gateway

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// count is a number of tokens, whatever a server writes: what is none is 0.
type count int64

// mostTokens bounds what is believed of one call.
const mostTokens = 1e9

// UnmarshalJSON implements [json.Unmarshaler]; it never fails.
func (c *count) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) == nil && f >= 0 {
		*c = count(math.Round(min(f, mostTokens)))
	}
	return nil
}

// usage is what the three APIs say about tokens, in their own names.
type usage struct {
	// chat
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Details    struct {
		Cached count `json:"cached_tokens"`
		Write  count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	// responses and messages
	Input        count `json:"input_tokens"`
	Output       count `json:"output_tokens"`
	InputDetails struct {
		Cached count `json:"cached_tokens"`
		Write  count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	// messages: the three classes of input are disjoint
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
	Creation   struct {
		Hour count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Iterations []usage `json:"iterations"`
}

// tokens are the usage in classes. hour is the part of what was written to the cache that
// stays there for an hour.
func (u usage) tokens(api string) (t agent.Tokens, hour int64) {
	split := func(all, read, write, out count) agent.Tokens {
		rest := max(all-read-write, 0)
		return agent.Tokens{Input: int64(rest), CacheRead: int64(min(read, all)), CacheWrite: int64(write), Output: int64(out)}
	}
	switch api {
	case agent.APIChat:
		return split(u.Prompt, u.Details.Cached, u.Details.Write, u.Completion), 0
	case agent.APIResponses:
		return split(u.Input, u.InputDetails.Cached, u.InputDetails.Write, u.Output), 0
	}
	t = agent.Tokens{Input: int64(u.Input), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite), Output: int64(u.Output)}
	hour = int64(min(u.Creation.Hour, u.CacheWrite))
	var sum agent.Tokens // a call that compacted its context first tells the parts
	for _, i := range u.Iterations {
		sum.Input += int64(i.Input)
		sum.CacheRead += int64(i.CacheRead)
		sum.CacheWrite += int64(i.CacheWrite)
		sum.Output += int64(i.Output)
	}
	if sum.Input+sum.CacheRead+sum.CacheWrite+sum.Output > t.Input+t.CacheRead+t.CacheWrite+t.Output {
		t = sum
	}
	return t, hour
}

// meter reads what a call used, out of an answer or event by event out of a stream.
type meter struct {
	api          string
	price        agent.Price
	requestBytes int64 // bytes of the request

	reported   *usage // the provider's own numbers, the last ones
	first      *usage // those at the beginning of a message
	replyBytes int64  // bytes of the reply
	begun      bool   // the model did something
	ended      bool   // the stream said that it ends
	usageOnly  bool   // the event at hand holds the usage of a chat and nothing else
	reason     bool   // the reply said why it ended
	failure    string // the error that the stream told
	events     int64
}

// hourFactor is what writing to a cache that keeps for an hour costs beyond the usual one.
const hourFactor = 0.6

// cost is what the call cost as far as it is known. Without the provider's numbers it is
// estimated: four bytes are a token. Nothing but zeros is no number.
func (m *meter) cost() (u solve.Usage, estimated bool) {
	if m.reported != nil && m.complete() {
		if t, hour := m.reported.tokens(m.api); t != (agent.Tokens{}) {
			u = m.price.Usage(t)
			t.CacheWrite += int64(math.Round(hourFactor * float64(hour)))
			u.Cost = m.price.Usage(t).Cost
			return u, false
		}
	}
	if m.failure != "" && !m.begun {
		return solve.Usage{}, false
	}
	t := agent.Tokens{Input: quarter(m.requestBytes)}
	for _, u := range []*usage{m.first, m.reported} {
		if u == nil {
			continue
		}
		if told, _ := u.tokens(m.api); told != (agent.Tokens{}) {
			t = told
		}
	}
	t.Output = max(t.Output, quarter(m.replyBytes))
	return m.price.Usage(t), true
}

func quarter(n int64) int64 { return (n + 3) / 4 }

// maxCost is what a call may cost at most: each byte of the request a token of the dearest
// kind, and the longest reply.
func maxCost(p agent.Price, api string, bytes int, reply int64) solve.Money {
	const unlimited = 128_000 // the longest reply of any model known to us, where nothing limits it
	n := int64(bytes)
	if reply == 0 {
		reply = unlimited
	}
	write := n
	if anthropicStyle(api) {
		write += int64(math.Round(hourFactor * float64(n)))
	}
	in := max(p.Usage(agent.Tokens{Input: n}).Cost, p.Usage(agent.Tokens{CacheRead: n}).Cost, p.Usage(agent.Tokens{CacheWrite: write}).Cost)
	return in + p.Usage(agent.Tokens{Output: reply}).Cost
}

// whole reads an answer that is no stream. It reports false for one that is none of the API's.
func (m *meter) whole(data []byte) bool {
	var a struct {
		Usage   json.RawMessage `json:"usage"`
		Choices json.RawMessage `json:"choices"`
		Output  json.RawMessage `json:"output"`
		Content json.RawMessage `json:"content"`
		Status  string          `json:"status"`
		Error   json.RawMessage `json:"error"`
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || !decode(data, &a) {
		return false
	}
	reply := a.Choices
	switch m.api {
	case agent.APIResponses:
		reply = a.Output
	case agent.APIMessages:
		reply = a.Content
	}
	if reply = bytes.TrimSpace(reply); len(reply) == 0 || reply[0] != '[' {
		return false
	}
	m.begun, m.ended, m.replyBytes = true, true, int64(len(reply))
	m.reported = readUsage(a.Usage)
	if m.api == agent.APIResponses && a.Status == "failed" {
		m.failure = message(a.Error)
	}
	return true
}

// readUsage is nil for what holds no numbers.
func readUsage(raw json.RawMessage) *usage {
	var u usage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	return &u
}

// message is the text of an error in a stream.
func message(raw json.RawMessage) string {
	var e struct {
		Message string `json:"message"`
	}
	var plain string
	switch {
	case json.Unmarshal(raw, &e) == nil && e.Message != "":
		return e.Message
	case json.Unmarshal(raw, &plain) == nil && plain != "":
		return plain
	}
	return "no reason given"
}
