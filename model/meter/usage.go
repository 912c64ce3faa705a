package meter

import (
	"encoding/json"
	"math"

	"github.com/yudai-dev/yudai/agent"
)

// count is a number of tokens as a server writes it. What cannot be one is unbelievable.
type count int64

const (
	// mostTokens bounds what is believed of one call.
	mostTokens = 1e9
	// unbelievable stands for what is no number, negative, or beyond mostTokens.
	unbelievable count = -1
)

// UnmarshalJSON implements [json.Unmarshaler]; it never fails.
func (c *count) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) != nil || f < 0 || f > mostTokens {
		*c = unbelievable
	} else {
		*c = count(math.Round(f))
	}
	return nil
}

// details are the parts of the input that OpenAI's APIs tell beside its sum.
type details struct {
	Cached count `json:"cached_tokens"`
	Write  count `json:"cache_write_tokens"`
}

// usage is what the three APIs say about tokens, in their own names.
type usage struct {
	// chat
	Prompt     count   `json:"prompt_tokens"`
	Completion count   `json:"completion_tokens"`
	Details    details `json:"prompt_tokens_details"`
	// responses and messages
	Input        count   `json:"input_tokens"`
	Output       count   `json:"output_tokens"`
	InputDetails details `json:"input_tokens_details"`
	// chat and responses
	Total count `json:"total_tokens"`
	// messages: the three classes of input are disjoint
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
	Creation   struct {
		Hour count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Iterations []usage `json:"iterations"`
}

// told are numbers of tokens in classes; hour is the part of what was written to the cache
// that stays there for an hour. Input and output are believed, or not, each by itself.
type told struct {
	agent.Tokens
	hour                 int64
	goodInput, goodReply bool
}

// input is all that was sent.
func (t told) input() int64 { return t.Input + t.CacheRead + t.CacheWrite }

// told reads the usage in the way of an API.
func (u usage) told(api string) told {
	switch api {
	case agent.APIChat:
		return sum(u.Prompt, u.Completion, u.Total, u.Details)
	case agent.APIResponses:
		return sum(u.Input, u.Output, u.Total, u.InputDetails)
	}
	t := u.parts()
	var all told // a call that compacted its context first tells the parts
	all.goodInput, all.goodReply = true, true
	for _, i := range u.Iterations {
		p := i.parts()
		all.Input, all.CacheRead, all.CacheWrite = all.Input+p.Input, all.CacheRead+p.CacheRead, all.CacheWrite+p.CacheWrite
		all.Output += p.Output
		all.goodInput, all.goodReply = all.goodInput && p.goodInput, all.goodReply && p.goodReply
	}
	if all.input()+all.Output > t.input()+t.Output {
		all.hour, t = t.hour, all
	}
	return t
}

// parts reads the classes of messages.
func (u usage) parts() told {
	return told{
		Tokens:    agent.Tokens{Input: int64(u.Input), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite), Output: int64(u.Output)},
		hour:      int64(max(min(u.Creation.Hour, u.CacheWrite), 0)),
		goodInput: u.Input >= 0 && u.CacheRead >= 0 && u.CacheWrite >= 0, goodReply: u.Output >= 0,
	}
}

// sum reads a sum of the input, of which parts are told. Where the total is more than what was
// sent and written, the model thought the rest. A total that is less contradicts.
func sum(in, out, total count, d details) told {
	if in >= 0 && out >= 0 {
		out = max(out, total-in)
	}
	agrees := total == 0 || total >= in+out
	return told{
		Tokens: agent.Tokens{
			Input: int64(in - d.Cached - d.Write), CacheRead: int64(d.Cached), CacheWrite: int64(d.Write), Output: int64(out),
		},
		goodInput: agrees && in >= 0 && d.Cached >= 0 && d.Write >= 0 && d.Cached+d.Write <= in,
		goodReply: agrees && out >= 0,
	}
}

// readUsage is nil for what holds no numbers.
func readUsage(raw json.RawMessage) *usage {
	var u usage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	return &u
}
